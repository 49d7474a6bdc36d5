/** Texts of which no list exists: their normalization, and their symbols, padded so that no length shows. */

import { utf8 } from "../bytes.mjs";
import { isPrintable } from "../entries.mjs";
import { InvalidRecord, SchemeError } from "../errors.mjs";
import { checkClient } from "../mechanisms/checks.mjs";
import { isAbsent, valueIn } from "./basic.mjs";

const MOST_LABEL_CELLS = 31; // combinations of labels for which texts are counted
const FORBIDDEN = /[\p{Cc}\p{Surrogate}\u200e\u200f\u2028-\u202e\u2066-\u2069]/u; // of terminals, lines and directions

export const TEXT = {
  name: "text",
  type: "text",
  unpaired: "a text",
  domain: textsIn,
  check: ({ bytes, maxBytes }, name, inputs, client) => checkClient(client, { symbols: bytes.length, length: maxBytes }),
  checkLabels(cells) {
    if (cells > MOST_LABEL_CELLS) throw new SchemeError(`texts are counted for at most ${MOST_LABEL_CELLS} combinations of labels, and there are ${cells}`);
  },
  cellOf(attribute, record) {
    const value = valueIn(attribute, record);
    return cellOfText(attribute, isAbsent(value) ? "" : value);
  },
};

function textsIn(entries) {
  const keys = ["alphabet", "max_bytes", "normalize", "outside", "missing", "functionals"];
  const [alphabet, maxBytes, normalize, outside, missing, functionals] = keys.map((key) => entries.get(key));
  if (functionals?.length) throw new SchemeError("functionals are of numbers, and texts have none");
  const characters = new Set(alphabet);
  if (characters.size < [...alphabet].length || ![...characters].every(isPrintable)) {
    throw new SchemeError("alphabet must be different printable characters");
  }
  const faultless = [...(alphabet || "a")].some((one) => one !== " " && utf8(one).length <= maxBytes);
  const used = alphabet ? new Set(utf8(alphabet)) : Array(256).keys();
  const bytes = [...used].filter(Boolean).sort((a, b) => a - b); // the first of them is symbol 1
  const texts = { alphabet, maxBytes, normalize, characters, bytes };
  const domain = { unit: "", categories: [], outside, missing, ...texts };
  if (!faultless) throw new SchemeError(`max_bytes = ${maxBytes} is shorter than every character of alphabet, but for a blank`);
  const changed = [...characters].find((character) => character !== " " && normalized(domain, character) !== character);
  if (changed !== undefined) throw new SchemeError(`alphabet: normalization changes '${changed}', so no text has it`);
  if (outside === "other" && (normalized(domain, "other") !== "other" || faultOf(domain, "other"))) {
    throw new SchemeError('outside = "other" needs an alphabet and max_bytes that allow the text \'other\'');
  }
  return domain;
}

/** A text in Unicode form NFC, without capitals, and with one blank between words, as the attribute asks. */
function normalized({ normalize }, text) {
  const [composed, lower, spaced] = ["nfc", "case", "blanks"].map((step) => normalize.includes(step));
  const compose = (one) => (composed ? one.normalize("NFC") : one);
  const cased = lower ? compose(compose(text).toLowerCase()) : compose(text);
  return spaced ? cased.replace(/\s+/g, " ").trim() : cased;
}

/** What a normalized text should be and is not; "" if nothing is wrong. */
function faultOf({ alphabet, characters, maxBytes }, text) {
  if (FORBIDDEN.test(text) || (alphabet && [...text].some((one) => !characters.has(one)))) {
    return alphabet ? "characters of alphabet" : "a text without control characters";
  }
  return utf8(text).length > maxBytes ? `at most ${maxBytes} bytes` : "";
}

/** The symbols of a value, max_bytes of them; 0 after the last.  Value: "" for none.  Throws InvalidRecord. */
function cellOfText(attribute, value) {
  const { name, missing, outside, bytes, maxBytes } = attribute;
  if (typeof value === "object") throw new InvalidRecord(name, "expected a text or a number");
  const isText = typeof value !== "number" || Number.isSafeInteger(value); // beyond, no double says which number was meant
  const text = isText ? normalized(attribute, String(value)) : "\0";
  const isAbsent = text === "" || (missing === "category" && text === "missing");
  if (isAbsent && missing === "refuse") throw new InvalidRecord(name, "expected an answer");
  const fault = isAbsent ? "" : faultOf(attribute, text);
  if (fault && outside === "refuse") throw new InvalidRecord(name, `expected ${fault}`);
  const written = utf8(isAbsent ? "" : fault ? "other" : text);
  return Array.from({ length: maxBytes }, (_, place) => bytes.indexOf(written[place]) + 1);
}
