/** What is asked, and which values there are: an attribute's domain, each of whose values must have an input cell. */

import { SchemeError } from "./errors.mjs";
import { rational, toDouble } from "./numbers.mjs";

const NUMBER = /^-?\d{1,40}(?:\.\d{1,40}|\/\d{1,40})?$/;
const LARGEST_BOUND = 1e30;
const FINEST_WIDTH = 2 ** -32; // of the bounds, relative to them
const MISSING = "missing"; // the category of who gives no answer
const OTHER = "other"; // and of answers that are not listed

/** The domain in an attribute's table; throws SchemeError. */
export function domainOf(table) {
  return table.get("type") === "numeric" ? boundsOf(table) : categoriesIn(table);
}

export function oneOf(key, value, choices) {
  if (!choices.includes(value)) throw new SchemeError(`${key} must be one of ${choices.join(", ")}; got ${value}`);
  return value;
}

function boundsOf(table) {
  const outside = oneOf("outside", table.get("outside"), ["clip", "refuse"]);
  const [low, high] = ["lower", "upper"].map((key) => {
    const isNumber = NUMBER.test(String(table.get(key))) && !/\/0+$/.test(String(table.get(key)));
    if (!isNumber) throw new SchemeError(`${key} must be a number, got ${table.get(key)}`);
    const bound = rational(table.get(key));
    if (Math.abs(toDouble(...bound)) > LARGEST_BOUND) throw new SchemeError(`${key} must lie between -1e30 and 1e30`);
    return bound;
  });
  const [lower, upper] = [toDouble(...low), toDouble(...high)];
  const gap = [high[0] * low[1] - low[0] * high[1], high[1] * low[1]];
  if (gap[0] <= 0n) throw new SchemeError(`lower must be below upper, got ${table.get("lower")} and ${table.get("upper")}`);
  const width = toDouble(...gap);
  if (width <= FINEST_WIDTH * Math.max(Math.abs(lower), Math.abs(upper))) {
    throw new SchemeError("lower and upper are too close to tell values apart");
  }
  return { outside, missing: "refuse", categories: [], lower, upper, width };
}

function categoriesIn(table) {
  const outside = oneOf("outside", table.get("outside") ?? "refuse", ["refuse", OTHER]);
  const missing = oneOf("missing", table.get("missing"), ["refuse", "category"]);
  const listed = table.get("categories");
  if (!Array.isArray(listed) || listed.length < 2) throw new SchemeError("categories must be a list of at least 2");
  const categories = missing === "category" && !listed.includes(MISSING) ? [...listed, MISSING] : listed;
  if (new Set(categories).size < categories.length || !categories.every((label) => typeof label === "string" && label)) {
    throw new SchemeError("categories must differ and be names");
  }
  const codes = table.get("codes") ?? new Map();
  for (const [code, label] of codes) {
    if (!categories.includes(label)) throw new SchemeError(`codes.${code} must be one of the categories; got ${label}`);
  }
  if (outside === OTHER && !categories.includes(OTHER)) {
    throw new SchemeError(`outside = "${OTHER}" needs a category named "${OTHER}"`);
  }
  const texts = new Map(categories.map((label, position) => [label, position]));
  for (const [code, label] of codes) texts.set(code, categories.indexOf(label));
  const numbers = new Map();
  for (const [spelling, position] of texts) {
    if (/^-?\d+$/.test(spelling) && !numbers.has(Number(spelling))) numbers.set(Number(spelling), position);
  }
  return { outside, missing, categories, texts, numbers };
}
