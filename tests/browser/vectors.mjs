/** Every frozen vector of a file, by the browser's client; returns what went wrong, one line each. */
import * as ldp from "./ldpflow.mjs";

export async function tryVectors(name) {
  const vectors = await (await fetch(`vectors/${name}.json`)).json();
  const read = async (file) => new Uint8Array(await (await fetch(`${name}/${file}`)).arrayBuffer());
  const scheme = await ldp.openBundle(read, vectors.digest);
  const wrong = [];
  const expect = async (what, kind, work, reason) => {
    try {
      await work();
      wrong.push(`${what}: taken`);
    } catch (error) {
      const isRight = error instanceof kind && (reason === undefined || error.reason === reason);
      if (!isRight) wrong.push(`${what}: ${error}`);
    }
  };

  const key = bytesOf(vectors.key);
  const blocks = name === "everything" ? 100 : 8; // of eight words; its reports take up to 651 words, others' up to 46
  for (const [number, { record, token, round, content }] of vectors.reports.entries()) {
    const random = await ldp.keyed(key, [String(number)], blocks);
    const report = await new ldp.Client(scheme, { random, token }).report(record, round);
    if (ldp.writeReport(report, scheme) !== content) wrong.push(`report ${number} is another`);
    const again = await ldp.readReport(content, scheme);
    if (ldp.writeReport(again, scheme) !== content) wrong.push(`report ${number} does not come back`);
  }
  for (const { secret, token, levels } of vectors.tokens) {
    const made = await ldp.tokenOf(bytesOf(secret), vectors.digest);
    const found = Object.fromEntries(await ldp.publicLevels(scheme, made));
    if (made !== token || JSON.stringify(found) !== JSON.stringify(levels)) wrong.push(`the token of ${secret} is another`);
  }
  for (const [number, record] of vectors.refused_records.entries()) {
    const client = new ldp.Client(scheme, { random: ldp.given([]) }); // a word drawn would be a RangeError
    await expect(`record ${number}`, ldp.InvalidRecord, () => client.report(record));
  }
  for (const { content, reason } of vectors.refused_reports) {
    await expect(`${reason} ${content}`, ldp.RefusedReport, () => ldp.readReport(content, scheme), reason);
  }
  for (const [number, text] of vectors.refused_schemes.entries()) {
    await expect(`scheme ${number}`, ldp.SchemeError, () => ldp.openBundle(broken(read, text)));
  }
  return wrong;
}

/** The bundle with another scheme, its digest right. */
function broken(read, text) {
  return async (file) => {
    const scheme = new TextEncoder().encode(text);
    if (file === "scheme.toml") return scheme;
    const content = await read(file);
    if (file !== "manifest.json") return content;
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", scheme));
    const digest = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return new TextEncoder().encode(JSON.stringify({ ...JSON.parse(new TextDecoder().decode(content)), digest }));
  };
}

const bytesOf = (text) => Uint8Array.from(text.match(/../g), (byte) => parseInt(byte, 16));
