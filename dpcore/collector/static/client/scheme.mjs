/** The scheme: read from a bundle, of which every file is checked, and every promise. */

import { hex, parseJson, sha256 } from "./bytes.mjs";
import { SchemeError } from "./errors.mjs";
import * as MECHANISMS from "./mechanisms.mjs";
import { epsilonOf, rational, toDouble } from "./numbers.mjs";
import { isKept, promiseOf } from "./promise.mjs";
import { parseToml } from "./toml.mjs";

export const FORMAT = 1;
export const DRAWS = 1; // how words become answers; a scheme that does not say is of the first version
const REPORTING = ["all", "one"];

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
  const document = parseToml(new TextDecoder("utf-8", { fatal: true }).decode(text));
  if (document.get("format") !== FORMAT) throw new SchemeError("the scheme is of another format");
  const draws = document.get("draws") ?? 1;
  if (draws !== DRAWS) throw new SchemeError(`the scheme's answers are drawn by version ${draws}, and this client knows ${DRAWS} alone`);
  if (!REPORTING.includes(document.get("reporting"))) {
    throw new SchemeError(`reporting must be one of ${REPORTING}; got ${document.get("reporting")}`);
  }
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
    attributes.set(name, await makeAttribute(name, table, tables));
  }
  return {
    digest: found,
    name: document.get("name"),
    description: document.get("description"),
    reporting: document.get("reporting"),
    attributes,
    units: unitsOf([...attributes.keys()], document.get("pairs")),
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
  if (bytes.length !== 4 * rows * columns) throw new SchemeError("a table is not of the shape that the manifest says");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return { rows, columns, values: Int32Array.from({ length: rows * columns }, (_, i) => view.getInt32(4 * i, true)) };
}

/** What some work gives; a SchemeError of it says whose it is. */
async function named(name, work) {
  try {
    return await work();
  } catch (error) {
    throw error instanceof SchemeError ? new SchemeError(`${name}: ${error.message}`) : error;
  }
}

async function makeAttribute(name, table, tables) {
  const promise = await named(name, () => promiseOf(table.get("epsilon")));
  const kind = MECHANISMS[table.get("mechanism")];
  if (!kind) throw new SchemeError(`${name}: this client does not know the mechanism ${table.get("mechanism")}`);
  const client = table.get("client");
  if (!(client instanceof Map)) throw new SchemeError(`${name}: client must be a table of the mechanism's integers`);
  const mechanism = { levels: 1, drawLevel: () => 0, check: () => {}, ...await named(name, () => kind(client, tables)) };
  if (!isKept(mechanism.kept, promise)) {
    const [what, limit] = mechanism.kept.ratio ? ["ratio", "e^epsilon"] : ["loss", "epsilon"];
    const found = toDouble(...mechanism.kept[what]);
    throw new SchemeError(
      `${name}: integers of ${table.get("mechanism")} give a ${what} of ${found} and exceed ${limit} at epsilon = ${table.get("epsilon")}`,
    );
  }
  await named(name, mechanism.check);
  const attribute = {
    name,
    type: table.get("type"),
    column: table.get("column"),
    unit: table.get("unit") ?? "",
    outside: table.get("outside") ?? "refuse",
    missing: table.get("missing"),
    categories: table.get("categories") ?? [],
    mechanismName: table.get("mechanism"),
    stated: table.get("epsilon"),
    epsilon: epsilonOf(table.get("epsilon")),
    mechanism,
  };
  if (attribute.type === "numeric") {
    const [lower, upper] = [rational(table.get("lower")), rational(table.get("upper"))];
    attribute.lower = toDouble(...lower);
    attribute.upper = toDouble(...upper);
    attribute.width = toDouble(upper[0] * lower[1] - lower[0] * upper[1], upper[1] * lower[1]);
  } else {
    attribute.texts = new Map(attribute.categories.map((label, position) => [label, position]));
    for (const [code, label] of table.get("codes")) attribute.texts.set(code, attribute.categories.indexOf(label));
    attribute.numbers = new Map();
    for (const [spelling, position] of attribute.texts) {
      if (/^-?\d+$/.test(spelling) && !attribute.numbers.has(Number(spelling))) attribute.numbers.set(Number(spelling), position);
    }
    if (mechanism.inputs !== attribute.categories.length) {
      const count = attribute.categories.length;
      throw new SchemeError(`${name}: client.categories must be ${count}, the number of categories, got ${mechanism.inputs}`);
    }
  }
  return attribute;
}
