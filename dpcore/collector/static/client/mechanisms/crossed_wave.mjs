/** Crossed wave: of two numbers a cell near their place in the plane, near their product or near one of them, or anywhere. */

import { SchemeError } from "../errors.mjs";
import { largest } from "../promise.mjs";
import { one } from "../random.mjs";
import { needed, totalOf } from "./checks.mjs";
import { drawFrom, levelLaw } from "./levels.mjs";
import { MOST_WEIGHTS, checkWindow, largestRatioOf } from "./waves.mjs";

const SIDES = [8, 16, 32]; // cells of either number that there may be

/** One level: a torus of outputs, of which a window of `high` x `wide` has the heavier weight; startOf: from an input cell. */
function windowed(inputs, [rows, columns], [high, wide], startOf, [heavy, light]) {
  const [inside, outputs] = [high * wide, rows * columns];
  if (inside >= outputs) throw new SchemeError(`a window must leave out a cell, got ${inside} of ${outputs}`);
  const total = totalOf([heavy, light], inside, outputs - inside);
  if (inputs * outputs > MOST_WEIGHTS) throw new SchemeError(`a level has at most ${MOST_WEIGHTS} weights, got ${inputs} cells and ${outputs} outputs`);
  const beside = columns - wide;
  /** The output so many steps from where a window starts: its own cells, then those right of it, then those below. */
  function reached([top, left], steps) {
    const right = steps - inside;
    const below = right - high * beside;
    const row = right < 0 ? Math.floor(steps / wide) : below < 0 ? Math.floor(right / beside) : high + Math.floor(below / columns);
    const column = right < 0 ? steps % wide : below < 0 ? wide + (right % beside) : below % columns;
    return ((top + row) % rows) * columns + ((left + column) % columns);
  }
  function weightsOf(cell) {
    const weights = new Float64Array(outputs);
    for (let steps = 0; steps < outputs; steps += 1) weights[reached(startOf(cell), steps)] += steps < inside ? heavy : light;
    return weights;
  }
  return {
    outputs,
    ratio: largestRatioOf(inputs, outputs, weightsOf),
    draw(cell, source) {
      const drawn = one(source, total);
      const steps = drawn < inside * heavy ? Math.floor(drawn / heavy) : inside + Math.floor((drawn - inside * heavy) / light);
      return reached(startOf(cell), steps);
    },
  };
}

export function crossedWave(client) {
  const lists = ["weights_in", "weights_out", "level_law", "widths"];
  const [cells, heavy, light, law, widths] = needed(client, ["cells", ...lists], lists);
  widths.forEach(checkWindow);
  if (heavy.length !== light.length) throw new SchemeError("client does not hold what the mechanism needs (weights_out)");
  if (!SIDES.includes(cells)) throw new SchemeError(`cells must be one of ${SIDES.join(", ")}, got ${cells}`);
  if (widths.length !== 4 || heavy.length !== 4) throw new SchemeError("widths and weights must be of four levels: the plane, the product, x and y");
  levelLaw(law, 4);
  const inputs = cells * cells;
  const side = cells + widths[0] - 1;
  const place = (cell) => [Math.floor(cell / cells), cell % cells];
  const product = (cell) => place(cell).reduce((u, z) => u * (2 * z + 1 - cells), 1);
  /** A level of one row, whose phases are those of an input cell, 0 to most. */
  const row = (level, most, phase) =>
    windowed(inputs, [1, most + widths[level]], [1, widths[level]], (cell) => [0, phase(cell)], [heavy[level], light[level]]);
  const levels = [
    windowed(inputs, [side, side], [widths[0], widths[0]], place, [heavy[0], light[0]]),
    row(1, (cells - 1) ** 2, (cell) => (product(cell) + (cells - 1) ** 2) / 2),
    row(2, cells - 1, (cell) => place(cell)[0]),
    row(3, cells - 1, (cell) => place(cell)[1]),
  ];
  return {
    inputs,
    levels: levels.length,
    kept: { ratio: largest(levels.map((level) => level.ratio)) },
    drawLevel: (source) => drawFrom(law, source),
    ranges: (level) => [[0, levels[level].outputs - 1]],
    privatize: (cell, level, source) => [levels[level].draw(cell, source)],
  };
}
