/** Set selection: some of the options and dummies, among which one of the true set, padded with dummies, is more often than not. */

import { SchemeError } from "../errors.mjs";
import { WORD, one } from "../random.mjs";
import { natural, needed } from "./checks.mjs";

export const MOST_CHOSEN = 20;
const [MOST_OPTIONS, MOST_SETS, MOST_DRAWN] = [62, 1 << 20, 1024n];

export function setSelection(client) {
  const [options, most, size, heavy, light] = needed(client, ["options", "at_most", "size", "weight_in", "weight_out"]);
  const inputs = checkOptions(options, most);
  natural("size", size, 1, options);
  const total = Number(heavy) + Number(light);
  const items = options + most;
  const lacking = choose(options, size); // subsets without an item of the padded set
  const ratio = [BigInt(heavy) * lacking, BigInt(light) * (choose(items, size) - lacking)];
  if (heavy < 1 || light < 1 || total > WORD || ratio[0] <= ratio[1]) {
    throw new SchemeError(`it needs weights whose total is at most 2^32 and that favour true options, got ${heavy} and ${light}`);
  }
  if (lacking * MOST_DRAWN < choose(items, size)) throw new SchemeError(`size = ${size} leaves too few subsets without an item of a set; lower size`);
  return {
    inputs,
    kept: { ratio },
    isAscending: true,
    statistics: (items * (items + 1)) / 2,
    ranges: () => Array.from({ length: size }, () => [0, items - 1]),
    privatize(cell, level, source) {
      const padded = membersOf(cell, options);
      for (let dummy = options; padded.length < most; dummy += 1) padded.push(dummy);
      const holds = one(source, total) < heavy;
      const first = new Map(); // whether a subset has an item of the padded set -> the first such one
      while (first.size < 2) { // both, so that their number says nothing
        const subset = new Set();
        for (let last = items - size; last < items; last += 1) { // Floyd's method
          const drawn = one(source, last + 1);
          subset.add(subset.has(drawn) ? last : drawn);
        }
        const has = padded.some((item) => subset.has(item));
        if (!first.has(has)) first.set(has, subset);
      }
      return [...first.get(holds)].sort((a, b) => a - b);
    },
  };
}

/** How many sets of at most `most` options there are; throws SchemeError where so many may not be offered or chosen. */
export function checkOptions(options, most) {
  natural("categories", options, 2, MOST_OPTIONS);
  natural("at_most", most, 1, Math.min(options, MOST_CHOSEN));
  const sets = firstOf(most + 1, options);
  if (sets > MOST_SETS) {
    throw new SchemeError(`at_most = ${most} of ${options} options are ${sets} possible answers, and ${MOST_SETS} are possible; lower at_most, or offer fewer options`);
  }
  return sets;
}

/** The number of a set, its input cell, by its size and then in colexicographic order; members: increasing. */
export function setNumber(members, options) {
  return members.reduce((sum, option, place) => sum + Number(choose(option, place + 1)), firstOf(members.length, options));
}

/** The members of the set of a number. */
function membersOf(number, options) {
  let size = 0;
  while (firstOf(size + 1, options) <= number) size += 1;
  let left = number - firstOf(size, options);
  const members = [];
  for (let option = options - 1; members.length < size; option -= 1) {
    const below = Number(choose(option, size - members.length));
    if (below > left) continue;
    left -= below;
    members.push(option);
  }
  return members;
}

/** The number of the first set of a size. */
function firstOf(size, options) {
  return Array.from({ length: size }, (_, fewer) => Number(choose(options, fewer))).reduce((a, b) => a + b, 0);
}

/** How many subsets of so many items have a size, a BigInt. */
function choose(items, size) {
  let product = 1n;
  for (let i = 0; i < size; i += 1) product = (product * BigInt(items - i)) / BigInt(i + 1);
  return product;
}
