/** What is asked, and which values there are: an attribute's domain, each of whose values must have an input cell. */

import { checkTitle, printable } from "./entries.mjs";
import { SchemeError } from "./errors.mjs";
import { TABLES } from "./keys.mjs";
import { MOST_CHOSEN, checkOptions } from "./mechanisms/set_selection.mjs";
import { numberIn, rational, toDouble } from "./numbers.mjs";
import { textsIn } from "./texts.mjs";

const LARGEST_BOUND = 10n ** 30n;
const FINEST_WIDTH = 2 ** -32; // of the bounds, relative to them
const MOST_POINTS = 1024;
const SILENT = TABLES.lattice.mechanism.choices.filter((name) => TABLES.numeric.mechanism.choices.includes(name)); // of densities
const MISSING = "missing"; // the category of who gives no answer
const OTHER = "other"; // and of answers that are not listed
const MOST_TOGETHER = 10_000; // pairs of categories
const FALSE = ["0", "f", "F", "False", "FALSE", "n", "N", "no", "No", "NO"]; // how files write that an option is not chosen
const TRUE = ["1", "t", "T", "True", "TRUE", "y", "Y", "yes", "Yes", "YES"];
const AND = " & "; // between the categories of two columns that are asked together

/** What an attribute's values are: its type, or what its table (a Map) makes of it. */
export function kindOf(type, table) {
  if (type === "set" || type === "text") return type;
  if (table.has("of")) return type === "numeric" ? "plane" : "crossed";
  if (type === "numeric") return table.has("step") || table.has("values") ? "lattice" : type;
  return table.has("bins") ? "binned" : type;
}

/** The domain in the entries of an attribute's table, and which it says itself (a Set of keys); throws SchemeError. */
export function domainOf(entries, said) {
  const kind = kindOf(entries.get("type"), said);
  if (kind === "numeric") return { ...boundsOf(entries, said), isNumber: true };
  if (kind === "lattice") return { ...pointsOf(entries), isNumber: true };
  if (kind === "plane") return planeIn(entries);
  if (kind === "crossed") return togetherIn(entries);
  if (kind === "set") return setsIn(entries);
  if (kind === "text") return textsIn(entries);
  return kind === "binned" ? { ...binsOf(entries), isNumber: true } : { ...categoriesIn(entries), isNumber: false };
}

function boundsOf(entries, said) {
  if (entries.get("estimator") !== "projection" && (said.has("level_rule") || said.has("level"))) {
    throw new SchemeError('level_rule and level need estimator = "projection"');
  }
  if ((entries.get("level_rule") === "fixed") !== said.has("level")) throw new SchemeError('level and level_rule = "fixed" need each other');
  const [missing, codes] = [entries.get("missing"), codesOfSilence(entries)];
  return { ...rangeOf(entries.get("lower"), entries.get("upper")), ...textsOf(entries), missing, codes, categories: silent(missing) };
}

function textsOf(entries) {
  printable("unit", entries.get("unit"));
  return { outside: entries.get("outside"), unit: entries.get("unit") };
}

/** The bounds as doubles, and how far they are apart; throws SchemeError where they are none. */
function rangeOf(first, last) {
  const [low, high] = [first, last].map(rational);
  const [lower, upper] = [doubleOf("lower", low), doubleOf("upper", high)];
  const gap = [high[0] * low[1] - low[0] * high[1], high[1] * low[1]];
  if (gap[0] <= 0n) throw new SchemeError(`lower must be below upper, got ${first} and ${last}`);
  const width = toDouble(...gap);
  if (width <= FINEST_WIDTH * Math.max(Math.abs(lower), Math.abs(upper))) {
    throw new SchemeError("lower and upper are too close for floating-point numbers");
  }
  return { lower, upper, width };
}

