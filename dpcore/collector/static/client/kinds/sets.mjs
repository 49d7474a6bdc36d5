/** Sets: options of which several may be chosen, in one column or, as yes and no, in a column of each. */

import { printable } from "../entries.mjs";
import { InvalidRecord, SchemeError } from "../errors.mjs";
import { checkClient } from "../mechanisms/checks.mjs";
import { MOST_CHOSEN, checkOptions, setNumber } from "../mechanisms/set_selection.mjs";
import { CATEGORICAL, categoriesIn, isAbsent, isNothing, otherOf, placeOf, saysNothing, valueIn } from "./basic.mjs";

const FALSE = ["0", "f", "F", "False", "FALSE", "n", "N", "no", "No", "NO"]; // how files write that an option is not chosen
const TRUE = ["1", "t", "T", "True", "TRUE", "y", "Y", "yes", "Yes", "YES"];

export const SET = {
  name: "set",
  type: "set",
  unpaired: "a set of options",
  domain: setsIn,
  check: ({ categories, atMost }, name, inputs, client) => checkClient(client, { options: categories.length, at_most: atMost }),
  cellOf(attribute, record) {
    const { boxes, name, column } = attribute;
    const isInOne = [column, name].some((key) => Object.hasOwn(record, key));
    if (boxes && (!isInOne || boxes.some((box) => Object.hasOwn(record, box.column)))) {
      return numberOfSet(attribute, boxes.flatMap((box, place) => (CATEGORICAL.cellOf(box, record) ? [place] : [])));
    }
    return cellOfSet(attribute, valueIn(attribute, record));
  },
};

function setsIn(entries) {
  const domain = categoriesIn(new Map(entries).set("functionals", [])); // which need no values here
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
  return { ...domain, atMost, separator, columns, boxes: columns?.map((column) => boxIn(column, missing)) };
}

/** The column that says whether one option is chosen. */
function boxIn(column, missing) {
  printable("columns", column);
  const codes = new Map([FALSE, TRUE].flatMap((spellings, i) => spellings.map((spelling) => [spelling, String(i === 1)])));
  const entries = { categories: ["false", "true"], codes, missing, outside: "refuse" };
  return { name: column, column, ...categoriesIn(new Map(Object.entries(entries))) };
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
