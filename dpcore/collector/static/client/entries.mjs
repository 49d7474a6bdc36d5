/** What a table of a scheme says, by key: of the types, ranges and choices that are declared in `keys.mjs`, and nothing else. */

import { SchemeError } from "./errors.mjs";

const NUMBER = /^-?\d{1,40}(?:\/\d{1,40})?$/; // as a canonical text writes fractions
const PRINTABLE = /^(?:[^\p{C}\p{Z}]| ){0,200}$/u;

/** The entries of a table (a Map), the default of what it leaves out; throws SchemeError where a key or its value is none of these. */
export function entriesOf(declared, table) {
  const unknown = [...table.keys()].find((key) => !Object.hasOwn(declared, key));
  if (unknown !== undefined) {
    throw new SchemeError(`has an unknown key ${JSON.stringify(unknown)}; accepted are ${Object.keys(declared).join(", ")}`);
  }
  return new Map(Object.entries(declared).map(([key, said]) => {
    if (table.has(key)) check(key, said, table.get(key));
    else if (said.needed) throw new SchemeError(`${key} is missing`);
    return [key, table.get(key) ?? said.default];
  }));
}

function check(key, said, value) {
  if (said.type.startsWith("list[")) {
    const inner = { ...said, type: said.type.slice("list[".length, -1) };
    if (!Array.isArray(value) || value.length < said.fewest) throw new SchemeError(`${key} must be a list of at least ${said.fewest}`);
    value.forEach((entry, i) => check(`${key}[${i}]`, inner, entry));
  } else if (said.choices) {
    oneOf(key, value, said.choices);
  } else if (said.type === "int" && !(Number.isInteger(value) && value >= said.least && value <= said.most)) {
    throw new SchemeError(`${key} must be a whole number between ${said.least} and ${said.most}, got ${value}`);
  } else if (said.type === "str" && typeof value !== "string") {
    throw new SchemeError(`${key} must be a text in quotes, got ${value}`);
  } else if (said.type === "Fraction" && (!NUMBER.test(String(value)) || /\/0+$/.test(String(value)))) {
    throw new SchemeError(`${key} must be a number, got ${value}`);
  }
}

export function oneOf(key, value, choices) {
  if (!choices.includes(value)) throw new SchemeError(`${key} must be one of ${choices.join(", ")}; got ${value}`);
  return value;
}

export function checkTitle(key, title) {
  if (typeof title !== "string" || !title.trim()) throw new SchemeError(`${key} must be a text in quotes that is not empty`);
  printable(key, title);
}

export const isPrintable = (text) => PRINTABLE.test(text);

export function printable(key, text) {
  if (!isPrintable(text)) throw new SchemeError(`${key} must be printable text of at most 200 characters`);
}
