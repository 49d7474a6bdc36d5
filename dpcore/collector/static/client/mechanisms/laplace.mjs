/** Discrete Laplace noise, exact: words and comparisons of whole numbers. */

import { WORD, below } from "../random.mjs";

export const TAIL = 45; // an honest |noise| exceeds 45 t with probability below 2^-64
const PROPOSALS = 1 << 15; // of noise at a time

/** `size` draws with Pr(y) ~ exp(-|y| / t), exact [Canonne, Kamath, Steinke 2020, algorithm 2]. */
export function discreteLaplace(t, size, source) {
  const drawn = [];
  while (drawn.length < size) {
    const missing = size - drawn.length;
    drawn.push(...propose(t, Math.min(PROPOSALS, 2 * missing + 8), source).slice(0, missing));
  }
  return drawn;
}

function propose(t, count, source) {
  const all = below(source, t, count);
  const isKept = bernoulliExp(all, t, source);
  const u = all.filter((_, i) => isKept[i]);
  const successes = geometric(u.length, source);
  const signs = source.words(u.length);
  const values = [];
  u.forEach((rest, i) => {
    const magnitude = rest + t * successes[i];
    const isNegative = (signs[i] & 1) === 1;
    if (magnitude !== 0 || !isNegative) values.push(isNegative ? -magnitude : magnitude);
  });
  return values;
}

/** Bernoulli(exp(-u / t)) for each u: the first k at which Bernoulli(u / (t k)) fails is odd. */
function bernoulliExp(u, t, source) {
  const result = new Array(u.length).fill(false);
  let alive = [...u.keys()];
  for (let k = 1; alive.length; k += 1) {
    let goesOn;
    if (t * k <= WORD) {
      const drawn = below(source, t * k, alive.length);
      goesOn = alive.map((i, position) => drawn[position] < u[i]);
    } else {
      const [first, second] = [below(source, t, alive.length), below(source, k, alive.length)];
      goesOn = alive.map((i, position) => first[position] < u[i] && second[position] === 0);
    }
    if (k % 2) alive.forEach((i, position) => { if (!goesOn[position]) result[i] = true; });
    alive = alive.filter((_, position) => goesOn[position]);
  }
  return result;
}

/** How many Bernoulli(1/e) succeed before the first fails, `count` times. */
function geometric(count, source) {
  const successes = new Array(count).fill(0);
  let alive = [...successes.keys()];
  while (alive.length) {
    const isOne = bernoulliInverseE(alive.length, source);
    alive = alive.filter((_, position) => isOne[position]);
    alive.forEach((i) => { successes[i] += 1; });
  }
  return successes;
}

function bernoulliInverseE(count, source) {
  const result = new Array(count).fill(false);
  let alive = [...result.keys()];
  for (let k = 2; alive.length; k += 1) {
    const drawn = below(source, k, alive.length);
    if (k % 2) alive.forEach((i, position) => { if (drawn[position] !== 0) result[i] = true; });
    alive = alive.filter((_, position) => drawn[position] === 0);
  }
  return result;
}
