/** Local hashing: a hash function drawn anew, and the category's bin under it by randomized response. */

import { one } from "../random.mjs";
import { fits, natural, weightPair } from "./checks.mjs";
import { otherThan } from "./randomized_response.mjs";

export function localHashing(client) {
  const k = natural(client, "categories", 2);
  const prime = natural(client, "prime", k, 65535);
  const bins = natural(client, "bins", 2, prime);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(heavy + (bins - 1) * light);
  return {
    inputs: k,
    loss: Math.log(heavy / light),
    ranges: () => [[1, prime - 1], [0, prime - 1], [0, bins - 1]],
    privatize(cell, level, source) {
      const slope = 1 + one(source, prime - 1);
      const shift = one(source, prime);
      const hashed = Math.floor((((slope * cell + shift) % prime) * bins) / prime);
      return [slope, shift, otherThan(hashed, one(source, total), heavy, light)];
    },
  };
}
