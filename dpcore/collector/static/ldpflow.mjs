/**
 * The browser client: turns one record into one report, on the device of the person it is about.
 *
 * It reads a client bundle (`ldpflow scheme FILE` writes one): the canonical scheme, whose SHA-256 is the digest, and the
 * integer tables whose SHA-256 the scheme states.  Nothing else is trusted, no formula is evaluated but the exact checks, and
 * for the same words it gives the same bytes as `dpcore.client` and `dpcore.wire`; tests/vectors hold both to it.
 *
 *     const scheme = await fetchBundle("bundle/", "857403f1...");
 *     const report = await new Client(scheme).report({ income: 41000 }, "2026-11-20");
 *     await fetch("reports", { method: "POST", body: writeReport(report, scheme) });
 */

export const FORMAT = 1;
export const DRAWS = 1; // how words become answers; a scheme that does not say is of the first version
export const REASONS = [
  "too_large", "not_json", "unknown_key", "missing_key", "wrong_type", "unknown_format", "wrong_scheme", "malformed_id",
  "malformed_token", "malformed_round", "malformed_payload", "incomplete", "wrong_unit", "wrong_length", "unknown_level",
  "wrong_level", "out_of_range", "not_canonical",
];

const WORD = 2 ** 32;
const NAME_BYTES = 16;
const LEVEL_TOTAL = 1 << 16;
const TAIL = 45; // an honest |noise| exceeds 45 t with probability below 2^-64
const BATCH = 1 << 15; // proposals of noise at a time
const TOLERANCE = 1e-9; // of logarithms, when a promise is checked

/** The scheme, or a file of its bundle, is not what it says, or does not keep its promise. */
export class SchemeError extends Error {}
/** A record that the scheme does not allow; nothing has been drawn.  Never shows a value. */
export class InvalidRecord extends Error {
  constructor(attribute, expected) {
    super(`${attribute}: ${expected}`);
    this.attribute = attribute;
  }
}
/** A report that is not taken, with one of REASONS. */
export class RefusedReport extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Randomness: a source has words(count), a Uint32Array of independent uniform words.

/** The browser's own randomness: what every real client uses. */
export function secure() {
  return {
    words(count) {
      const drawn = new Uint32Array(count);
      for (let first = 0; first < count; first += 1 << 14) crypto.getRandomValues(drawn.subarray(first, first + (1 << 14)));
      return drawn;
    },
  };
}

/** Given words, in order: for tests.  Runs out with an error. */
export function given(words) {
  let next = 0;
  return {
    words(count) {
      if (next + count > words.length) throw new RangeError("the given words are used up");
      next += count;
      return Uint32Array.from(words.slice(next - count, next));
    },
    used: () => next,
  };
}

/** count uniform integers in [0, bound), exact: words at or above the last multiple of the bound are drawn again. */
function below(source, bound, count) {
  const limit = WORD - (WORD % bound);
  const drawn = Array.from(source.words(count));
  let late = [...drawn.keys()].filter((i) => drawn[i] >= limit);
  while (late.length) {
    const again = source.words(late.length);
    late.forEach((i, position) => { drawn[i] = again[position]; });
    late = late.filter((i) => drawn[i] >= limit);
  }
  return drawn.map((word) => word % bound);
}

const one = (source, bound) => below(source, bound, 1)[0];

/** The stream of a key (bytes) and labels (texts), SHA-256 in counter mode: the first `blocks` x 8 words of it. */
export async function keyed(key, labels, blocks = 8) {
  const framed = labels.map(utf8).flatMap((label) => [littleEndian(label.length, 4), label]);
  const seed = await sha256(join([littleEndian(key.length, 4), key, ...framed]));
  const parts = [];
  for (let counter = 0; counter < blocks; counter += 1) parts.push(await sha256(join([seed, littleEndian(counter, 8)])));
  const view = new DataView(join(parts).buffer);
  return given(Array.from({ length: 8 * blocks }, (_, i) => view.getUint32(4 * i, true)));
}

// ---------------------------------------------------------------------------------------------------------------------
// The scheme

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
  const mechanism = await kind(table.get("client"), tables);
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

