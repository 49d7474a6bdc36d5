/** The law by which levels are drawn: whole weights that sum to 2^16. */

import { SchemeError } from "../errors.mjs";
import { one } from "../random.mjs";

const LEVEL_TOTAL = 1 << 16;

export function drawFrom(law, source) {
  const drawn = one(source, LEVEL_TOTAL);
  let level = 0;
  for (let end = law[0]; drawn >= end; end += law[level]) level += 1;
  return level;
}

export function levelLaw(law, levels) {
  const isWhole = law.length === levels && law.every((weight) => Number.isInteger(weight) && weight >= 1);
  if (!isWhole || law.reduce((a, b) => a + b) !== LEVEL_TOTAL) {
    throw new SchemeError(`level_law needs ${levels} positive integers that sum to ${LEVEL_TOTAL}, got ${law}`);
  }
  return law;
}
