/** Subset selection: some of the categories, among which the true one is more often than not. */

import { one } from "../random.mjs";
import { categoriesOf, natural, needed, ratioOf, totalOf } from "./checks.mjs";

export function subsetSelection(client) {
  const [categories, size, heavy, light] = needed(client, ["categories", "size", "weight_in", "weight_out"]);
  const k = categoriesOf(categories);
  natural("size", size, 1, k - 1);
  const total = totalOf([heavy, light], size, k - size);
  return {
    inputs: k,
    kept: ratioOf([[heavy, light]]),
    isAscending: true,
    ranges: () => Array.from({ length: size }, () => [0, k - 1]),
    privatize(cell, level, source) {
      const holds = one(source, total) < size * heavy;
      const members = new Set();
      const skip = (number) => (number >= cell ? number + 1 : number); // the others in order, skipping the truth
      for (let t = k - 1 - size; t < k - 1; t += 1) { // Floyd's method; who holds the truth skips the first
        const drawn = skip(one(source, t + 1));
        const chosen = members.has(drawn) ? skip(t) : drawn;
        if (!(holds && t === k - 1 - size)) members.add(chosen);
      }
      if (holds) members.add(cell);
      return [...members].sort((a, b) => a - b);
    },
  };
}
