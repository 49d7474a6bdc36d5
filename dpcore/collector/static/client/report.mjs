/** The wire: one report as JSON, in one spelling. */

import { equal, fromText, parseJson, toText, utf8 } from "./bytes.mjs";
import { RefusedReport } from "./errors.mjs";
import { pack, payloadBytes, unpack } from "./payload.mjs";
import { FORMAT } from "./scheme.mjs";
import { publicLevels } from "./tokens.mjs";

/** The bytes of one report, as text. */
export function writeReport(report, scheme) {
  const answers = {};
  for (const [name, { mechanism }] of scheme.reported) {
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
  return [...scheme.reported.values()].reduce((sum, { name, mechanism }) => {
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
  const labels = [...scheme.labels.keys()];
  const isWhole = (unit) => unit.length + labels.length === payloads.size && [...unit, ...labels].every((name) => payloads.has(name));
  if (!units.some(isWhole)) throw new RefusedReport("incomplete");
  const levels = Object.hasOwn(document, "client") ? await publicLevels(scheme, document.client) : null;
  if (levels && !isWhole([...levels.keys()])) throw new RefusedReport("wrong_unit");
  const answers = new Map();
  for (const [name, { mechanism }] of scheme.reported) {
    if (!payloads.has(name)) continue;
    answers.set(name, unpack(mechanism, payloads.get(name)));
    if (levels?.has(name) && answers.get(name).level !== levels.get(name)) throw new RefusedReport("wrong_level");
  }
  return answers;
}
