/** Square waves over the cells of a number: one alone, or dyadic ones of several levels. */

import { SchemeError } from "../errors.mjs";
import { largest } from "../promise.mjs";
import { WORD, one } from "../random.mjs";
import { natural, needed, totalOf } from "./checks.mjs";
import { drawFrom, levelLaw } from "./levels.mjs";

const MOST_LEVELS = 12;
const MOST_INPUTS = 4096;
export const MOST_WEIGHTS = 2 ** 24; // of a level, all of which are looked at

/** One level of a square wave: a window of cells around the phase of the input cell, each with the heavier weight. */
function wave(cells, shift, window, isCircular, [heavy, light]) {
  const half = (window - 1) / 2;
  const outputs = isCircular ? cells : cells + 2 * half;
  if (window >= outputs) throw new SchemeError(`a window must leave out a cell, got ${window} of ${outputs}`);
  const total = totalOf([heavy, light], window, outputs - window, WORD - 1);
  if (cells * outputs > MOST_WEIGHTS) {
    throw new SchemeError(`a level has at most ${MOST_WEIGHTS} weights, got ${cells} cells and ${outputs} outputs`);
  }
  const inside = window * heavy;
  const startOf = (phase) => (isCircular ? (phase - half + cells) % cells : phase);
  return {
    outputs,
    ratio: largestRatioOf(cells, outputs, (phase) => weightsOf(startOf(phase), window, outputs, total, [heavy, light])),
    draw(cell, source) {
      const start = startOf((cell >> shift) % cells);
      const drawn = one(source, total);
      const step = drawn < inside ? Math.floor(drawn / heavy) : window + Math.floor((drawn - inside) / light);
      return (start + step) % outputs;
    },
  };
}

/** How many draws lead to each output, counted step by step from where a window starts until none is left. */
function weightsOf(start, window, outputs, total, [heavy, light]) {
  const weights = new Float64Array(outputs); // whole numbers up to 2^32
  let left = total;
  for (let step = 0; left > 0; step += 1) {
    const weight = Math.min(left, step < window ? heavy : light);
    weights[(start + step) % outputs] += weight;
    left -= weight;
  }
  return weights;
}

/** The largest ratio of two phases' weights of one output; rows have one total. */
export function largestRatioOf(cells, outputs, rowOf) {
  const [most, least] = [new Float64Array(outputs), new Float64Array(outputs).fill(WORD)];
  for (let phase = 0; phase < cells; phase += 1) {
    rowOf(phase).forEach((weight, output) => {
      if (weight > most[output]) most[output] = weight;
      if (weight < least[output]) least[output] = weight;
    });
  }
  const pairs = new Map(Array.from(most, (weight, output) => [`${weight}/${least[output]}`, [weight, least[output]]]));
  return largest([...pairs.values()].map((pair) => pair.map(BigInt)));
}

function waves(inputs, levels, law) {
  return {
    inputs,
    levels: levels.length,
    kept: { ratio: largest(levels.map((level) => level.ratio)) },
    drawLevel: (source) => (levels.length === 1 ? 0 : drawFrom(law, source)),
    statistics: levels.reduce((sum, { outputs }) => sum + outputs, 0),
    ranges: (level) => [[0, levels[level].outputs - 1]],
    privatize: (cell, level, source) => [levels[level].draw(cell, source)],
  };
}

export function dyadicWave(client) {
  const lists = ["weights_in", "weights_out", "level_law", "widths"];
  const [cells, heavy, light, law, widths] = needed(client, ["cells", ...lists], lists);
  widths.forEach(checkWindow);
  if (heavy.length !== light.length) throw new SchemeError("client does not hold what the mechanism needs (weights_out)");
  checkCells(cells);
  const turns = harmonicsOf(client, cells, natural("levels", widths.length, 1, MOST_LEVELS));
  const finest = Math.max(1, ...turns);
  const inputs = cells * finest;
  if (inputs > MOST_INPUTS) throw new SchemeError(`cells 2^(levels-1) must be at most ${MOST_INPUTS}, got ${inputs}`);
  levelLaw(law, widths.length);
  if (heavy.length !== widths.length) throw new SchemeError(`weights must be one pair for each of the ${widths.length} levels`);
  const level = (window, number) => {
    const shift = Math.log2(finest / Math.max(1, turns[number]));
    return wave(cells, shift, window, turns[number] > 0, [heavy[number], light[number]]);
  };
  return waves(inputs, widths.map(level), law);
}

/** How often each level goes around the interval, 0 of a line: octaves, where a scheme does not say. */
function harmonicsOf(client, cells, levels) {
  const octaves = Array.from({ length: levels }, (_, level) => (level > 0 ? 2 ** level : 0));
  if (!client.has("harmonics")) return octaves;
  const [stated] = needed(client, ["harmonics"], ["harmonics"]);
  const isFine = (k) => Number.isInteger(k) && k >= 0 && k * cells <= MOST_INPUTS && (k & (k - 1)) === 0;
  if (stated.length !== levels || !stated.every(isFine)) {
    throw new SchemeError(
      `harmonics must be one for each of the ${levels} levels, 0 of a line or a power of two that, times cells, is at ` +
        `most ${MOST_INPUTS}, got ${stated}`,
    );
  }
  if (String(stated) === String(octaves)) throw new SchemeError(`harmonics ${stated} are the dyadic ones; leave them out`);
  return stated;
}

export function squareWave(client) {
  const [cells, window, heavy, light] = needed(client, ["cells", "width", "weight_in", "weight_out"]);
  checkWindow(window);
  checkCells(cells);
  return waves(cells, [wave(cells, 0, window, false, [heavy, light])], null);
}

export function checkWindow(window) {
  if (!Number.isInteger(window) || window < 1 || window % 2 !== 1) {
    throw new SchemeError(`widths must be odd numbers of cells, so that a window has a centre, got ${window}`);
  }
}

function checkCells(cells) {
  natural("cells", cells, 2, 1024);
  if (cells & (cells - 1)) throw new SchemeError(`cells must be a power of two, got ${cells}`);
}
