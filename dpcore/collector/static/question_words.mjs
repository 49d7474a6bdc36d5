/** The words around a question: which answers it takes, and what it asks for if one is wrong. */

import { INSTANTS, dateIn, isDate } from "./ldpflow.mjs";
import { number } from "./report_words.mjs";

export const isSet = ({ atMost }) => atMost !== undefined;
export const isText = ({ maxBytes }) => maxBytes !== undefined;
/** Whether an answer is checked while it is given. */
export const isChecked = (attribute) => isSet(attribute) || isText(attribute);
export const isInstant = ({ unit }) => unit === INSTANTS;
const shown = (attribute, x) => (isDate(attribute) ? dateIn(x, attribute.unit) : number(x, 6));
export const MOST_RADIOS = 8;

/** The ranges of a number in words, abbreviated if there are many; an edge belongs to the upper range. */
function ranges({ bins }) {
  const edges = bins.map((edge) => number(edge, 6));
  const words = [`below ${edges[0]}`, ...edges.slice(1).map((edge, i) => `${edges[i]} to below ${edge}`), `${edges.at(-1)} and above`];
  return (words.length > MOST_RADIOS ? [words[0], words[1], "…", words.at(-1)] : words).join("; ");
}

const noun = (attribute) => (isInstant(attribute) ? "time" : isDate(attribute) ? "date" : "number");

/** Which texts a question takes. */
function textsFor({ alphabet, maxBytes, normalize }) {
  const some = alphabet && ` out of “${alphabet}”${normalize.includes("case") ? " and capitals" : ""}`;
  const wide = /^[ -~]+$/.test(alphabet) ? "" : "; letters with accents count twice, and some others more often";
  return `at most ${maxBytes} characters${some}${wide}`;
}

/** How many options may be chosen; "" if all. */
const limit = ({ atMost, categories }) => (atMost < categories.length ? `at most ${atMost}` : "");

/** The hint below a question. */
export function bounds(attribute) {
  if (isSet(attribute)) return `Choose all that apply${limit(attribute) && `, ${limit(attribute)}`}, or none. `;
  const mayStay = attribute.missing === "category" ? "Leave it empty if you would rather not say. " : "";
  const other = attribute.outside === "other" ? "Any other text counts as “other”. " : "";
  if (isText(attribute)) return `Write ${textsFor(attribute)}. ${other}${mayStay}`;
  if (!attribute.isNumber) return "";
  if (attribute.bins) return `Your number counts as one of ${attribute.bins.length + 1} ranges: ${ranges(attribute)}. ${mayStay}`;
  const range = `${shown(attribute, attribute.lower)} to ${shown(attribute, attribute.upper)}`;
  const outside = attribute.outside === "clip" ? `Anything outside ${range} counts as the nearer end. ` : `A ${noun(attribute)} from ${range}. `;
  const nearest = attribute.points ? `Your ${noun(attribute)} counts as the nearest of ${attribute.points.length} values. ` : "";
  return outside + nearest + mayStay;
}

const example = (attribute) => (isDate(attribute) ? dateIn((attribute.lower + attribute.upper) / 2, attribute.unit)
  : number(attribute.bins?.[0] ?? Number(((attribute.lower + attribute.upper) / 5).toPrecision(2)), 6));

/** The answer that a question takes, as a request. */
export function wanted(attribute) {
  if (isText(attribute)) return `Please write ${textsFor(attribute)}.`;
  if (!attribute.isNumber) return isSet(attribute) ? `Please choose ${limit(attribute)}.` : "Please choose one.";
  const range = attribute.outside === "refuse" ? ` from ${shown(attribute, attribute.lower)} to ${shown(attribute, attribute.upper)}` : "";
  return `Please write a ${noun(attribute)}${range}, such as ${example(attribute)}.`;
}
