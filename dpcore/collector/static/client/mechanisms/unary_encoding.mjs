/** Unary encoding: every category is marked or not by a coin of its own, the true one's heavier. */

import { WORD, one } from "../random.mjs";
import { natural, weightPair } from "./checks.mjs";

export function unaryEncoding(client) {
  const k = natural(client, "categories", 2);
  const coinBits = natural(client, "coin_bits", 1, 32);
  const total = 2 ** coinBits;
  const [yes, no] = weightPair(client.get("weight_true"), client.get("weight_other"));
  const size = Math.ceil(k / 32);
  const last = 2 ** (k - 32 * (size - 1)) - 1;
  return {
    inputs: k,
    loss: Math.log((yes / (total - yes)) / (no / (total - no))),
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
