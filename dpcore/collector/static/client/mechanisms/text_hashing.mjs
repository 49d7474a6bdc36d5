/** Text hashing: a row drawn at random, whose public hash function maps the text to a bucket, reported by local hashing. */

import { SchemeError } from "../errors.mjs";
import { one } from "../random.mjs";
import { natural, needed } from "./checks.mjs";
import { localHashing } from "./local_hashing.mjs";

const [ROWS, ESTIMATION_ROWS, PRIME, MOST_SYMBOLS] = [64, 16, 2 ** 31 - 1, 24];

export function textHashing(client) {
  const lists = ["lengths", "bases"];
  const [lengths, bases, symbols, length, buckets] = needed(client, [...lists, "symbols", "length", "buckets"], lists);
  natural("symbols", symbols, 1, 255);
  natural("length", length, 1, MOST_SYMBOLS);
  const areIncreasing = lengths.every((own, row) => own >= (row ? lengths[row - 1] : 1) && own <= length);
  if (lengths.length !== ROWS || !areIncreasing || lengths[ROWS - ESTIMATION_ROWS - 1] !== length) {
    throw new SchemeError(`lengths must be ${ROWS} increasing lengths up to ${length}`);
  }
  if (bases.length !== ROWS || new Set(bases).size !== ROWS || !bases.every((base) => base >= 2 && base < PRIME)) {
    throw new SchemeError(`bases must be ${ROWS} different integers 2..${PRIME - 1}`);
  }
  const oracle = localHashing(new Map([...client, ["categories", buckets]]));
  /** The bucket of a text in a row, by Horner's rule; products have up to 62 bits. */
  function bucketOf(text, row) {
    const [base, prime] = [BigInt(bases[row]), BigInt(PRIME)];
    const hash = text.slice(0, lengths[row]).reduce((sum, symbol) => ((sum + BigInt(symbol + 1)) * base) % prime, 0n);
    return Number((hash * BigInt(buckets)) / prime);
  }
  return {
    ...oracle,
    levels: ROWS,
    lengths,
    statistics: ROWS * (1 + buckets),
    drawLevel: (source) => one(source, ROWS),
    privatize: (text, row, source) => oracle.privatize(bucketOf(text, row), row, source),
  };
}
