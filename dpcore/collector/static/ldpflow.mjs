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

export { Client } from "./client/client.mjs";
export { fromText, toText } from "./client/bytes.mjs";
export { InvalidRecord, REASONS, RefusedReport, SchemeError } from "./client/errors.mjs";
export { cellOf } from "./client/kinds.mjs";
export { DAYS, INSTANTS, dateIn, epsilonOf, isDate } from "./client/numbers.mjs";
export { given, keyed, secure } from "./client/random.mjs";
export { readReport, writeReport } from "./client/report.mjs";
export { DRAWS, FORMAT, fetchBundle, openBundle } from "./client/scheme.mjs";
export { publicLevels, tokenOf } from "./client/tokens.mjs";
export { parseToml } from "./client/toml.mjs";
