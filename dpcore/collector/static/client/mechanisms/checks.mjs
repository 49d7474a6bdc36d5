/** What a scheme's integers for clients must be; each throws SchemeError. */

import { SchemeError } from "../errors.mjs";
import { WORD } from "../random.mjs";

export function natural(client, key, low, high = WORD) {
  const value = client.get(key);
  if (!Number.isInteger(value) || value < low || value > high) throw new SchemeError(`${key} is out of range`);
  return value;
}

export function weightPair(heavy, light) {
  const areWhole = Number.isInteger(heavy) && Number.isInteger(light);
  if (!areWhole || light < 1 || heavy <= light) throw new SchemeError("weights must be whole, the first the larger");
  return [heavy, light];
}

export function fits(total) {
  if (total > WORD) throw new SchemeError("weights do not fit 32 bits");
  return total;
}
