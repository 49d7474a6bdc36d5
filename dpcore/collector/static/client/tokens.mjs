/** A client's token, and what is public of who has one: which attributes it answers, and their levels. */

import { sha256, toText, utf8 } from "./bytes.mjs";
import { keyed, one } from "./random.mjs";

export const NAME_BYTES = 16;

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
