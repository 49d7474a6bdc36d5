/** Hadamard response: a column of the Hadamard matrix and the sign that the category has in it, or its opposite. */

import { one } from "../random.mjs";
import { categoriesOf, needed, ratioOf, totalOf } from "./checks.mjs";

export function hadamardResponse(client) {
  const [categories, heavy, light] = needed(client, ["categories", "weight_in", "weight_out"]);
  const k = categoriesOf(categories);
  const total = totalOf([heavy, light], 1, 1);
  const columns = 2 ** (32 - Math.clz32(k - 1));
  return {
    inputs: k,
    kept: ratioOf([[heavy, light]]),
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
