/** Randomized response: the category, or any of the others with a lighter weight. */

import { one } from "../random.mjs";
import { fits, natural, weightPair } from "./checks.mjs";

export function randomizedResponse(client) {
  const k = natural(client, "categories", 2);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(heavy + (k - 1) * light);
  return {
    inputs: k,
    loss: Math.log(heavy / light),
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
