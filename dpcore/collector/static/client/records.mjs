/** From the values of a record to input cells. */

import { InvalidRecord } from "./errors.mjs";

const NUMERAL = /^[ \t\n\v\f\r]*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?[ \t\n\v\f\r]*$/; // of a number in a text, as in Python

/** The input cell of an attribute's value in a record; throws InvalidRecord. */
export function cellOf(attribute, record) {
  const key = [attribute.column, attribute.name].find((name) => Object.hasOwn(record, name));
  if (key === undefined) throw new InvalidRecord(attribute.name, "is missing from the record");
  return attribute.type === "numeric" ? cellOfNumber(attribute, record[key]) : cellOfCategory(attribute, record[key]);
}

function cellOfNumber(attribute, value) {
  const x = typeof value === "bigint" || (typeof value === "string" && NUMERAL.test(value)) ? Number(value) : value;
  if (typeof x !== "number" || Number.isNaN(x)) throw new InvalidRecord(attribute.name, "expected a number");
  if (attribute.outside === "refuse" && (x < attribute.lower || x > attribute.upper)) {
    throw new InvalidRecord(attribute.name, `expected a number from ${attribute.lower} to ${attribute.upper}`);
  }
  const share = (Math.min(Math.max(x, attribute.lower), attribute.upper) - attribute.lower) / attribute.width;
  return Math.min(Math.trunc(share * attribute.mechanism.inputs), attribute.mechanism.inputs - 1);
}

function cellOfCategory(attribute, value) {
  const whole = Number.isSafeInteger(value) ? BigInt(value) : value; // beyond, no double says which number was meant
  const known = typeof whole === "bigint" ? attribute.numbers.get(whole) : attribute.texts.get(whole);
  if (known !== undefined) return known;
  if ((value !== null && typeof value === "object") || typeof value === "boolean") throw new InvalidRecord(attribute.name, "expected a text or a number");
  if (value === null || value === undefined || value === "" || Number.isNaN(value)) {
    if (attribute.missing === "category") return attribute.categories.indexOf("missing");
    throw new InvalidRecord(attribute.name, "expected an answer");
  }
  if (attribute.outside === "other") return attribute.categories.indexOf("other");
  throw new InvalidRecord(attribute.name, "expected one of the categories");
}
