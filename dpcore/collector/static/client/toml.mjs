/** The canonical scheme is TOML of few forms: tables, texts, whole numbers, lists of them, one entry to a line. */

import { SchemeError } from "./errors.mjs";

const LITERAL = /"(?:[^"\\\u0000-\u0008\u000a-\u001f\u007f]|\\[btnfr"\\]|\\u(?!d[89a-f])[\da-f]{4})*"/iy; // no half of a pair

/** The tables of a canonical scheme as Maps of Maps; throws SchemeError for anything a canonical scheme does not use. */
export function parseToml(text) {
  const root = new Map();
  const headers = new Map();
  let table = root;
  let at = 0;
  const fail = () => { throw new SchemeError(`the scheme is not valid TOML near character ${at}`); };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found && found[0];
  };
  const blank = () => match(/[ \t\n]*/y);
  const literal = () => match(LITERAL)?.replaceAll("\t", "\\t"); // a tab stands for itself
  const key = () => match(/[A-Za-z0-9_-]+/y) ?? JSON.parse(literal() ?? fail());
  const value = () => {
    const written = literal();
    if (written) return JSON.parse(written);
    const digits = match(/-?(?:0|[1-9]\d*)/y);
    if (digits) return Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
    if (!match(/\[/y)) fail();
    const list = [];
    for (blank(); !match(/\]/y); blank()) {
      list.push(value());
      blank();
      if (!match(/,/y) && text[at] !== "]") fail();
    }
    return list;
  };
  const put = (parent, name, entry) => {
    if (parent.has(name)) fail();
    parent.set(name, entry);
    return entry;
  };
  for (blank(); at < text.length; blank()) {
    if (match(/\[/y)) {
      table = root;
      const path = [];
      do {
        const name = key();
        path.push(name);
        table = table.get(name) instanceof Map ? table.get(name) : put(table, name, new Map());
      } while (match(/\./y));
      match(/\]/y) ?? fail();
      put(headers, JSON.stringify(path), table);
    } else {
      const name = key();
      match(/ = /y) ?? fail();
      put(table, name, value());
    }
    match(/\n/y) ?? fail();
  }
  return root;
}
