/** Randomness: a source has words(count), a Uint32Array of independent uniform words. */

import { join, littleEndian, sha256, utf8 } from "./bytes.mjs";

export const WORD = 2 ** 32;

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
export function below(source, bound, count) {
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

export const one = (source, bound) => below(source, bound, 1)[0];

/** The stream of a key (bytes) and labels (texts), SHA-256 in counter mode: the first `blocks` x 8 words of it. */
export async function keyed(key, labels, blocks = 8) {
  const framed = labels.map(utf8).flatMap((label) => [littleEndian(label.length, 4), label]);
  const seed = await sha256(join([littleEndian(key.length, 4), key, ...framed]));
  const parts = [];
  for (let counter = 0; counter < blocks; counter += 1) parts.push(await sha256(join([seed, littleEndian(counter, 8)])));
  const view = new DataView(join(parts).buffer);
  return given(Array.from({ length: 8 * blocks }, (_, i) => view.getUint32(4 * i, true)));
}
