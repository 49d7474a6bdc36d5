/** From the values of a record to input cells. */

import { InvalidRecord } from "./errors.mjs";
import { setNumber } from "./mechanisms/set_selection.mjs";
import { dayIn, isDate, numberIn } from "./numbers.mjs";
import { cellOfText } from "./texts.mjs";

const NO_VALUE = ["", "na", "n/a", "nan", "null", "none"]; // how files write that there is no value, in lower case

/** The input cell of an attribute's value in a record, of a text its symbols; throws InvalidRecord. */
export function cellOf(attribute, record) {
  if (attribute.sides) {
    const [one, other] = attribute.sides.map((side) => cellOf(side, record));
    return one * attribute.sides[1].mechanism.inputs + other;
  }
  const key = [attribute.column, attribute.name].find((name) => Object.hasOwn(record, name));
  if (attribute.boxes && (key === undefined || attribute.boxes.some(({ column }) => Object.hasOwn(record, column)))) {
    return numberOfSet(attribute, attribute.boxes.flatMap((box, place) => (cellOf(box, record) ? [place] : [])));
  }
  if (key === undefined) throw new InvalidRecord(attribute.name, "is missing from the record");
  if (attribute.atMost !== undefined) return cellOfSet(attribute, record[key]);
  if (attribute.maxBytes !== undefined) return cellOfText(attribute, isAbsent(record[key]) ? "" : record[key]);
  return attribute.isNumber ? cellOfNumber(attribute, record[key]) : cellOfCategory(attribute, record[key]);
}

/** The cell of the options of a list, of a text with separators, or of one option alone. */
function cellOfSet(attribute, value) {
  const parts = isAbsent(value) ? [] : typeof value === "string" ? value.split(attribute.separator).filter((part) => part.trim()) : [value].flat();
  const isSilence = typeof value === "string" && parts.length === 1 && saysNothing(parts[0]) && placeOf(attribute, parts[0]) === undefined;
  if (isSilence || (parts.length === 0 && !Array.isArray(value))) {
    if (attribute.missing === "none") return 0;
    throw new InvalidRecord(attribute.name, "expected an answer");
  }
  const places = parts.map((part) => {
    const known = placeOf(attribute, part);
    if (known === undefined && isNothing(part)) throw new InvalidRecord(attribute.name, "expected options, and one has no value");
    return known ?? otherOf(attribute);
  });
  return numberOfSet(attribute, [...new Set(places)].sort((a, b) => a - b));
}

function numberOfSet({ name, atMost, categories }, members) {
  if (members.length > atMost) throw new InvalidRecord(name, `expected at most ${atMost} options`);
  return setNumber(members, categories.length);
}

function cellOfNumber(attribute, value) {
  const spelled = isDate(attribute) ? dayIn(value, attribute.unit) ?? value : value;
  const x = typeof spelled === "bigint" ? Number(spelled) : typeof spelled === "string" ? numberOf(attribute, spelled) : spelled;
  const silent = isSilent(attribute, value, x);
  if (silent && attribute.missing === "category") return attribute.mechanism.inputs - 1;
  if (silent || typeof x !== "number") throw new InvalidRecord(attribute.name, "expected a number");
  if (attribute.bins) return attribute.bins.filter((edge) => edge <= x).length;
  if (attribute.outside === "refuse" && (x < attribute.lower || x > attribute.upper)) {
    throw new InvalidRecord(attribute.name, `expected a number from ${attribute.lower} to ${attribute.upper}`);
  }
  const within = Math.min(Math.max(x, attribute.lower), attribute.upper);
  if (attribute.points) return spread(attribute, pointOf(attribute, within));
  const [share, room] = [(within - attribute.lower) / attribute.width, roomOf(attribute)];
  return Math.min(Math.trunc(share * room), room - 1);
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

function isAbsent(value) {
  return value === null || value === undefined || value === "" || Number.isNaN(value);
}

function cellOfCategory(attribute, value) {
  const known = placeOf(attribute, value);
  if (known !== undefined) return known;
  if (isNothing(value)) {
    if (attribute.missing === "none") return 0; // of a column that says whether an option is chosen
    if (attribute.missing === "category") return attribute.categories.indexOf("missing");
    throw new InvalidRecord(attribute.name, "expected an answer");
  }
  return otherOf(attribute);
}

/** The place of the category that a value spells, undefined where it spells none; throws InvalidRecord for lists and objects. */
function placeOf(attribute, value) {
  if (typeof value === "boolean") value = String(value);
  const whole = Number.isSafeInteger(value) ? BigInt(value) : value; // beyond, no double says which number was meant
  const known = typeof whole === "bigint" ? attribute.numbers.get(whole) : attribute.texts.get(whole) ?? respelled(attribute, whole);
  if (known !== undefined) return known;
  if (value !== null && typeof value === "object") throw new InvalidRecord(attribute.name, "expected a text or a number");
  return undefined;
}

/** The place of the category for answers that are not listed; throws InvalidRecord where there is none. */
function otherOf({ name, outside, categories }) {
  if (outside === "other") return categories.indexOf("other");
  throw new InvalidRecord(name, "expected one of the categories");
}

const isNothing = (value) => isAbsent(value) || (typeof value === "string" && saysNothing(value));
const saysNothing = (text) => NO_VALUE.includes(plain(text).toLowerCase());

/** The category of a text that is no accepted spelling as it stands: with blanks around it, as 1.0, or decomposed. */
function respelled({ texts }, value) {
  if (typeof value !== "string" || value === "") return undefined;
  const text = plain(value).replace(/^(-?[0-9]{1,40})\.0+$/, "$1");
  const found = new Set([...texts].filter(([known]) => plain(known) === text).map(([, place]) => place));
  return found.size === 1 ? [...found][0] : undefined;
}

/** A text in Unicode's composed form (NFC) without blanks around it. */
const plain = (text) => text.normalize("NFC").trim();
