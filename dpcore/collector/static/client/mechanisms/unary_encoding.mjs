/** Unary encoding: every category is marked or not by a coin of its own, the true one's heavier. */

import { SchemeError } from "../errors.mjs";
import { largest } from "../promise.mjs";
import { WORD, one } from "../random.mjs";
import { categoriesOf, natural, needed } from "./checks.mjs";

export function unaryEncoding(client) {
  const [categories, coinBits, yes, no] = needed(client, ["categories", "coin_bits", "weight_true", "weight_other"]);
  const k = categoriesOf(categories);
  const total = 2 ** natural("coin_bits", coinBits, 1, 32);
  const areWhole = Number.isInteger(yes) && Number.isInteger(no);
  if (!areWhole || no < 1 || yes <= no || yes >= total) {
    throw new SchemeError(`it needs 1 <= weight_other < weight_true < 2^coin_bits, got weights ${yes} and ${no}`);
  }
  const size = Math.ceil(k / 32);
  const last = 2 ** (k - 32 * (size - 1)) - 1;
  return {
    inputs: k,
    kept: { ratio: largestRatio([yes, total - yes], [no, total - no]) },
    ranges: () => Array.from({ length: size }, (_, i) => [0, i === size - 1 ? last : WORD - 1]),
    privatize(cell, level, source) {
      const less = new Uint32Array(size); // 32 comparisons of random bits with weight_other share a word
      for (let bit = 0; bit < coinBits; bit += 1) {
        const drawn = source.words(size);
        const isSet = Math.floor(no / 2 ** bit) % 2 === 1;
        for (let i = 0; i < size; i += 1) less[i] = isSet ? ~drawn[i] | less[i] : ~drawn[i] & less[i];
      }
      less[size - 1] &= last;
      const mask = 1 << cell % 32;
      const place = cell >> 5;
      less[place] = one(source, total) < yes ? less[place] | mask : less[place] & ~mask;
      return Array.from(less);
    },
  };
}

/** The largest ratio of two probabilities of a report: all that two categories' bits can say; every other bit is drawn alike. */
function largestRatio(own, other) {
  const says = [0, 1].flatMap((first) => [0, 1].map((second) => [first, second]));
  return largest(says.map(([first, second]) => [
    BigInt(own[first]) * BigInt(other[second]), BigInt(other[first]) * BigInt(own[second]),
  ]));
}
