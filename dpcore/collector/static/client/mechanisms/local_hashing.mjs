/** Local hashing: a hash function drawn anew, and the category's bin under it by randomized response. */

import { SchemeError } from "../errors.mjs";
import { one } from "../random.mjs";
import { categoriesOf, natural, needed, ratioOf, totalOf } from "./checks.mjs";
import { otherThan } from "./randomized_response.mjs";

export function localHashing(client) {
  const [categories, prime, bins, heavy, light] = needed(client, ["categories", "prime", "bins", "weight_in", "weight_out"]);
  const k = categoriesOf(categories);
  natural("prime", prime, k, 65535);
  natural("bins", bins, 2, prime);
  if (!isPrime(prime)) throw new SchemeError(`it needs a prime modulus, got ${prime}`);
  const total = totalOf([heavy, light], 1, bins - 1);
  return {
    inputs: k,
    kept: ratioOf([[heavy, light]]),
    ranges: () => [[1, prime - 1], [0, prime - 1], [0, bins - 1]],
    privatize(cell, level, source) {
      const slope = 1 + one(source, prime - 1);
      const shift = one(source, prime);
      const hashed = Math.floor((((slope * cell + shift) % prime) * bins) / prime);
      return [slope, shift, otherThan(hashed, one(source, total), heavy, light)];
    },
  };
}

function isPrime(number) {
  for (let divisor = 2; divisor * divisor <= number; divisor += 1) if (number % divisor === 0) return false;
  return true;
}
