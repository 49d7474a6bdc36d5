/** The scheme: read from a bundle, of which every file is checked, and every promise. */

import { hex, parseJson, sha256 } from "./bytes.mjs";
import { domainOf, oneOf } from "./domain.mjs";
import { SchemeError } from "./errors.mjs";
import * as MECHANISMS from "./mechanisms.mjs";
import { epsilonOf, toDouble } from "./numbers.mjs";
import { isKept, promiseOf } from "./promise.mjs";
import { parseToml } from "./toml.mjs";

export const FORMAT = 1;
export const DRAWS = 1; // how words become answers; a scheme that does not say is of the first version
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
  const document = await named("scheme.toml", () => parseToml(new TextDecoder("utf-8", { fatal: true }).decode(text)));
  if (document.get("format") !== FORMAT) throw new SchemeError("the scheme is of another format");
  const draws = document.get("draws") ?? 1;
  if (draws !== DRAWS) throw new SchemeError(`the scheme's answers are drawn by version ${draws}, and this client knows ${DRAWS} alone`);
  const reporting = oneOf("reporting", document.get("reporting"), ["all", "one"]);
  const pairs = document.get("pairs");
  const asked = document.get("attributes");
  if (!(asked instanceof Map) || asked.size === 0) throw new SchemeError("a scheme needs at least one [attributes.NAME] table");
  const attributes = new Map();
  for (const [name, table] of asked) {
    const tables = [];
    const listed = Object.hasOwn(manifest.tables ?? {}, name) ? manifest.tables[name] : [];
    for (const { file, shape, sha256: stated } of listed) {
      const bytes = await read(file);
      if (hex(await sha256(bytes)) !== stated) throw new SchemeError(`${file} is not what the manifest says`);
      tables.push(readTable(bytes, shape));
    }
    attributes.set(name, await named(name, () => makeAttribute(name, table, tables)));
  }
  const types = [...attributes.values()].map(({ name, type }) => [name, type]);
  const isPair = (pair) => Array.isArray(pair) && String(pair.map((name) => new Map(types).get(name))) === "numeric,categorical";
  if (!Array.isArray(pairs) || !pairs.every(isPair)) throw new SchemeError("pairs must list [NUMERIC, CATEGORICAL] attributes");
  return {
    digest: found,
    name: document.get("name"),
    description: document.get("description"),
    reporting,
    attributes,
    units: unitsOf([...attributes.keys()], pairs),
  };
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
  const [type, kind, stated, client] = ["type", "mechanism", "epsilon", "client"].map((key) => table.get(key));
  oneOf("type", type, ["numeric", "categorical"]);
  oneOf("mechanism", kind, Object.keys(MECHANISMS));
  const promise = promiseOf(stated);
  const domain = domainOf(table);
  if (!(client instanceof Map)) throw new SchemeError("client must be a table of the mechanism's integers");
  const mechanism = { levels: 1, drawLevel: () => 0, check: () => {}, ...await MECHANISMS[kind](client, tables) };
  if (!isKept(mechanism.kept, promise)) {
    const [what, limit] = mechanism.kept.ratio ? ["ratio", "e^epsilon"] : ["loss", "epsilon"];
    const found = toDouble(...mechanism.kept[what]);
    throw new SchemeError(`integers of ${kind} give a ${what} of ${found} and exceed ${limit} at epsilon = ${stated}`);
  }
  mechanism.check();
  const count = domain.categories.length;
  if (count && mechanism.inputs !== count) {
    throw new SchemeError(`client.categories must be ${count}, the number of categories, got ${mechanism.inputs}`);
  }
  return {
    name,
    type,
    column: table.get("column"),
    unit: table.get("unit") ?? "",
    mechanismName: kind,
    stated,
    epsilon: epsilonOf(stated),
    mechanism,
    ...domain,
  };
}
