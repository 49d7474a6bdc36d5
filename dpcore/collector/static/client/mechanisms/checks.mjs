/** What a scheme's integers for clients must be; each throws SchemeError, in the order and the words of the Python client. */

import { SchemeError } from "../errors.mjs";
import { largest } from "../promise.mjs";
import { WORD } from "../random.mjs";

const MOST_CATEGORIES = 10000;

/** The entries of the table `client` under these keys: whole numbers, or lists of them under `lists`. */
export function needed(client, keys, lists = []) {
  for (const key of keys) {
    const value = client.get(key);
    const isWhole = lists.includes(key) ? Array.isArray(value) && value.every(isInteger) : isInteger(value);
    if (!isWhole) throw new SchemeError(`client does not hold what the mechanism needs (${key})`);
  }
  return keys.map((key) => client.get(key));
}

function isInteger(value) {
  return Number.isInteger(value) || typeof value === "bigint";
}

export function natural(key, value, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new SchemeError(`${key} must be a whole number between ${low} and ${high}, got ${value}`);
  }
  return value;
}

export function categoriesOf(value) {
  return natural("categories", value, 2, MOST_CATEGORIES);
}

/** Throws SchemeError where a mechanism's integers are not those of the attribute. */
export function checkClient(client, expected) {
  for (const [key, value] of Object.entries(expected)) {
    if (client.get(key) !== value) throw new SchemeError(`client.${key} must be ${value}, as the attribute has it, got ${client.get(key)}`);
  }
}

/** The total of `inside` outcomes of the heavier weight and `outside` of the lighter, below 2^32 or, with `most`, at most that. */
export function totalOf([heavy, light], inside, outside, most = WORD) {
  const areWhole = Number.isInteger(heavy) && Number.isInteger(light);
  const total = areWhole ? inside * heavy + outside * light : Infinity; // of more than doubles hold
  if (!areWhole || light < 1 || heavy <= light || total > most) {
    throw new SchemeError(`it needs 1 <= weight_out < weight_in and a total of at most ${most}, got weights ${heavy} and ${light}`);
  }
  return total;
}

/** What reports of two weights keep. */
export function ratioOf(pairs) {
  return { ratio: largest(pairs.map(([heavy, light]) => [BigInt(heavy), BigInt(light)])) };
}
