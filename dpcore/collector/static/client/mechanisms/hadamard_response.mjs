/** Hadamard response: a column of the Hadamard matrix and the sign that the category has in it, or its opposite. */

import { one } from "../random.mjs";
import { fits, natural, weightPair } from "./checks.mjs";

export function hadamardResponse(client) {
  const k = natural(client, "categories", 2);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(heavy + light);
  const columns = 2 ** (32 - Math.clz32(k - 1));
  return {
    inputs: k,
    loss: Math.log(heavy / light),
    ranges: () => [[0, 2 * columns - 1]],
    privatize(cell, level, source) {
      const column = one(source, columns);
      const out = Number(one(source, total) >= heavy);
      return [2 * column + (parity(cell & column) ^ out)];
    },
  };
}

function parity(value) {
  let bits = value;
  for (const shift of [16, 8, 4, 2, 1]) bits ^= bits >>> shift;
  return bits & 1;
}
