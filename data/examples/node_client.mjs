/**
 * The browser's client in node, for `ldpflow conformance`: reads cases and prints reports.
 *
 *     ldpflow conformance node data/examples/node_client.mjs ldpflow.mjs
 *
 * ldpflow.mjs is what a collector serves as /survey/REF/ldpflow.mjs.
 */
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const ldp = await import(pathToFileURL(process.argv[2]).href);

/** A file of a case's bundle as bytes; tables are in base64. */
function fileOf(bundle, name) {
  return Uint8Array.from(Buffer.from(bundle[name], name.endsWith(".int32") ? "base64" : "utf-8"));
}

/** The scheme of a bundle, opened once for all of its cases. */
let opened = {};
function schemeOf(bundle, digest) {
  const key = JSON.stringify([bundle, digest]);
  if (opened.key !== key) opened = { key, scheme: ldp.openBundle(async (name) => fileOf(bundle, name), digest) };
  return opened.scheme;
}

async function answer({ bundle, digest, record, round, secret, words }) {
  try {
    const scheme = await schemeOf(bundle, digest);
    const token = secret === null ? null : await ldp.tokenOf(Buffer.from(secret, "hex"), digest);
    const client = new ldp.Client(scheme, { random: ldp.given(words), token });
    return ldp.writeReport(await client.report(record, round), scheme);
  } catch (error) {
    if (error instanceof ldp.SchemeError) return '{"refused":"scheme"}';
    if (error instanceof ldp.InvalidRecord) return '{"refused":"record"}';
    if (error instanceof RangeError) return '{"refused":"words"}';
    throw error;
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(await answer(JSON.parse(line)));
