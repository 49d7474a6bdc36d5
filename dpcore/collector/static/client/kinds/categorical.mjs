/** Categories: one of a list, or one of each of two lists that are asked together. */

import { checkTitle, checkTwo, printable } from "../entries.mjs";
import { InvalidRecord, SchemeError } from "../errors.mjs";
import { TABLES } from "../keys.mjs";
import { cellOfSides, isNothing, plain, valueIn } from "../records.mjs";

export const MISSING = "missing"; // the category of who gives no answer
const OTHER = "other"; // and of answers that are not listed
const MOST_TOGETHER = 10_000; // pairs of categories
const AND = " & "; // between the categories of two columns that are asked together

export const CATEGORICAL = {
  name: "categorical",
  type: "categorical",
  domain: categoriesIn,
  check: checkCategories,
  cellOf: (attribute, record) => cellOfCategory(attribute, valueIn(attribute, record)),
};

export const CROSSED = {
  name: "crossed",
  type: "categorical",
  marks: ["of"],
  domain: togetherIn,
  check: checkCategories,
  inputsOfSide: ({ categories }) => categories.length,
  cellOf: cellOfSides,
};

export function categoriesIn(entries) {
  const [outside, missing, listed, values] = ["outside", "missing", "categories", "values"].map((key) => entries.get(key));
  listed.forEach((label) => printable("categories", label));
  const categories = missing === "category" && !listed.includes(MISSING) ? [...listed, MISSING] : listed;
  if (new Set(categories).size < categories.length || categories.includes("")) {
    throw new SchemeError("categories must differ and not be empty");
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
  const titles = titlesIn(entries.get("titles") ?? new Map(), categories);
  return { unit: "", outside, missing, categories, titles, texts, numbers };
}

/** The titles of categories, a Map from each that has one. */
function titlesIn(titles, categories) {
  if (!(titles instanceof Map)) throw new SchemeError("titles must map categories to titles");
  for (const [category, title] of titles) {
    if (!categories.includes(category)) throw new SchemeError(`titles.${category} is not the title of a category`);
    checkTitle(`titles.${category}`, title);
  }
  const shown = categories.map((category) => titles.get(category) ?? category);
  if ([...titles.values()].some((title) => shown.indexOf(title) < shown.lastIndexOf(title))) {
    throw new SchemeError("titles must differ from each other and from other categories");
  }
  return titles;
}

/** Two columns that are asked together, and the pairs of their categories. */
function togetherIn(entries) {
  const [of, lists, missing, outside] = ["of", "categories", "missing", "outside"].map((key) => entries.get(key));
  checkTwo("of", of);
  checkTwo("categories", lists);
  if (lists.flat().some((label) => label.includes(AND))) throw new SchemeError(`categories may not contain ${JSON.stringify(AND)}`);
  if (lists[0].length * lists[1].length > MOST_TOGETHER) throw new SchemeError(`categories of a joint attribute must make at most ${MOST_TOGETHER} pairs`);
  const sides = lists.map((categories, i) => {
    const own = categoriesIn(new Map(Object.entries({ categories, missing, outside })));
    return { kind: CATEGORICAL, column: of[i], ...own };
  });
  const categories = lists[0].flatMap((one) => lists[1].map((other) => `${one}${AND}${other}`));
  return { outside, unit: "", missing, sides, columns: of, categories };
}

/** Throws SchemeError unless a mechanism of categories has as many as the domain. */
export function checkCategories({ categories }, mechanismName, inputs) {
  const count = categories.length;
  if (inputs !== count && TABLES.categorical.mechanism.choices.includes(mechanismName)) {
    throw new SchemeError(`client.categories must be ${count}, the number of categories, got ${inputs}`);
  }
}

function cellOfCategory(attribute, value) {
  const known = placeOf(attribute, value);
  if (known !== undefined) return known;
  if (isNothing(value)) {
    if (attribute.missing === "none") return 0; // of a column that says whether an option is chosen
    if (attribute.missing === "category") return attribute.categories.indexOf(MISSING);
    throw new InvalidRecord(attribute.name, "expected an answer");
  }
  return otherOf(attribute);
}

/** The place of the category that a value spells, undefined where it spells none; throws InvalidRecord for lists and objects. */
export function placeOf(attribute, value) {
  if (typeof value === "boolean") value = String(value);
  const whole = Number.isSafeInteger(value) ? BigInt(value) : value; // beyond, no double says which number was meant
  const known = typeof whole === "bigint" ? attribute.numbers.get(whole) : attribute.texts.get(whole) ?? respelled(attribute, whole);
  if (known !== undefined) return known;
  if (value !== null && typeof value === "object") throw new InvalidRecord(attribute.name, "expected a text or a number");
  return undefined;
}

/** The place of the category for answers that are not listed; throws InvalidRecord where there is none. */
export function otherOf({ name, outside, categories }) {
  if (outside === OTHER) return categories.indexOf(OTHER);
  throw new InvalidRecord(name, "expected one of the categories");
}

/** The category of a text that is no accepted spelling as it stands: with blanks around it, as 1.0, or decomposed. */
function respelled({ texts }, value) {
  if (typeof value !== "string" || value === "") return undefined;
  const text = plain(value).replace(/^(-?[0-9]{1,40})\.0+$/, "$1");
  const found = new Set([...texts].filter(([known]) => plain(known) === text).map(([, place]) => place));
  return found.size === 1 ? [...found][0] : undefined;
}