/** "0.5", "1/3", "ln 3", "2 + ln 3/2" as a number. */
export function epsilonOf(text) {
  return text.split(" + ").reduce((sum, part) => {
    const [top, bottom = 1] = part.replace(/^ln /, "").split("/").map(Number);
    return sum + (part.startsWith("ln ") ? Math.log(top / bottom) : top / bottom);
  }, 0);
}

// ---------------------------------------------------------------------------------------------------------------------
// From values to input cells

/** The input cell of an attribute's value in a record; throws InvalidRecord. */
export function cellOf(attribute, record) {
  const key = [attribute.column, attribute.name].find((name) => Object.hasOwn(record, name));
  if (key === undefined) throw new InvalidRecord(attribute.name, "is missing from the record");
  return attribute.type === "numeric" ? cellOfNumber(attribute, record[key]) : cellOfCategory(attribute, record[key]);
}

function cellOfNumber(attribute, value) {
  const isNumeral = typeof value === "string" && /^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*$/.test(value);
  const x = isNumeral ? Number(value) : value;
  if (typeof x !== "number" || Number.isNaN(x)) throw new InvalidRecord(attribute.name, "expected a number");
  if (attribute.outside === "refuse" && (x < attribute.lower || x > attribute.upper)) {
    throw new InvalidRecord(attribute.name, `expected a number from ${attribute.lower} to ${attribute.upper}`);
  }
  const share = (Math.min(Math.max(x, attribute.lower), attribute.upper) - attribute.lower) / attribute.width;
  return Math.min(Math.trunc(share * attribute.mechanism.inputs), attribute.mechanism.inputs - 1);
}

function cellOfCategory(attribute, value) {
  const known = typeof value === "number" ? attribute.numbers.get(value) : attribute.texts.get(value);
  if (known !== undefined) return known;
  if (value !== null && typeof value === "object") throw new InvalidRecord(attribute.name, "expected a text or a number");
  if (value === null || value === undefined || value === "" || Number.isNaN(value)) {
    if (attribute.missing === "category") return attribute.categories.indexOf("missing");
    throw new InvalidRecord(attribute.name, "expected an answer");
  }
  if (attribute.outside === "other") return attribute.categories.indexOf("other");
  throw new InvalidRecord(attribute.name, "expected one of the categories");
}

// ---------------------------------------------------------------------------------------------------------------------
// The client

/** The token of a client under a scheme: a keyed hash of the digest; secret: at least 16 bytes, which never leave. */
export async function tokenOf(secret, digest) {
  if (secret.length < NAME_BYTES) throw new RangeError("a secret has at least 16 bytes");
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signed = await crypto.subtle.sign("HMAC", key, utf8(`ldpflow token\0${digest}`));
  return toText(new Uint8Array(signed).subarray(0, NAME_BYTES));
}

/** The attributes that a token's client answers, in the scheme's order, and the level of each: a Map. */
export async function publicLevels(scheme, token) {
  const key = await sha256(utf8(token));
  const stream = (label) => keyed(key, [scheme.digest, label]);
  const all = [...scheme.attributes.keys()];
  const names = scheme.reporting === "all" ? all : scheme.units[one(await stream(""), scheme.units.length)];
  const levels = new Map();
  for (const name of names) levels.set(name, scheme.attributes.get(name).mechanism.drawLevel(await stream(name)));
  return levels;
}

export class Client {
  /** random: a source; token: what `tokenOf` makes, or null. */
  constructor(scheme, { random = secure(), token = null } = {}) {
    this.scheme = scheme;
    this.random = random;
    this.token = token;
  }

