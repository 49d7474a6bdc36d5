/** From the values of a record to input cells. */

import { InvalidRecord } from "./errors.mjs";

const NO_VALUE = ["", "na", "n/a", "nan", "null", "none"]; // how files write that there is no value, in lower case

/** The input cell of an attribute's value in a record, of a text its symbols; throws InvalidRecord. */
export const cellOf = (attribute, record) => attribute.kind.cellOf(attribute, record);

/** The input cell of both columns of a joint attribute. */
export function cellOfSides({ sides }, record) {
  const [one, other] = sides.map((side) => cellOf(side, record));
  return one * sides[1].mechanism.inputs + other;
}

/** The value of an attribute's column, which a record may also call by the attribute's name. */
export function valueIn(attribute, record) {
  const key = [attribute.column, attribute.name].find((name) => Object.hasOwn(record, name));
  if (key === undefined) throw new InvalidRecord(attribute.name, "is missing from the record");
  return record[key];
}

export function isAbsent(value) {
  return value === null || value === undefined || value === "" || Number.isNaN(value);
}

export const isNothing = (value) => isAbsent(value) || (typeof value === "string" && saysNothing(value));
export const saysNothing = (text) => NO_VALUE.includes(plain(text).toLowerCase());

/** A text in Unicode's composed form (NFC) without blanks around it. */
export const plain = (text) => text.normalize("NFC").trim();