/** A number that says which values there are: lower, lower + step, ..., upper, or a list. */
function pointsOf(entries) {
  const [step, listed, lower, upper, missing] = ["step", "values", "lower", "upper", "missing"].map((key) => entries.get(key));
  if (listed !== undefined && [step, lower, upper].some((value) => value !== undefined)) {
    throw new SchemeError("values replace lower, upper and step; remove these three, or remove values");
  }
  if (listed === undefined && (lower === undefined || upper === undefined)) throw new SchemeError("step needs both lower and upper; add them");
  const points = (listed ?? steps(lower, upper, step)).map((value) => (Array.isArray(value) ? value : rational(value)));
  if (points.length > MOST_POINTS) throw new SchemeError(`values: at most ${MOST_POINTS} are possible, got ${points.length}`);
  if (points.some((point, i) => i > 0 && !isBelow(points[i - 1], point))) throw new SchemeError("values must increase; sort them and remove equal ones");
  const range = rangeOf(...[points[0], points.at(-1)].map((point) => point.join("/")));
  const numbers = points.map((point) => toDouble(...point));
  if ((entries.get("heaps") ?? []).some((heap) => !hasMultiples(points, rational(heap)))) {
    throw new SchemeError("heaps must be above 0 and have at least two multiples among the values");
  }
  const codes = codesOfSilence(entries);
  const taken = [...codes].find((code) => numbers.includes(numberIn(code)));
  if (taken !== undefined) throw new SchemeError(`codes.${taken} is one of the attribute's values, so it cannot mean no answer`);
  const distance = step === undefined ? undefined : toDouble(...rational(step));
  return { ...range, ...textsOf(entries), missing, codes, points: numbers, step: distance, categories: [...numbers.map(String), ...silent(missing)] };
}

function silent(missing) {
  return missing === "category" ? [MISSING] : [];
}

/** The codes of who gives no answer, a Set. */
function codesOfSilence(entries) {
  const codes = entries.get("codes") ?? new Map();
  if (!(codes instanceof Map) || [...codes.values()].some((label) => label !== MISSING)) {
    throw new SchemeError("codes of a number may only declare nonresponse");
  }
  return new Set(codes.keys());
}

function steps(lower, upper, step) {
  const [low, high, by] = [lower, upper, step].map(rational);
  const [top, bottom] = [(high[0] * low[1] - low[0] * high[1]) * by[1], high[1] * low[1] * by[0]];
  if (by[0] <= 0n || top < bottom || top % bottom !== 0n) {
    throw new SchemeError(`step must be above 0 and divide the range from ${lower} to ${upper} into whole steps, got ${step}`);
  }
  const many = top / bottom;
  if (many >= BigInt(MOST_POINTS)) throw new SchemeError(`values: at most ${MOST_POINTS} are possible, got ${many + 1n}`);
  return Array.from({ length: Number(many) + 1 }, (_, i) => [low[0] * by[1] + BigInt(i) * by[0] * low[1], low[1] * by[1]]);
}

function hasMultiples(points, [top, bottom]) {
  return top > 0n && points.filter((point) => (point[0] * bottom) % (point[1] * top) === 0n).length > 1;
}

function isBelow(one, other) {
  return one[0] * other[1] < other[0] * one[1];
}

/** Categories that are ranges of a number, which meet at edges. */
function binsOf(entries) {
  const [missing, values] = ["missing", "values"].map((key) => entries.get(key));
  const bins = entries.get("bins").map((edge, place) => doubleOf(`bins[${place}]`, rational(edge)));
  if (bins.some((edge, place) => place > 0 && bins[place - 1] >= edge)) throw new SchemeError("bins must increase; sort the edges and remove equal ones");
  const between = bins.slice(1).map((edge, place) => `${bins[place]} to below ${edge}`);
  const names = [`below ${bins[0]}`, ...between, `${bins.at(-1)} and above`];
  if (values !== undefined && values.length !== names.length) {
    throw new SchemeError(`values must list one number for each of the ${names.length} bins, got ${values.length}`);
  }
  if (values === undefined && entries.get("functionals")?.length) throw new SchemeError("functionals of bins need values");
  printable("unit", entries.get("unit"));
  return { bins, outside: "clip", unit: entries.get("unit"), missing, codes: codesOfSilence(entries), categories: [...names, ...silent(missing)] };
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
    return { column: of[i], isNumber: false, ...own };
  });
  const categories = lists[0].flatMap((one) => lists[1].map((other) => `${one}${AND}${other}`));
  return { isNumber: false, outside, unit: "", missing, sides, categories };
}

