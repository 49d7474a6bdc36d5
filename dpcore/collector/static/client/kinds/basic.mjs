/** Numbers and categories, alone or two together; and what records write where there is no value. */

import { checkTitle, printable } from "../entries.mjs";
import { InvalidRecord, SchemeError } from "../errors.mjs";
import { TABLES } from "../keys.mjs";
import { dayIn, isDate, numberIn, rational, toDouble } from "../numbers.mjs";

const LARGEST_BOUND = 10n ** 30n;
const FINEST_WIDTH = 2 ** -32; // of the bounds, relative to them
const MOST_POINTS = 1024;
const SILENT = TABLES.lattice.mechanism.choices.filter((name) => TABLES.numeric.mechanism.choices.includes(name)); // of densities
const MISSING = "missing"; // the category of who gives no answer
const OTHER = "other"; // and of answers that are not listed
const MOST_TOGETHER = 10_000; // pairs of categories
const AND = " & "; // between the categories of two columns that are asked together
const NO_VALUE = ["", "na", "n/a", "nan", "null", "none"]; // how files write that there is no value, in lower case

export const NUMERIC = {
  name: "numeric",
  type: "numeric",
  domain: boundsOf,
  check: checkGap,
  cellOf: cellBy((attribute, x) => {
    const [share, room] = [(withinBounds(attribute, x) - attribute.lower) / attribute.width, roomOf(attribute)];
    return Math.min(Math.trunc(share * room), room - 1);
  }),
};

export const LATTICE = {
  name: "lattice",
  type: "numeric",
  marks: ["step", "values"],
  domain: pointsOf,
  check: checkRoom,
  cellOf: cellBy((attribute, x) => spread(attribute, pointOf(attribute, withinBounds(attribute, x)))),
};

export const CATEGORICAL = {
  name: "categorical",
  type: "categorical",
  domain: categoriesIn,
  check: checkCategories,
  cellOf: (attribute, record) => cellOfCategory(attribute, valueIn(attribute, record)),
};

export const BINNED = {
  name: "binned",
  type: "categorical",
  marks: ["bins"],
  domain: binsOf,
  check: checkCategories,
  cellOf: cellBy((attribute, x) => attribute.bins.filter((edge) => edge <= x).length),
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

export const PLANE = {
  name: "plane",
  type: "numeric",
  marks: ["of"],
  domain: planeIn,
  inputsOfSide: (side, inputs) => Math.sqrt(inputs),
  cellOf: cellOfSides,
};

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

/** An exact number as a double; throws SchemeError where it is too large. */
function doubleOf(key, [top, bottom]) {
  if (top > LARGEST_BOUND * bottom || -top > LARGEST_BOUND * bottom) throw new SchemeError(`${key} must lie between -1e30 and 1e30`);
  return toDouble(top, bottom);
}

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

/** Two columns of numbers that are asked together. */
function planeIn(entries) {
  const [of, missing, outside] = ["of", "missing", "outside"].map((key) => entries.get(key));
  const [lower, upper, units] = ["lower", "upper", "units"].map((key) => checkTwo(key, entries.get(key)));
  units.forEach((unit) => printable("units", unit));
  const sides = checkTwo("of", of).map((column, i) => (
    { kind: NUMERIC, column, unit: units[i], outside, missing, codes: new Set(), categories: [], ...rangeOf(lower[i], upper[i]) }));
  return { outside, unit: "", missing, sides, columns: of, categories: [] };
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

/** Throws SchemeError unless a density of which silence is an answer leaves an input cell empty before it. */
function checkGap({ missing }, mechanismName, inputs) {
  if (missing !== "category") return;
  if (!SILENT.includes(mechanismName)) throw new SchemeError(`missing = "category" of a density needs mechanism = ${SILENT.join(" or ")}, got ${mechanismName}`);
  if (inputs < 8) throw new SchemeError(`missing = "category" needs 8 input cells, got ${inputs}`);
}

/** Throws SchemeError unless values that are spread over input cells have enough of them. */
function checkRoom(domain, mechanismName, inputs) {
  const [count, places] = [domain.categories.length, domain.points.length];
  const least = count > places ? Math.ceil((4 * places) / 3) + 1 : places;
  if (inputs !== count && inputs < least) throw new SchemeError(`${mechanismName} has ${inputs} input cells here, and ${count} answers need ${least}`);
  checkCategories(domain, mechanismName, inputs);
}

/** Throws SchemeError unless a mechanism of categories has as many as the domain. */
function checkCategories({ categories }, mechanismName, inputs) {
  const count = categories.length;
  if (inputs !== count && TABLES.categorical.mechanism.choices.includes(mechanismName)) {
    throw new SchemeError(`client.categories must be ${count}, the number of categories, got ${inputs}`);
  }
}

/** The input cell of the number that a record holds, which a function finds. */
function cellBy(cellIn) {
  return (attribute, record) => {
    const value = valueIn(attribute, record);
    const spelled = isDate(attribute) ? dayIn(value, attribute.unit) ?? value : value;
    const x = typeof spelled === "bigint" ? Number(spelled) : typeof spelled === "string" ? numberOf(attribute, spelled) : spelled;
    const silent = isSilent(attribute, value, x);
    if (silent && attribute.missing === "category") return attribute.mechanism.inputs - 1;
    if (silent || typeof x !== "number") throw new InvalidRecord(attribute.name, "expected a number");
    return cellIn(attribute, x);
  };
}

function withinBounds({ name, outside, lower, upper }, x) {
  if (outside === "refuse" && (x < lower || x > upper)) throw new InvalidRecord(name, `expected a number from ${lower} to ${upper}`);
  return Math.min(Math.max(x, lower), upper);
}

/** The point nearest to a number, of two the larger. */
function pointOf({ points, step, lower }, x) {
  if (step !== undefined) return Math.min(Math.floor((x - lower) / step + 0.5), points.length - 1);
  return points.findLastIndex((point, i) => i === 0 || (points[i - 1] + point) / 2 <= x);
}

/** The input cell of a place among the values there are, spread over the cells; silence has the last, behind a quarter of them. */
function spread(attribute, place) {
  const { categories, points, mechanism: { inputs } } = attribute;
  return inputs === categories.length ? place : Math.floor(((2 * place + 1) * roomOf(attribute)) / (2 * points.length));
}

/** How many input cells are those of values. */
function roomOf({ missing, mechanism: { inputs } }) {
  return missing === "category" ? inputs - Math.floor(inputs / 4) : inputs;
}

/** Whether a value says that there is no answer: it is none, or one of the codes, or the number that a code spells. */
function isSilent({ codes }, value, x) {
  if (isAbsent(value) || codes.has(value)) return true;
  return typeof x === "number" && [...codes].some((code) => numberIn(code) === x);
}

/** The number that a text spells; of dates the text is a date, and no number. */
const numberOf = (attribute, text) => (isDate(attribute) ? undefined : numberIn(text));

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

/** The input cell of both columns of a joint attribute. */
function cellOfSides({ sides }, record) {
  const [one, other] = sides.map((side) => side.kind.cellOf(side, record));
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
const plain = (text) => text.normalize("NFC").trim();
