/** Bytes: base64url, UTF-8, whole numbers as bytes, SHA-256, and what is read of JSON. */

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

export function utf8(text) {
  return new TextEncoder().encode(text);
}

export function littleEndian(value, width) {
  const bytes = new Uint8Array(width);
  for (let i = 0, rest = value; i < width; i += 1, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  return bytes;
}

export function join(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}

export function equal(left, right) {
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** UTF-8 as a text, a byte order mark as the letter it is; throws TypeError for other bytes. */
export function textOf(bytes) {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

export function parseJson(bytes) {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return undefined;
  }
}