/** Options of which several may be chosen, in one column or, as yes and no, in a column of each. */
function setsIn(entries) {
  const domain = categoriesIn(entries);
  const [columns, separator, missing] = ["columns", "separator", "missing"].map((key) => entries.get(key));
  const count = domain.categories.length;
  const atMost = entries.get("at_most") ?? (count > MOST_CHOSEN ? undefined : count);
  if (atMost === undefined) throw new SchemeError(`at_most is missing; say how many of the ${count} options may be chosen`);
  checkOptions(count, atMost);
  if (columns && (columns.length !== count || new Set(columns).size < count)) {
    throw new SchemeError(`columns must list ${count} different columns, one for each option`);
  }
  if (separator.trim() !== separator || domain.categories.some((option) => option.includes(separator))) {
    throw new SchemeError("separator must be a text that no option contains, without blanks around it");
  }
  printable("separator", separator);
  return { ...domain, isNumber: false, atMost, separator, boxes: columns?.map((column) => boxIn(column, missing)) };
}

/** The column that says whether one option is chosen. */
function boxIn(column, missing) {
  printable("columns", column);
  const codes = new Map([FALSE, TRUE].flatMap((spellings, i) => spellings.map((spelling) => [spelling, String(i === 1)])));
  const entries = { categories: ["false", "true"], codes, missing, outside: "refuse" };
  return { name: column, column, isNumber: false, ...categoriesIn(new Map(Object.entries(entries))) };
}

/** Two columns of numbers that are asked together. */
function planeIn(entries) {
  const [of, missing, outside] = ["of", "missing", "outside"].map((key) => entries.get(key));
  const [lower, upper, units] = ["lower", "upper", "units"].map((key) => checkTwo(key, entries.get(key)));
  units.forEach((unit) => printable("units", unit));
  const sides = checkTwo("of", of).map((column, i) => (
    { column, isNumber: true, unit: units[i], outside, missing, codes: new Set(), categories: [], ...rangeOf(lower[i], upper[i]) }));
  return { isNumber: false, outside, unit: "", missing, sides, categories: [] };
}

/** A list of what is said of two columns; throws SchemeError unless there are two, of columns two names. */
function checkTwo(key, list) {
  const ofNames = key === "of";
  if (list.length !== 2 || (ofNames && list[0] === list[1])) {
    throw new SchemeError(`${key} must list ${ofNames ? "two different columns" : "one entry for each column"}`);
  }
  if (ofNames) list.forEach((column) => printable(key, column));
  return list;
}

/** An exact number as a double; throws SchemeError where it is too large. */
function doubleOf(key, [top, bottom]) {
  if (top > LARGEST_BOUND * bottom || -top > LARGEST_BOUND * bottom) throw new SchemeError(`${key} must lie between -1e30 and 1e30`);
  return toDouble(top, bottom);
}

function categoriesIn(entries) {
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
  if (values === undefined && entries.get("functionals")?.length && !entries.has("at_most")) throw new SchemeError("functionals of categories need values");
  if (outside === OTHER && !categories.includes(OTHER)) {
    throw new SchemeError(`outside = "${OTHER}" needs a category named "${OTHER}"`);
  }
  const texts = new Map(categories.map((label, position) => [label, position]));
  for (const [code, label] of [...codes].sort()) texts.set(code, categories.indexOf(label));
  const numbers = new Map();
  for (const [spelling, position] of texts) {
    if (/^-?\d{1,40}$/.test(spelling) && !numbers.has(BigInt(spelling))) numbers.set(BigInt(spelling), position);
  }
  return { outside, unit: "", missing, categories, titles: titlesIn(entries.get("titles") ?? new Map(), categories), texts, numbers };
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

/** Throws SchemeError unless a density of which silence is an answer leaves an input cell empty before it. */
export function checkGap({ bins, points, missing, isNumber }, mechanismName, inputs) {
  if (missing !== "category" || !isNumber || bins || points) return;
  if (!SILENT.includes(mechanismName)) throw new SchemeError(`missing = "category" of a density needs mechanism = ${SILENT.join(" or ")}, got ${mechanismName}`);
  if (inputs < 8) throw new SchemeError(`missing = "category" needs 8 input cells, got ${inputs}`);
}

/** How many input cells an attribute's values need where there are more of them than answers; 0 of any other attribute. */
export function roomFor({ points, categories }) {
  if (points === undefined) return 0;
  return categories.length > points.length ? Math.ceil((4 * points.length) / 3) + 1 : points.length;
}
