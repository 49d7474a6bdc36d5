/** Where the words of the browser's client come from: its one source replaced by given words, everything else that varies by a throw. */
import * as ldp from "./ldpflow.mjs";

const MOST_BYTES = 65536; // of one call; a browser refuses more

/** What the client sends of records, and how many words it took; and whether many words at once are those that were given. */
export async function drawn() {
  const { words, many, reports } = await (await fetch("provenance.json")).json();
  const given = Uint8Array.from(atob(words), (letter) => letter.charCodeAt(0));
  const schemes = {};
  for (const name of new Set(reports.map((report) => report.scheme))) schemes[name] = await open(name);
  const fail = (name) => () => { throw new Error(`${name} was asked`); };
  let at = 0;
  const fill = (array) => {
    if (array.byteLength > MOST_BYTES || at + array.byteLength > given.length) throw new RangeError("no such words");
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(given.subarray(at, at + array.byteLength));
    at += array.byteLength;
    return array;
  };
  const planted = [
    [crypto, "getRandomValues", fill], [crypto, "randomUUID", fail("crypto.randomUUID")],
    [Math, "random", fail("Math.random")], [Date, "now", fail("Date.now")],
  ].map(([owner, name, work]) => {
    const honest = owner[name].bind(owner);
    owner[name] = work;
    return () => { owner[name] = honest; };
  });
  try {
    const sent = [];
    for (const { scheme, record, token, round } of reports) {
      const before = at;
      const report = await new ldp.Client(schemes[scheme], { token }).report(record, round);
      sent.push({ content: ldp.writeReport(report, schemes[scheme]), words: (at - before) / 4 });
    }
    const before = at;
    const bytes = new Uint8Array(ldp.secure().words(many).buffer);
    const isGiven = at - before === 4 * many && bytes.every((byte, i) => byte === given[before + i]);
    return { sent, isGiven };
  } finally {
    planted.forEach((restore) => restore());
  }
}

/** Two reports of one record, with the words that there are. */
export async function twice(name, record) {
  const scheme = await open(name);
  const sent = [];
  for (let run = 0; run < 2; run += 1) sent.push(ldp.writeReport(await new ldp.Client(scheme).report(record), scheme));
  return sent;
}

function open(name) {
  return ldp.fetchBundle(new URL(`${name}/`, import.meta.url));
}