  /** The report of one record; every call spends the scheme's epsilon.  Throws InvalidRecord with nothing drawn. */
  async report(record, round = "") {
    const { scheme, random, token } = this;
    const cells = new Map([...scheme.attributes.values()].map((attribute) => [attribute.name, cellOf(attribute, record)]));
    const fixed = token === null ? null : await publicLevels(scheme, token);
    const id = join(Array.from(random.words(NAME_BYTES / 4), (word) => littleEndian(word, 4)));
    const drawUnit = () => (scheme.reporting === "all" ? [...cells.keys()] : scheme.units[one(random, scheme.units.length)]);
    const answers = new Map();
    for (const name of fixed ? fixed.keys() : drawUnit()) {
      const { mechanism } = scheme.attributes.get(name);
      const level = fixed ? fixed.get(name) : mechanism.drawLevel(random);
      answers.set(name, { level, values: mechanism.privatize(cells.get(name), level, random) });
    }
    return { digest: scheme.digest, answers, id: toText(id), token, sentFor: round };
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The mechanisms, client halves.  Each has inputs, loss (what its integers keep, in natural-log units), drawLevel(source),
// privatize(cell, level, source) -> integers, and ranges(level) -> [lowest, highest] of each integer.

const oneLevel = () => 0;

function randomizedResponse(client) {
  const k = natural(client, "categories", 2);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(heavy + (k - 1) * light);
  return {
    inputs: k,
    levels: 1,
    loss: Math.log(heavy / light),
    drawLevel: oneLevel,
    ranges: () => [[0, k - 1]],
    privatize: (cell, level, source) => [otherThan(cell, one(source, total), heavy, light)],
  };
}

/** The truth for draws below `heavy`, else one of the others, in order, `light` draws to each. */
function otherThan(truth, drawn, heavy, light) {
  if (drawn < heavy) return truth;
  const other = Math.floor((drawn - heavy) / light);
  return other >= truth ? other + 1 : other;
}

function unaryEncoding(client) {
  const k = natural(client, "categories", 2);
  const coinBits = natural(client, "coin_bits", 1, 32);
  const total = 2 ** coinBits;
  const [yes, no] = weightPair(client.get("weight_true"), client.get("weight_other"));
  const size = Math.ceil(k / 32);
  const last = 2 ** (k - 32 * (size - 1)) - 1;
  return {
    inputs: k,
    levels: 1,
    loss: Math.log((yes / (total - yes)) / (no / (total - no))),
    drawLevel: oneLevel,
    ranges: () => Array.from({ length: size }, (_, i) => [0, i === size - 1 ? last : WORD - 1]),
    privatize(cell, level, source) {
      const less = new Uint32Array(size); // 32 comparisons of random bits with weight_other share a word
      for (let bit = 0; bit < coinBits; bit += 1) {
        const drawn = source.words(size);
        const isSet = Math.floor(no / 2 ** bit) % 2 === 1;
        for (let i = 0; i < size; i += 1) less[i] = isSet ? ~drawn[i] | less[i] : ~drawn[i] & less[i];
      }
      less[size - 1] &= last;
      const mask = 1 << cell % 32;
      const place = cell >> 5;
      less[place] = one(source, total) < yes ? less[place] | mask : less[place] & ~mask;
      return Array.from(less);
    },
  };
}

function subsetSelection(client) {
  const k = natural(client, "categories", 2);
  const size = natural(client, "size", 1, k - 1);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(size * heavy + (k - size) * light);
  return {
    inputs: k,
    levels: 1,
    loss: Math.log(heavy / light),
    isAscending: true,
    drawLevel: oneLevel,
    ranges: () => Array.from({ length: size }, () => [0, k - 1]),
    privatize(cell, level, source) {
      const holds = one(source, total) < size * heavy;
      const members = new Set();
      const skip = (number) => (number >= cell ? number + 1 : number); // the others in order, skipping the truth
      for (let t = k - 1 - size; t < k - 1; t += 1) { // Floyd's method; who holds the truth skips the first
        const drawn = skip(one(source, t + 1));
        const chosen = members.has(drawn) ? skip(t) : drawn;
        if (!(holds && t === k - 1 - size)) members.add(chosen);
      }
      if (holds) members.add(cell);
      return [...members].sort((a, b) => a - b);
    },
  };
}

function hadamardResponse(client) {
  const k = natural(client, "categories", 2);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(heavy + light);
  const columns = 2 ** (32 - Math.clz32(k - 1));
  return {
    inputs: k,
    levels: 1,
    loss: Math.log(heavy / light),
    drawLevel: oneLevel,
    ranges: () => [[0, 2 * columns - 1]],
    privatize(cell, level, source) {
      const column = one(source, columns);
      const out = Number(one(source, total) >= heavy);
      return [2 * column + (parity(cell & column) ^ out)];
    },
  };
}

function parity(value) {
  let bits = value;
  for (const shift of [16, 8, 4, 2, 1]) bits ^= bits >>> shift;
  return bits & 1;
}

function localHashing(client) {
  const k = natural(client, "categories", 2);
  const prime = natural(client, "prime", k, 65535);
  const bins = natural(client, "bins", 2, prime);
  const [heavy, light] = weightPair(client.get("weight_in"), client.get("weight_out"));
  const total = fits(heavy + (bins - 1) * light);
  return {
    inputs: k,
    levels: 1,
    loss: Math.log(heavy / light),
    drawLevel: oneLevel,
    ranges: () => [[1, prime - 1], [0, prime - 1], [0, bins - 1]],
    privatize(cell, level, source) {
      const slope = 1 + one(source, prime - 1);
      const shift = one(source, prime);
      const hashed = Math.floor((((slope * cell + shift) % prime) * bins) / prime);
      return [slope, shift, otherThan(hashed, one(source, total), heavy, light)];
    },
  };
}

/** One level of a square wave: a window of cells around the phase of the input cell, each with the heavier weight. */
function wave(cells, shift, window, isCircular, [heavy, light]) {
  if (window % 2 !== 1) throw new SchemeError("a window has an odd number of cells");
  const half = (window - 1) / 2;
  const outputs = isCircular ? cells : cells + 2 * half;
  const total = fits(window * heavy + (outputs - window) * light);
  return {
    outputs,
    loss: Math.log(heavy / light),
    draw(cell, source) {
      const phase = (cell >> shift) % cells;
      const start = isCircular ? (phase - half + cells) % cells : phase;
      const drawn = one(source, total);
      const inside = window * heavy;
      const step = drawn < inside ? Math.floor(drawn / heavy) : window + Math.floor((drawn - inside) / light);
      return (start + step) % outputs;
    },
  };
}

function waves(inputs, levels, law) {
  return {
    inputs,
    levels: levels.length,
    loss: Math.max(...levels.map((level) => level.loss)),
    drawLevel: (source) => (levels.length === 1 ? 0 : drawFrom(law, source)),
    ranges: (level) => [[0, levels[level].outputs - 1]],
    privatize: (cell, level, source) => [levels[level].draw(cell, source)],
  };
}

function dyadicWave(client) {
  const cells = natural(client, "cells", 2, 1024);
  const widths = client.get("widths");
  const finest = widths.length - 1;
  const pairs = widths.map((_, level) => weightPair(client.get("weights_in")[level], client.get("weights_out")[level]));
  const levels = widths.map((window, level) => wave(cells, finest - level, window, level > 0, pairs[level]));
  return waves(cells * 2 ** finest, levels, levelLaw(client.get("level_law"), levels.length));
}

function squareWave(client) {
  const cells = natural(client, "cells", 2, 1024);
  const pair = weightPair(client.get("weight_in"), client.get("weight_out"));
  return waves(cells, [wave(cells, 0, natural(client, "width", 1), false, pair)], null);
}

async function waveletLaplace(client, tables) {
  const cells = natural(client, "cells", 2);
  if (client.has("noise")) throw new SchemeError("this client draws Laplace noise only, and the scheme asks for another");
  const noise = client.get("noise_scales");
  const isSampled = client.get("allocation") === "sample";
  if (tables.length !== noise.length || tables.some((table) => table.rows !== cells)) {
    throw new SchemeError("the tables are not those of the scheme");
  }
  if (hex(await tablesDigest(tables)) !== client.get("table_sha256")) {
    throw new SchemeError("the tables are not those whose SHA-256 the scheme states");
  }
  if (noise.some((t) => !Number.isInteger(t) || t < 1 || t > WORD)) throw new SchemeError("a noise scale is out of range");
  const sensitivity = tables.map((table) => largestDistance([table], [1]));
  if (sensitivity.some((delta, block) => delta !== client.get("sensitivity")[block])) {
    throw new SchemeError("the sensitivity of the tables is not the stated one");
  }
  const law = isSampled ? levelLaw(client.get("level_law"), tables.length) : null;
  const joint = () => largestDistance(tables, noise.map((t) => 1 / t));
  const largest = tables.map((table) => table.values.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  const blocksOf = (level) => (isSampled ? [level] : [...tables.keys()]);
  return {
    inputs: cells,
    levels: isSampled ? tables.length : 1,
    loss: isSampled ? Math.max(...sensitivity.map((delta, block) => delta / noise[block])) : joint(),
    drawLevel: (source) => (isSampled ? drawFrom(law, source) : 0),
    ranges: (level) => blocksOf(level).flatMap((block) => {
      const limit = largest[block] + TAIL * noise[block];
      return Array.from({ length: tables[block].columns }, () => [-limit, limit]);
    }),
    privatize(cell, level, source) { // all noise is drawn before the record is looked at
      const blocks = blocksOf(level);
      const drawn = blocks.flatMap((block) => discreteLaplace(noise[block], tables[block].columns, source));
      const rows = blocks.flatMap((block) => {
        const { columns, values } = tables[block];
        return Array.from(values.subarray(cell * columns, (cell + 1) * columns));
      });
      return drawn.map((noisy, i) => noisy + rows[i]);
    },
  };
}

const MECHANISMS = {
  randomized_response: randomizedResponse,
  unary_encoding: unaryEncoding,
  subset_selection: subsetSelection,
  hadamard_response: hadamardResponse,
  local_hashing: localHashing,
  dyadic_wave: dyadicWave,
  square_wave: squareWave,
  wavelet_laplace: waveletLaplace,
};

/** The largest weighted l1 distance of two rows: pairs in descending order of what their norms allow, exact. */
function largestDistance(tables, weights) {
  const rows = Array.from({ length: tables[0].rows }, (_, row) => {
    const entries = [];
    let offset = 0;
    tables.forEach(({ columns, values }, block) => {
      for (let column = 0; column < columns; column += 1) {
        const value = values[row * columns + column];
        if (value !== 0) entries.push([offset + column, value * weights[block]]);
      }
      offset += columns;
    });
    return { entries, norm: entries.reduce((sum, [, value]) => sum + Math.abs(value), 0) };
  });
  rows.sort((a, b) => b.norm - a.norm);
  let best = 0;
  for (let i = 0; i < rows.length && rows[i].norm * 2 > best; i += 1) {
    for (let j = i + 1; j < rows.length && rows[i].norm + rows[j].norm > best; j += 1) {
      best = Math.max(best, distance(rows[i].entries, rows[j].entries));
    }
  }
  return best;
}

function distance(left, right) {
  let [i, j, sum] = [0, 0, 0];
  while (i < left.length || j < right.length) {
    const a = i < left.length ? left[i][0] : Infinity;
    const b = j < right.length ? right[j][0] : Infinity;
    sum += Math.abs((a <= b ? left[i][1] : 0) - (b <= a ? right[j][1] : 0));
    if (a <= b) i += 1;
    if (b <= a) j += 1;
  }
  return sum;
}

/** `size` draws with Pr(y) ~ exp(-|y| / t), exact [Canonne, Kamath, Steinke 2020, algorithm 2]. */
function discreteLaplace(t, size, source) {
  const drawn = [];
  while (drawn.length < size) {
    const missing = size - drawn.length;
    drawn.push(...propose(t, Math.min(BATCH, 2 * missing + 8), source).slice(0, missing));
  }
  return drawn;
}

function propose(t, count, source) {
  const all = below(source, t, count);
  const isKept = bernoulliExp(all, t, source);
  const u = all.filter((_, i) => isKept[i]);
  const successes = geometric(u.length, source);
  const signs = source.words(u.length);
  const values = [];
  u.forEach((rest, i) => {
    const magnitude = rest + t * successes[i];
    const isNegative = (signs[i] & 1) === 1;
    if (magnitude !== 0 || !isNegative) values.push(isNegative ? -magnitude : magnitude);
  });
  return values;
}

/** Bernoulli(exp(-u / t)) for each u: the first k at which Bernoulli(u / (t k)) fails is odd. */
function bernoulliExp(u, t, source) {
  const result = new Array(u.length).fill(false);
  let alive = [...u.keys()];
  for (let k = 1; alive.length; k += 1) {
    let goesOn;
    if (t * k <= WORD) {
      const drawn = below(source, t * k, alive.length);
      goesOn = alive.map((i, position) => drawn[position] < u[i]);
    } else {
      const [first, second] = [below(source, t, alive.length), below(source, k, alive.length)];
      goesOn = alive.map((i, position) => first[position] < u[i] && second[position] === 0);
    }
    if (k % 2) alive.forEach((i, position) => { if (!goesOn[position]) result[i] = true; });
    alive = alive.filter((_, position) => goesOn[position]);
  }
  return result;
}

/** How many Bernoulli(1/e) succeed before the first fails, `count` times. */
function geometric(count, source) {
  const successes = new Array(count).fill(0);
  let alive = [...successes.keys()];
  while (alive.length) {
    const isOne = bernoulliInverseE(alive.length, source);
    alive = alive.filter((_, position) => isOne[position]);
    alive.forEach((i) => { successes[i] += 1; });
  }
  return successes;
}

function bernoulliInverseE(count, source) {
  const result = new Array(count).fill(false);
  let alive = [...result.keys()];
  for (let k = 2; alive.length; k += 1) {
    const drawn = below(source, k, alive.length);
    if (k % 2) alive.forEach((i, position) => { if (drawn[position] !== 0) result[i] = true; });
    alive = alive.filter((_, position) => drawn[position] === 0);
  }
  return result;
}

function drawFrom(law, source) {
  const drawn = one(source, LEVEL_TOTAL);
  let level = 0;
  for (let end = law[0]; drawn >= end; end += law[level]) level += 1;
  return level;
}

function levelLaw(law, levels) {
  const isWhole = law.length === levels && law.every((weight) => Number.isInteger(weight) && weight >= 1);
  if (!isWhole || law.reduce((a, b) => a + b) !== LEVEL_TOTAL) throw new SchemeError("a level law is malformed");
  return law;
}

function natural(client, key, low, high = WORD) {
  const value = client.get(key);
  if (!Number.isInteger(value) || value < low || value > high) throw new SchemeError(`${key} is out of range`);
  return value;
}

function weightPair(heavy, light) {
  const areWhole = Number.isInteger(heavy) && Number.isInteger(light);
  if (!areWhole || light < 1 || heavy <= light) throw new SchemeError("weights must be whole, the first the larger");
  return [heavy, light];
}

function fits(total) {
  if (total > WORD) throw new SchemeError("weights do not fit 32 bits");
  return total;
}

// ---------------------------------------------------------------------------------------------------------------------
// The wire: one report as JSON, in one spelling

/** The bytes of one report, as text. */
export function writeReport(report, scheme) {
  const answers = {};
  for (const [name, { mechanism }] of scheme.attributes) {
    if (report.answers.has(name)) answers[name] = toText(pack(mechanism, report.answers.get(name)));
  }
  return spell(report, answers);
}

/** The report in some bytes (a Uint8Array or text); throws RefusedReport. */
export async function readReport(content, scheme) {
  const bytes = typeof content === "string" ? utf8(content) : content;
  if (bytes.length > mostBytes(scheme)) throw new RefusedReport("too_large");
  const document = parseJson(bytes);
  if (document === undefined || document === null || typeof document !== "object" || Array.isArray(document)) {
    throw new RefusedReport("not_json");
  }
  checkKeys(document);
  checkNames(document, scheme);
  const answers = await readAnswers(document, scheme);
  const report = {
    digest: document.scheme, answers, id: document.report, token: document.client ?? null, sentFor: document.round,
  };
  const payloads = Object.fromEntries([...answers.keys()].map((name) => [name, document.answers[name]]));
  if (!equal(utf8(spell(report, payloads)), bytes)) throw new RefusedReport("not_canonical");
  return report;
}

function spell(report, answers) {
  const document = { format: FORMAT, scheme: report.digest, report: report.id };
  if (report.token !== null) document.client = report.token;
  return JSON.stringify({ ...document, round: report.sentFor, answers });
}

function mostBytes(scheme) {
  const room = '{"format":1,"scheme":"","report":"","client":"","round":"","answers":{}}'.length + 64 + 22 + 22 + 63;
  return [...scheme.attributes.values()].reduce((sum, { name, mechanism }) => {
    const longest = Math.max(...Array.from({ length: mechanism.levels }, (_, level) => payloadBytes(mechanism, level)));
    return sum + `"${name}":"",`.length + Math.ceil((4 * longest) / 3);
  }, room);
}

const KEYS = ["format", "scheme", "report", "client", "round", "answers"];
const ROUND = /^(?:[0-9A-Za-z](?:[0-9A-Za-z._:-]{0,62})?)?$/;

function checkKeys(document) {
  const has = (key) => Object.hasOwn(document, key);
  if (Object.keys(document).some((key) => !KEYS.includes(key))) throw new RefusedReport("unknown_key");
  if (KEYS.some((key) => key !== "client" && !has(key))) throw new RefusedReport("missing_key");
  const { format, answers } = document;
  const areTexts = ["scheme", "report", "client", "round"].every((key) => !has(key) || typeof document[key] === "string");
  const isObject = answers !== null && typeof answers === "object" && !Array.isArray(answers);
  if (!areTexts || typeof format !== "number" || !isObject) throw new RefusedReport("wrong_type");
  if (Object.values(answers).some((answer) => typeof answer !== "string")) throw new RefusedReport("wrong_type");
}

function checkNames(document, scheme) {
  if (document.format !== FORMAT) throw new RefusedReport("unknown_format");
  if (document.scheme !== scheme.digest) throw new RefusedReport("wrong_scheme");
  if (!isName(document.report)) throw new RefusedReport("malformed_id");
  if (Object.hasOwn(document, "client") && !isName(document.client)) throw new RefusedReport("malformed_token");
  if (!ROUND.test(document.round)) throw new RefusedReport("malformed_round");
}

function isName(text) {
  const bytes = text.length === 22 ? fromText(text) : null;
  return bytes !== null && bytes.some((byte) => byte !== 0);
}

async function readAnswers(document, scheme) {
  const payloads = new Map(Object.entries(document.answers).map(([name, text]) => [name, fromText(text)]));
  if ([...payloads.values()].includes(null)) throw new RefusedReport("malformed_payload");
  const units = scheme.reporting === "one" ? scheme.units : [[...scheme.attributes.keys()]];
  const isWhole = (unit) => unit.length === payloads.size && unit.every((name) => payloads.has(name));
  if (!units.some(isWhole)) throw new RefusedReport("incomplete");
  const levels = Object.hasOwn(document, "client") ? await publicLevels(scheme, document.client) : null;
  if (levels && !isWhole([...levels.keys()])) throw new RefusedReport("wrong_unit");
  const answers = new Map();
  for (const [name, { mechanism }] of scheme.attributes) {
    if (!payloads.has(name)) continue;
    answers.set(name, unpack(mechanism, payloads.get(name)));
    if (levels && answers.get(name).level !== levels.get(name)) throw new RefusedReport("wrong_level");
  }
  return answers;
}

// The payload: the level, one byte where there are several, then every integer's distance from its lowest value.

function payloadBytes(mechanism, level) {
  return Number(mechanism.levels > 1) + mechanism.ranges(level).reduce((sum, range) => sum + bytesFor(range), 0);
}

function bytesFor([low, high]) {
  let bytes = 1;
  while (256 ** bytes <= high - low) bytes += 1;
  return bytes;
}

function pack(mechanism, { level, values }) {
  const ranges = mechanism.ranges(level);
  if (!accepts(mechanism, ranges, values)) throw new RefusedReport("out_of_range");
  const head = mechanism.levels > 1 ? [Uint8Array.of(level)] : [];
  return join([...head, ...values.map((value, i) => littleEndian(value - ranges[i][0], bytesFor(ranges[i])))]);
}

function unpack(mechanism, payload) {
  const head = Number(mechanism.levels > 1);
  if (payload.length < head) throw new RefusedReport("wrong_length");
  const level = head ? payload[0] : 0;
  if (level >= mechanism.levels) throw new RefusedReport("unknown_level");
  if (payload.length !== payloadBytes(mechanism, level)) throw new RefusedReport("wrong_length");
  const ranges = mechanism.ranges(level);
  let start = head;
  const values = ranges.map((range) => {
    const bytes = payload.subarray(start, start + bytesFor(range));
    start += bytes.length;
    return range[0] + bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
  });
  if (!accepts(mechanism, ranges, values)) throw new RefusedReport("out_of_range");
  return { level, values };
}

function accepts(mechanism, ranges, values) {
  const areInside = values.length === ranges.length && values.every((value, i) => value >= ranges[i][0] && value <= ranges[i][1]);
  return areInside && !(mechanism.isAscending && values.some((value, i) => i > 0 && values[i - 1] >= value));
}

// ---------------------------------------------------------------------------------------------------------------------
// Bytes, texts, numbers

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Bytes as base64url without padding. */
export function toText(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const three = (bytes[i] << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    for (let j = 0; j < Math.min(4, bytes.length - i + 1); j += 1) text += ALPHABET[(three >> (18 - 6 * j)) & 63];
  }
  return text;
}

/** The bytes that `toText` writes as this text, or null. */
export function fromText(text) {
  const digits = Array.from(text, (letter) => ALPHABET.indexOf(letter));
  if (digits.includes(-1) || digits.length % 4 === 1) return null;
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  for (let i = 0; i < bytes.length; i += 1) {
    const [place, shift] = [Math.floor((i * 8) / 6), (i * 8) % 6];
    bytes[i] = ((digits[place] << (2 + shift)) | ((digits[place + 1] ?? 0) >> (4 - shift))) & 255;
  }
  return toText(bytes) === text ? bytes : null;
}

function utf8(text) {
  return new TextEncoder().encode(text);
}

function littleEndian(value, width) {
  const bytes = new Uint8Array(width);
  for (let i = 0, rest = value; i < width; i += 1, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  return bytes;
}

function join(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

function equal(left, right) {
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** SHA-256 of shapes and entries as little-endian 64-bit integers, block after block. */
function tablesDigest(tables) {
  const words = tables.reduce((sum, { values }) => sum + 2 * (2 + values.length), 0);
  const view = new DataView(new ArrayBuffer(4 * words));
  let at = 0;
  const push = (value) => {
    view.setInt32(at, value, true);
    view.setInt32(at + 4, value < 0 ? -1 : 0, true);
    at += 8;
  };
  for (const { rows, columns, values } of tables) {
    push(rows);
    push(columns);
    values.forEach(push);
  }
  return sha256(new Uint8Array(view.buffer));
}

function parseJson(bytes) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** A whole number, or the text of a fraction "25/2", as [numerator, denominator]. */
function rational(value) {
  const [top, bottom = "1"] = String(value).split("/");
  return [BigInt(top), BigInt(bottom)];
}

/** The number next to top / bottom, halves to even: as Python's float(Fraction). */
function toDouble(top, bottom) {
  if (top === 0n) return 0;
  const magnitude = top < 0n ? -top : top;
  const shift = 64 - (magnitude.toString(2).length - bottom.toString(2).length); // 64 or 65 bits of quotient
  const scaled = shift >= 0 ? magnitude << BigInt(shift) : magnitude;
  const divisor = shift >= 0 ? bottom : bottom << BigInt(-shift);
  const quotient = scaled / divisor;
  const sticky = scaled % divisor === 0n ? quotient : quotient | 1n; // what is left decides ties
  const value = Number(sticky) * 2 ** -shift;
  return top < 0n ? -value : value;
}

// The canonical scheme is TOML of few forms: tables, texts, whole numbers, lists of them, one entry to a line.

/** The tables of a canonical scheme as Maps of Maps; throws SchemeError for anything a canonical scheme does not use. */
export function parseToml(text) {
  const root = new Map();
  let table = root;
  let at = 0;
  const fail = () => { throw new SchemeError(`the scheme cannot be read near character ${at}`); };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found && found[0];
  };
  const blank = () => match(/\s*/y);
  const literal = () => match(/"(?:[^"\\\u0000-\u0008\u000a-\u001f]|\\.)*"/y)?.replaceAll("\t", "\\t"); // a tab stands for itself
  const key = () => match(/[A-Za-z0-9_-]+/y) ?? JSON.parse(literal() ?? fail());
  const value = () => {
    const written = literal();
    if (written) return JSON.parse(written);
    const digits = match(/-?\d+/y);
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
      do {
        const name = key();
        table = table.get(name) instanceof Map ? table.get(name) : put(table, name, new Map());
      } while (match(/\./y));
      match(/\]/y) ?? fail();
    } else {
      const name = key();
      match(/ = /y) ?? fail();
      put(table, name, value());
    }
    match(/\n/y) ?? fail();
  }
  return root;
}
