/** Subset selection: some of the categories, among which the true one is more often than not. */

import { one } from "../random.mjs";
import { fits, natural, weightPair } from "./checks.mjs";

export function subsetSelection(client) {
  const k = natural(client, "categories", 2);
  const size = natural(client, "size", 1, k - 1);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(size * heavy + (k - size) * light);
  return {
    inputs: k,
    loss: Math.log(heavy / light),
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
