/** Wavelet coefficients from the scheme's tables, plus discrete Laplace noise. */

import { hex, sha256 } from "../bytes.mjs";
import { SchemeError } from "../errors.mjs";
import { WORD } from "../random.mjs";
import { natural } from "./checks.mjs";
import { TAIL, discreteLaplace } from "./laplace.mjs";
import { drawFrom, levelLaw } from "./levels.mjs";
import { largestDistance } from "./sensitivity.mjs";

export async function waveletLaplace(client, tables) {
  const cells = natural(client, "cells", 2);
  if (client.has("noise")) throw new SchemeError("this client draws Laplace noise only, and the scheme asks for another");
  const noise = client.get("noise_scales");
  const isSampled = client.get("allocation") === "sample";
  if (tables.length !== noise.length || tables.some((table) => table.rows !== cells)) {
    throw new SchemeError("the tables are not those of the scheme");
  }
  if (hex(await tablesDigest(tables)) !== client.get("table_sha256")) {
    throw new SchemeError("the tables are not those whose SHA-256 the scheme states");
  }
  if (noise.some((t) => !Number.isInteger(t) || t < 1 || t > WORD)) throw new SchemeError("a noise scale is out of range");
  const sensitivity = tables.map((table) => largestDistance([table], [1]));
  if (sensitivity.some((delta, block) => delta !== client.get("sensitivity")[block])) {
    throw new SchemeError("the sensitivity of the tables is not the stated one");
  }
  const law = isSampled ? levelLaw(client.get("level_law"), tables.length) : null;
  const joint = () => largestDistance(tables, noise.map((t) => 1 / t));
  const largest = tables.map((table) => table.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  const blocksOf = (level) => (isSampled ? [level] : [...tables.keys()]);
  return {
    inputs: cells,
    levels: isSampled ? tables.length : 1,
    loss: isSampled ? Math.max(...sensitivity.map((delta, block) => delta / noise[block])) : joint(),
    drawLevel: (source) => (isSampled ? drawFrom(law, source) : 0),
    ranges: (level) => blocksOf(level).flatMap((block) => {
      const limit = largest[block] + TAIL * noise[block];
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
