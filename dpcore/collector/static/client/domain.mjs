/** What is asked, and which values there are: an attribute's domain, each of whose values must have an input cell. */

import { printable } from "./entries.mjs";
import { SchemeError } from "./errors.mjs";
import { rational, toDouble } from "./numbers.mjs";

const LARGEST_BOUND = 10n ** 30n;
const FINEST_WIDTH = 2 ** -32; // of the bounds, relative to them
const MISSING = "missing"; // the category of who gives no answer
const OTHER = "other"; // and of answers that are not listed

/** The domain in the entries of an attribute's table, and which it says itself (a Set of keys); throws SchemeError. */
export function domainOf(entries, said) {
  return entries.get("type") === "numeric" ? boundsOf(entries, said) : categoriesIn(entries);
}

function boundsOf(entries, said) {
  const [outside, unit] = ["outside", "unit"].map((key) => entries.get(key));
  printable("unit", unit);
  if (entries.get("estimator") !== "projection" && (said.has("level_rule") || said.has("level"))) {
    throw new SchemeError('level_rule and level go with estimator = "projection" only');
  }
  if ((entries.get("level_rule") === "fixed") !== said.has("level")) throw new SchemeError('level goes with level_rule = "fixed"');
  const [low, high] = ["lower", "upper"].map((key) => {
    const [top, bottom] = rational(entries.get(key));
    if (top > LARGEST_BOUND * bottom || -top > LARGEST_BOUND * bottom) throw new SchemeError(`${key} must lie between -1e30 and 1e30`);
    return [top, bottom];
  });
  const [lower, upper] = [toDouble(...low), toDouble(...high)];
  const gap = [high[0] * low[1] - low[0] * high[1], high[1] * low[1]];
  if (gap[0] <= 0n) throw new SchemeError(`lower must be below upper, got ${entries.get("lower")} and ${entries.get("upper")}`);
  const width = toDouble(...gap);
  if (width <= FINEST_WIDTH * Math.max(Math.abs(lower), Math.abs(upper))) {
    throw new SchemeError("lower and upper are too close to tell values apart");
  }
  return { outside, unit, missing: "refuse", categories: [], lower, upper, width };
}

function categoriesIn(entries) {
  const [outside, missing, listed, values] = ["outside", "missing", "categories", "values"].map((key) => entries.get(key));
  listed.forEach((label) => printable("categories", label));
  const categories = missing === "category" && !listed.includes(MISSING) ? [...listed, MISSING] : listed;
  if (new Set(categories).size < categories.length || categories.includes("")) {
    throw new SchemeError("categories must differ and be names");
  }
  const codes = entries.get("codes") ?? new Map();
  if (!(codes instanceof Map)) throw new SchemeError("codes must map a file's codes to categories");
  for (const [code, label] of codes) {
    if (!categories.includes(label)) throw new SchemeError(`codes.${code} must be one of the categories; got ${label}`);
  }
  if (values !== undefined && values.length !== categories.length) {
    throw new SchemeError(`values must list one number for each of the ${categories.length} categories, got ${values.length}`);
  }
  if (values === undefined && entries.get("functionals")?.length) throw new SchemeError("functionals of categories need values");
  if (outside === OTHER && !categories.includes(OTHER)) {
    throw new SchemeError(`outside = "${OTHER}" needs a category named "${OTHER}"`);
  }
  const texts = new Map(categories.map((label, position) => [label, position]));
  for (const [code, label] of [...codes].sort()) texts.set(code, categories.indexOf(label));
  const numbers = new Map();
  for (const [spelling, position] of texts) {
    if (/^-?\d{1,40}$/.test(spelling) && !numbers.has(BigInt(spelling))) numbers.set(BigInt(spelling), position);
  }
  return { outside, unit: "", missing, categories, texts, numbers };
}
