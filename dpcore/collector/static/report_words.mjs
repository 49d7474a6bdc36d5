/** What a report says, in words. */

import { categoryOf } from "./elements.mjs";

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
    case "text_hashing": return `${hashed}, where x is a hash of the text${mechanism.lengths[level] < attribute.maxBytes ? `’s first ${mechanism.lengths[level]} bytes` : ""}`;
    case "crossed_wave": return `${["Of the place", "Of the product", "Of the first", "Of the second"][level]}, cell ${values[0] + 1} of ${high + 1}`;
    case "wavelet_laplace": return `${scale}${values.length} numbers with noise: ${values.slice(0, 2).map((v) => number(v).replace("-", "−")).join("; ")}${values.length > 2 ? "; …" : ""}`;
    default: return `${scale}cell ${values[0] + 1 - low} of ${high - low + 1}`.replace(/^./, (letter) => letter.toUpperCase());
  }
}
