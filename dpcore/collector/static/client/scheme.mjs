/** The scheme: read from a bundle, of which every file is checked, and every promise. */

import { hex, parseJson, sha256, textOf } from "./bytes.mjs";
import { checkTitle, entriesOf, oneOf, printable } from "./entries.mjs";
import { SchemeError } from "./errors.mjs";
import { TABLES } from "./keys.mjs";
import { kindOf } from "./kinds.mjs";
import { checkLabels, labelOf } from "./labels.mjs";
import * as MECHANISMS from "./mechanisms.mjs";
import { epsilonOf, toDouble } from "./numbers.mjs";
import { isKept, promiseOf } from "./promise.mjs";
import { parseToml } from "./toml.mjs";

export const FORMAT = 1;
export const DRAWS = 1; // how words become answers; a scheme that does not say is of the first version
const MOST_ENTRIES = 2 ** 22; // of a pair's joint counts
const MOST_LABELLED = 2 ** 24; // and of those of all combinations of labels
const NAME = /^[a-z][a-z0-9_-]{0,62}$/;
const ATTRIBUTE_NAME = /^[a-z][a-z0-9_]{0,62}$/;

/** The scheme in a bundle that lies at a URL; digest: what it must be, where it is known from elsewhere. */
export async function fetchBundle(url, digest) {
  const base = new URL(url, globalThis.location?.href);
  return openBundle(async (name) => {
    const answer = await fetch(new URL(name, base));
    if (!answer.ok) throw new SchemeError(`${name} cannot be read (${answer.status})`);
    return new Uint8Array(await answer.arrayBuffer());
  }, digest);
}

/** The scheme in a bundle; read: from a file's name to its bytes (a promise of a Uint8Array). */
export async function openBundle(read, digest) {
  const text = await read("scheme.toml");
  const found = hex(await sha256(text));
  const manifest = parseJson(await read("manifest.json"));
  if (manifest?.digest !== found || (digest !== undefined && digest !== found)) {
    throw new SchemeError(`the scheme's digest is ${found}, expected ${digest ?? manifest?.digest}`);
  }
  const document = await named("scheme.toml", () => parseToml(textOf(text)));
  if (document.get("format") !== FORMAT) throw new SchemeError("the scheme is of another format");
  const draws = document.get("draws") ?? 1;
  if (draws !== DRAWS) throw new SchemeError(`the scheme's answers are drawn by version ${draws}, and this client knows ${DRAWS} alone`);
  const entries = await named("the scheme", () => entriesOf(TABLES.scheme, document));
  const [name, reporting, pairs, asked, clear = new Map()] = ["name", "reporting", "pairs", "attributes", "labels"].map((key) => entries.get(key));
  if (!NAME.test(name)) throw new SchemeError("name must be lower-case letters, digits, - and _, the first a letter and 63 at most");
  if (!(asked instanceof Map) || asked.size === 0) throw new SchemeError("a scheme needs at least one [attributes.NAME] table");
  const attributes = new Map();
  for (const [key, table] of asked) {
    const tables = [];
    const listed = Object.hasOwn(manifest.tables ?? {}, key) ? manifest.tables[key] : [];
    for (const { file, shape, sha256: stated } of listed) {
      const bytes = await read(file);
      if (hex(await sha256(bytes)) !== stated) throw new SchemeError(`${file} is not what the manifest says`);
      tables.push(readTable(bytes, shape));
    }
    attributes.set(key, await named(key, () => makeAttribute(key, table, tables)));
  }
  if (!(clear instanceof Map)) throw new SchemeError("labels must be tables, [labels.NAME] each");
  const labels = new Map();
  for (const [key, table] of clear) labels.set(key, await named(`labels.${key}`, () => labelOf(key, table)));
  checkLabels(labels, attributes);
  const reported = new Map([...attributes, ...labels]);
  checkColumns(reported);
  checkPairs(pairs, attributes, [...labels.values()].reduce((product, { mechanism }) => product * mechanism.inputs, 1));
  return {
    digest: found,
    name,
    description: entries.get("description"),
    reporting,
    attributes,
    labels,
    reported,
    units: unitsOf([...attributes.keys()], pairs),
  };
}

/** Throws SchemeError where a column of reports would have two meanings. */
function checkColumns(attributes) {
  for (const { name, mechanism } of attributes.values()) {
    const taken = [`${name}_level`, `${name}_values`].find((column) => attributes.has(column));
    const isPlain = mechanism.levels === 1 && mechanism.ranges(0).length === 1;
    if (taken && !isPlain) {
      throw new SchemeError(`attributes ${name} and ${taken}: report files have a column ${taken} for ${name}; rename one attribute`);
    }
  }
}

