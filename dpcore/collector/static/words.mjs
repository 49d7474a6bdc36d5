/** What a question asks, and what a report says, in words. */

import { categoryOf } from "./elements.mjs";
import { INSTANTS, dateIn, isDate } from "./ldpflow.mjs";

export const number = (value, digits = 0) => value.toLocaleString("en", { maximumFractionDigits: digits });

/** Words in quotation marks, six at most. */
export function listed(words) {
  const shown = words.slice(0, 6).map((word) => `“${word}”`).join(", ");
  return words.length > 6 ? `${shown} and ${words.length - 6} more` : shown || "none";
}

/** The options and dummies of a report about a set; a dummy fills a choice that a respondent did not use. */
function chosenOf(categories, values) {
  const options = values.filter((value) => value < categories.length).map((value) => categories[value]);
  const dummies = values.length - options.length;
  const unused = dummies ? [`${dummies} unused ${dummies === 1 ? "choice" : "choices"}`] : [];
  return [...(options.length ? [listed(options)] : []), ...unused].join(" and ");
}

/** Describe an answer of the report in words. */
export function described(attribute, { level, values }) {
  const { mechanism } = attribute;
  const categories = attribute.categories.map((label) => categoryOf(attribute, label));
  const scale = mechanism.levels > 1 ? `Scale ${level + 1} of ${mechanism.levels}, ` : "";
  const [low, high] = mechanism.ranges(level)[0];
  const hashed = `Bin ${values[2]} of the hash ${values[0]} x + ${values[1]}`;
  switch (attribute.mechanismName) {
    case "randomized_response": return `“${categories[values[0]]}”`;
    case "unary_encoding": return `Marks ${listed(categories.filter((_, i) => Math.floor(values[i >> 5] / 2 ** (i % 32)) % 2 === 1))}`;
    case "subset_selection": return `One of ${listed(values.map((value) => categories[value]))}, or none of them`;
    case "set_selection": return `Perhaps ${values.length > 1 ? "one or more of " : ""}${chosenOf(categories, values)}`;
    case "hadamard_response": return `Symbol ${values[0]} of ${high}`;
    case "local_hashing": return hashed;
    case "text_hashing": {
      const first = mechanism.lengths[level];
      return `${hashed}, where x is a hash of the text${first < attribute.maxBytes ? `’s first ${first} bytes` : ""}`;
    }
    case "crossed_wave": return `${["Of the place", "Of the product", "Of the first", "Of the second"][level]}, cell ${values[0] + 1} of ${high + 1}`;
    case "wavelet_laplace": return `${scale}${values.length} numbers with noise: ${values.slice(0, 2).map((v) => number(v).replace("-", "−")).join("; ")}${values.length > 2 ? "; …" : ""}`;
    default: return `${scale}cell ${values[0] + 1 - low} of ${high - low + 1}`.replace(/^./, (letter) => letter.toUpperCase());
  }
}

// ---- Questions

const isInstant = ({ unit }) => unit === INSTANTS;
const shown = (attribute, x) => (isDate(attribute) ? dateIn(x, attribute.unit) : number(x, 6));
const MOST_RADIOS = 8;

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
const mayStayEmpty = ({ missing }) => (missing === "category" ? "Leave it empty if you would rather not say. " : "");

function outsideOf(attribute) {
  const range = `${shown(attribute, attribute.lower)} to ${shown(attribute, attribute.upper)}`;
  return attribute.outside === "clip" ? `Anything outside ${range} counts as the nearer end. ` : `A ${noun(attribute)} from ${range}. `;
}

const example = (attribute) => (isDate(attribute) ? dateIn((attribute.lower + attribute.upper) / 2, attribute.unit)
  : number(attribute.bins?.[0] ?? Number(((attribute.lower + attribute.upper) / 5).toPrecision(2)), 6));

const only = ([text = ""]) => text.trim();
const WRITTEN = { type: "text", spellcheck: false }; // some browsers send texts away to check their spelling

/** A number that is written. */
const NUMBER = {
  control: () => "input",
  input: (attribute) => (isDate(attribute) ? { type: isInstant(attribute) ? "datetime-local" : "date" } : { ...WRITTEN, inputMode: "decimal" }),
  hint: (attribute) => `${outsideOf(attribute)}${mayStayEmpty(attribute)}`,
  wanted(attribute) {
    const range = attribute.outside === "refuse" ? ` from ${shown(attribute, attribute.lower)} to ${shown(attribute, attribute.upper)}` : "";
    return `Please write a ${noun(attribute)}${range}, such as ${example(attribute)}.`;
  },
  answer(values, attribute) {
    const text = only(values);
    if (isInstant(attribute) && text) return new Date(text).toISOString(); // in the time zone of this device
    return text.replaceAll(/[,\s](?=\d{3}(\D|$))/g, "");
  },
  inOwnWords: (attribute, answer) => (answer && Number.isFinite(Number(answer)) ? number(Number(answer), 6) : answer),
};

/**
 * The form of each kind of attribute: its control; the properties of its input; the hint below it; the answer wanted, as a request;
 * the answer of a record in values of the form; and that in the respondent's words.  Some are checked while they are given.
 */
const FORMS = {
  numeric: NUMBER,
  lattice: {
    ...NUMBER,
    hint: (attribute) => `${outsideOf(attribute)}Your ${noun(attribute)} counts as the nearest of ${attribute.points.length} values. ${mayStayEmpty(attribute)}`,
  },
  binned: {
    ...NUMBER,
    hint: (attribute) => `Your number counts as one of ${attribute.bins.length + 1} ranges: ${ranges(attribute)}. ${mayStayEmpty(attribute)}`,
  },
  categorical: {
    control: ({ categories }) => (categories.length <= MOST_RADIOS ? "radio" : "select"),
    hint: () => "",
    wanted: () => "Please choose one.",
    answer: only,
    inOwnWords: categoryOf,
  },
  set: {
    isChecked: true,
    control: () => "checkbox",
    hint: (attribute) => `Choose all that apply${limit(attribute) && `, ${limit(attribute)}`}, or none. `,
    wanted: (attribute) => `Please choose ${limit(attribute)}.`,
    answer: (values) => values,
    inOwnWords: (attribute, answer) => listed(answer.map((label) => categoryOf(attribute, label))),
  },
  text: {
    isChecked: true,
    control: () => "input",
    input: () => ({ ...WRITTEN, inputMode: "text" }),
    hint: (attribute) => `Write ${textsFor(attribute)}. ${attribute.outside === "other" ? "Any other text counts as “other”. " : ""}${mayStayEmpty(attribute)}`,
    wanted: (attribute) => `Please write ${textsFor(attribute)}.`,
    answer: only,
    inOwnWords: categoryOf,
  },
};

/** The form of an attribute. */
export const formOf = ({ kind }) => FORMS[kind.name];
