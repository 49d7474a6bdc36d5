/** Square waves over the cells of a number: one alone, or dyadic ones of several levels. */

import { SchemeError } from "../errors.mjs";
import { one } from "../random.mjs";
import { fits, natural, weightPair } from "./checks.mjs";
import { drawFrom, levelLaw } from "./levels.mjs";

/** One level of a square wave: a window of cells around the phase of the input cell, each with the heavier weight. */
function wave(cells, shift, window, isCircular, [heavy, light]) {
  if (window % 2 !== 1) throw new SchemeError("a window has an odd number of cells");
  const half = (window - 1) / 2;
  const outputs = isCircular ? cells : cells + 2 * half;
  const total = fits(window * heavy + (outputs - window) * light);
  return {
    outputs,
    loss: Math.log(heavy / light),
    draw(cell, source) {
      const phase = (cell >> shift) % cells;
      const start = isCircular ? (phase - half + cells) % cells : phase;
      const drawn = one(source, total);
      const inside = window * heavy;
      const step = drawn < inside ? Math.floor(drawn / heavy) : window + Math.floor((drawn - inside) / light);
      return (start + step) % outputs;
    },
  };
}

function waves(inputs, levels, law) {
  return {
    inputs,
    levels: levels.length,
    loss: Math.max(...levels.map((level) => level.loss)),
    drawLevel: (source) => (levels.length === 1 ? 0 : drawFrom(law, source)),
    ranges: (level) => [[0, levels[level].outputs - 1]],
    privatize: (cell, level, source) => [levels[level].draw(cell, source)],
  };
}

export function dyadicWave(client) {
  const cells = natural(client, "cells", 2, 1024);
  const widths = client.get("widths");
  const finest = widths.length - 1;
  const pairs = widths.map((_, level) => weightPair(client.get("weights_in")[level], client.get("weights_out")[level]));
  const levels = widths.map((window, level) => wave(cells, finest - level, window, level > 0, pairs[level]));
  return waves(cells * 2 ** finest, levels, levelLaw(client.get("level_law"), levels.length));
}

export function squareWave(client) {
  const cells = natural(client, "cells", 2, 1024);
  const pair = weightPair(client.get("weight_in"), client.get("weight_out"));
  return waves(cells, [wave(cells, 0, natural(client, "width", 1), false, pair)], null);
}
