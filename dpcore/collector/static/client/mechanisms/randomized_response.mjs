/** Randomized response: the category, or any of the others with a lighter weight. */

import { one } from "../random.mjs";
import { categoriesOf, needed, ratioOf, totalOf } from "./checks.mjs";

export function randomizedResponse(client) {
  const [categories, heavy, light] = needed(client, ["categories", "weight_in", "weight_out"]);
  const k = categoriesOf(categories);
  const total = totalOf([heavy, light], 1, k - 1);
  return {
    inputs: k,
    kept: ratioOf([[heavy, light]]),
    ranges: () => [[0, k - 1]],
    privatize: (cell, level, source) => [otherThan(cell, one(source, total), heavy, light)],
  };
}

/** The truth for draws below `heavy`, else one of the others, in order, `light` draws to each. */
export function otherThan(truth, drawn, heavy, light) {
  if (drawn < heavy) return truth;
  const other = Math.floor((drawn - heavy) / light);
  return other >= truth ? other + 1 : other;
}