/** Throws SchemeError where joint counts cannot be kept; cells: how many combinations of labels there are. */
function checkPairs(pairs, attributes, cells) {
  for (const pair of pairs) {
    if (pair.length !== 2 || pair[0] === pair[1] || !pair.every((name) => attributes.has(name))) {
      throw new SchemeError("pairs must list two different attributes each");
    }
    const other = pair.map((name) => attributes.get(name)).find(({ kind }) => kind.unpaired);
    if (other) throw new SchemeError(`the pair ${pair.join(", ")}: ${other.name} is ${other.kind.unpaired}, which cannot be part of a pair`);
    const mechanisms = pair.map((name) => attributes.get(name).mechanism);
    const entries = mechanisms[0].statistics * mechanisms[1].statistics;
    if (entries > MOST_ENTRIES || entries * cells > MOST_LABELLED) {
      throw new SchemeError(`the pair ${pair.join(", ")} needs a table of ${entries} counts for each of ${cells} combinations of labels`);
    }
    if (mechanisms.some((one) => one.isNoisy) && !mechanisms.some(countsOutputs)) {
      throw new SchemeError(`the pair ${pair.join(", ")} cannot be counted: noisy numbers go with reports of one output alone`);
    }
  }
  if (new Set(pairs.map((pair) => String([...pair].sort()))).size < pairs.length) throw new SchemeError("pairs must differ, whatever their order");
}

/** Whether a report is one integer, and statistics are how many reports said it. */
function countsOutputs({ levels, ranges, statistics }) {
  const reports = Array.from({ length: levels }, (_, level) => ranges(level));
  return reports.every((range) => range.length === 1) && reports.reduce((sum, [[, highest]]) => sum + highest + 1, 0) === statistics;
}

/** What a client draws one of where reporting is "one": an attribute, or all that pairs tie together. */
function unitsOf(names, pairs) {
  let groups = names.map((name) => new Set([name]));
  for (const pair of pairs) {
    const tied = groups.filter((group) => pair.some((name) => group.has(name)));
    groups = groups.filter((group) => !tied.includes(group));
    groups.push(new Set(tied.flatMap((group) => [...group])));
  }
  const sorted = groups.map((group) => names.filter((name) => group.has(name)));
  return sorted.sort((a, b) => names.indexOf(a[0]) - names.indexOf(b[0]));
}

function readTable(bytes, shape) {
  const [rows, columns] = shape;
  const isShape = [rows, columns].every((size) => Number.isInteger(size) && size >= 1);
  if (!isShape || bytes.length !== 4 * rows * columns) throw new SchemeError("a table is not of the shape that the manifest says");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return { rows, columns, values: Int32Array.from({ length: rows * columns }, (_, i) => view.getInt32(4 * i, true)) };
}

/** What some work gives; a SchemeError of it says whose it is. */
async function named(name, work) {
  try {
    return await work();
  } catch (error) {
    throw new SchemeError(`${name}: ${error instanceof SchemeError ? error.message : `is not what a scheme holds (${error.message})`}`);
  }
}

async function makeAttribute(name, table, tables) {
  if (!(table instanceof Map) || !ATTRIBUTE_NAME.test(name)) {
    throw new SchemeError("an attribute must be a table whose name is lower-case letters, digits and _");
  }
  const type = oneOf("type", table.get("type"), TABLES.numeric.type.choices);
  const kind = kindOf(type, table);
  const mechanismName = table.get("mechanism");
  const entries = entriesOf({ ...TABLES[kind.name], ...TABLES[mechanismName] }, table);
  const [stated, client, column = name] = ["epsilon", "client", "column"].map((key) => entries.get(key));
  const promise = promiseOf(stated);
  printable("column", column);
  if (table.has("title")) checkTitle("title", table.get("title"));
  const domain = kind.domain(entries, new Set(table.keys()));
  if (!(client instanceof Map)) throw new SchemeError("client must be a table of the mechanism's integers");
  const made = await MECHANISMS[mechanismName](client, tables);
  const mechanism = { levels: 1, drawLevel: () => 0, check: () => {}, statistics: made.inputs, ...made };
  if (!isKept(mechanism.kept, promise)) {
    const [what, limit] = mechanism.kept.ratio ? ["ratio", "e^epsilon"] : ["loss", "epsilon"];
    const found = toDouble(...mechanism.kept[what]);
    throw new SchemeError(`integers of ${mechanismName} give a ${what} of ${found} and exceed ${limit} at epsilon = ${stated}`);
  }
  mechanism.check();
  kind.check?.(domain, mechanismName, mechanism.inputs, client);
  domain.sides?.forEach((side, i) => Object.assign(side, {
    name: `${name}.${side.column}`, key: `${name}-${i + 1}`, mechanism: { inputs: kind.inputsOfSide(side, mechanism.inputs) },
  }));
  return { name, type, kind, column, title: entries.get("title"), mechanismName, stated, epsilon: epsilonOf(stated), mechanism, ...domain };
}
