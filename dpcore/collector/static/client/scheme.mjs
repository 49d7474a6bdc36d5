/** The scheme: read from a bundle, of which every file is checked, and every promise. */

import { hex, parseJson, sha256 } from "./bytes.mjs";
import { SchemeError } from "./errors.mjs";
import * as MECHANISMS from "./mechanisms.mjs";
import { epsilonOf, rational, toDouble } from "./numbers.mjs";
import { parseToml } from "./toml.mjs";

export const FORMAT = 1;
export const DRAWS = 1; // how words become answers; a scheme that does not say is of the first version
const TOLERANCE = 1e-9; // of logarithms, when a promise is checked

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
  const attributes = new Map();
  for (const [name, table] of document.get("attributes")) {
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

async function makeAttribute(name, table, tables) {
  const kind = MECHANISMS[table.get("mechanism")];
  if (!kind) throw new SchemeError(`${name}: this client does not know the mechanism ${table.get("mechanism")}`);
  const epsilon = epsilonOf(table.get("epsilon"));
  const mechanism = { levels: 1, drawLevel: () => 0, ...await kind(table.get("client"), tables) };
  if (!(mechanism.loss <= epsilon * (1 + TOLERANCE))) {
    throw new SchemeError(`${name}: its integers give a loss of ${mechanism.loss}, more than epsilon = ${table.get("epsilon")}`);
  }
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
    epsilon,
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
    if (mechanism.inputs !== attribute.categories.length) throw new SchemeError(`${name}: categories and integers disagree`);
  }
  return attribute;
}
