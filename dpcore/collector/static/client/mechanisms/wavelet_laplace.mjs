/** Wavelet coefficients from the scheme's tables, plus discrete Laplace noise. */

import { hex, sha256 } from "../bytes.mjs";
import { SchemeError } from "../errors.mjs";
import { epsilonOf } from "../numbers.mjs";
import { largest } from "../promise.mjs";
import { WORD } from "../random.mjs";
import { natural, needed } from "./checks.mjs";
import { TAIL, discreteLaplace } from "./laplace.mjs";
import { drawFrom, levelLaw } from "./levels.mjs";
import { largestDistance } from "./sensitivity.mjs";

const ALLOCATIONS = ["sample", "split", "paper"];

export async function waveletLaplace(client, tables) {
  const keys = ["cells", "noise_scales", "sensitivity", "degree", "coarsest_level", "finest_level"];
  const [cells, noise, stated, degree, coarsest, finest] = needed(client, keys, ["noise_scales", "sensitivity"]);
  if (tables.length === 0 || tables.some((table) => table.rows !== cells)) {
    throw new SchemeError(`the coefficient tables have other rows than the scheme's ${cells} cells`);
  }
  natural("degree", degree, 0, 3);
  const scales = client.get("boundary_scales");
  const areScales = Array.isArray(scales) && scales.every((level) => Array.isArray(level) && level.every(Number.isInteger));
  if (!areScales || scales.length !== finest - coarsest + 1 || tables.length !== scales.length + 1) {
    throw new SchemeError("client does not hold what the mechanism needs (a table and boundary scales for each level)");
  }
  const digest = hex(await tablesDigest(tables));
  if (digest !== client.get("table_sha256")) {
    throw new SchemeError(`the coefficient tables have table_sha256 = ${digest}, the scheme states ${client.get("table_sha256")}`);
  }
  const allocation = client.get("allocation");
  if (!ALLOCATIONS.includes(allocation)) throw new SchemeError(`allocation must be one of ${ALLOCATIONS}; got ${allocation}`);
  if ((allocation === "paper") !== client.has("a")) throw new SchemeError("a belongs to allocation = 'paper', and only to it");
  if (client.has("a") && !isExponent(client.get("a"))) throw new SchemeError("allocation = 'paper' needs an exponent 1 < a <= 16");
  if (client.has("noise") || client.has("delta")) {
    throw new SchemeError("this client draws Laplace noise only, and the scheme asks for another, or for a delta");
  }
  if (noise.length !== tables.length || noise.some((t) => t < 1 || t > WORD)) {
    throw new SchemeError(`noise_scales must be ${tables.length} integers in 1..2^32, got ${noise}`);
  }
  const isSampled = allocation === "sample";
  if (!isSampled && client.has("level_law")) throw new SchemeError("level_law belongs to allocation = 'sample'");
  const law = isSampled ? levelLaw(client.get("level_law") ?? [], tables.length) : null;
  const distances = tables.map((table) => largestDistance([table], [1]));
  const loss = isSampled ? largest(distances.map(([top], block) => [top, BigInt(noise[block])])) : largestDistance(tables, noise);
  const check = () => {
    const sensitivity = distances.map(([top]) => Number(top));
    if (String(sensitivity) !== String(stated)) {
      throw new SchemeError(`the coefficient tables have sensitivity = ${sensitivity}, the scheme states ${stated}`);
    }
  };
  const reach = tables.map((table) => table.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  const blocksOf = (level) => (isSampled ? [level] : [...tables.keys()]);
  return {
    inputs: cells,
    levels: isSampled ? tables.length : 1,
    kept: { loss },
    statistics: tables.reduce((sum, { columns }) => sum + 1 + columns, 0),
    isNoisy: true,
    check,
    drawLevel: (source) => (isSampled ? drawFrom(law, source) : 0),
    ranges: (level) => blocksOf(level).flatMap((block) => {
      const limit = reach[block] + TAIL * noise[block];
      return Array.from({ length: tables[block].columns }, () => [-limit, limit]);
    }),
    privatize(cell, level, source) { // all noise is drawn before the record is looked at
      const blocks = blocksOf(level);
      const drawn = blocks.flatMap((block) => discreteLaplace(noise[block], tables[block].columns, source));
      const rows = blocks.flatMap((block) => {
        const { columns, values } = tables[block];
        return Array.from(values.subarray(cell * columns, (cell + 1) * columns));
      });
      return drawn.map((noisy, i) => noisy + rows[i]);
    },
  };
}

function isExponent(text) {
  return /^\d{1,40}(?:\/\d{1,40})?$/.test(text) && epsilonOf(String(text)) > 1 && epsilonOf(String(text)) <= 16;
}

/** SHA-256 of shapes and entries as little-endian 64-bit integers, block after block. */
function tablesDigest(tables) {
  const words = tables.reduce((sum, { values }) => sum + 2 * (2 + values.length), 0);
  const view = new DataView(new ArrayBuffer(4 * words));
  let at = 0;
  const push = (value) => {
    view.setInt32(at, value, true);
    view.setInt32(at + 4, value < 0 ? -1 : 0, true);
    at += 8;
  };
  for (const { rows, columns, values } of tables) {
    push(rows);
    push(columns);
    values.forEach(push);
  }
  return sha256(new Uint8Array(view.buffer));
}
