/**
 * Send one report to a collector: node send.mjs URL SCHEME 'RECORD' [DIGEST]
 *
 *     node send.mjs http://127.0.0.1:8080 commute '{"mode": "car", "distance": 3}'
 */
import { Client, fetchBundle, writeReport } from "ldpflow-client";

const [url, name, record, digest] = process.argv.slice(2);
const scheme = await fetchBundle(`${url}/schemes/${name}/bundle/`, digest);
const body = writeReport(await new Client(scheme).report(JSON.parse(record)), scheme);
const sent = await fetch(`${url}/schemes/${name}/reports`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body,
});
console.log(sent.status, (await sent.json()).answer);
