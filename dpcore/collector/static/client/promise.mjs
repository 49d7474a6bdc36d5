/**
 * What is promised, and whether it is kept: whole numbers alone, so that nothing is rounded in anybody's favour but the client's.
 *
 * An epsilon is a fraction plus the logarithm of one.  Fractions are [numerator, denominator] of BigInts; the bounds of e^epsilon
 * and of epsilon are those of the Python client, to the bit.
 */

import { SchemeError } from "./errors.mjs";
import { epsilonOf } from "./numbers.mjs";

const BOUND_BITS = 96n; // bounds are rounded down to multiples of 2^-96
const [GUARDED, POWERS] = [200n, 220n]; // bits behind the point of what the series are summed in
const LARGEST_EPSILON = 64;
const PART = /^(ln )?(\d{1,40})(?:\.(\d{1,40})|\/(\d{1,40}))?$/;

/** The promise in a text "0.5", "1/3", "ln 3" or "2 + ln 3/2": its rational part and its ratio; throws SchemeError. */
export function promiseOf(text) {
  let [rational, ratio] = [[0n, 1n], [1n, 1n]];
  for (const part of String(text).split(" + ")) {
    const found = PART.exec(part);
    if (!found || typeof text !== "string" || BigInt(found[4] ?? 1) === 0n) {
      throw new SchemeError(`epsilon must be a number above 0 or "ln RATIO" such as "ln 3", got ${text}`);
    }
    const [, isLogarithm, whole, decimals = "", bottom = "1"] = found;
    const value = [BigInt(whole + decimals), BigInt(bottom) * 10n ** BigInt(decimals.length)];
    if (isLogarithm ? value[0] <= value[1] : value[0] === 0n) throw outOfRange(text);
    if (isLogarithm) ratio = [ratio[0] * value[0], ratio[1] * value[1]];
    else rational = [rational[0] * value[1] + value[0] * rational[1], rational[1] * value[1]];
  }
  if (!(epsilonOf(text) <= LARGEST_EPSILON)) throw outOfRange(text);
  return { rational, ratio };
}

function outOfRange(text) {
  return new SchemeError(`epsilon must be above 0 and at most ${LARGEST_EPSILON}, got ${text}`);
}

/** Whether what integers keep is within a promise; kept: a `ratio` of two probabilities, or a `loss` in natural-log units. */
export function isKept(kept, promise) {
  return kept.ratio ? isAtMost(kept.ratio, ratioFloor(promise)) : isAtMost(kept.loss, lossFloor(promise));
}

export function isAtMost([top, bottom], [otherTop, otherBottom]) {
  return top * otherBottom <= otherTop * bottom;
}

export function largest(fractions) {
  return fractions.reduce((most, fraction) => (isAtMost(fraction, most) ? most : fraction));
}

/** A fraction at most e^epsilon; exact where epsilon is a logarithm. */
export function ratioFloor({ rational, ratio }) {
  if (rational[0] === 0n) return ratio;
  const [top, bottom] = expFloor(rational);
  return roundDown(ratio[0] * top, ratio[1] * bottom);
}

/** A fraction at most epsilon; exact where epsilon is one. */
export function lossFloor({ rational, ratio }) {
  if (ratio[0] === ratio[1]) return rational;
  const [top, bottom] = logFloor(ratio);
  return roundDown(rational[0] * bottom + top * rational[1], rational[1] * bottom);
}

function roundDown(top, bottom) {
  return [(top << BOUND_BITS) / bottom, 1n << BOUND_BITS];
}

/** A lower bound of e^x, x > 0: a Taylor sum cut off, squared as often as x was halved. */
function expFloor([top, bottom]) {
  const halvings = ((top + bottom - 1n) / bottom).toString(2).length;
  const divisor = bottom << BigInt(halvings);
  let term = 1n << GUARDED;
  let sum = term;
  for (let order = 1n; order < 40n; order += 1n) {
    term = (term * top) / (divisor * order);
    sum += term;
  }
  for (let k = 0; k < halvings; k += 1) sum = (sum * sum) >> GUARDED;
  return [sum, 1n << GUARDED];
}

/** A lower bound of ln r, r > 1: ln r = 2 artanh((r - 1) / (r + 1)), a series of positive terms, cut off. */
function logFloor([top, bottom]) {
  let [divisor, doublings] = [bottom, 0n];
  for (; top >= 2n * divisor; divisor *= 2n) doublings += 1n;
  return [doublings * twoArtanhFloor(1n, 3n) + twoArtanhFloor(top - divisor, top + divisor), 1n << GUARDED];
}

function twoArtanhFloor(top, bottom) {
  let power = (top ** 3n << POWERS) / bottom ** 3n;
  let sum = (top << GUARDED) / bottom;
  for (let order = 3n; order < 121n; order += 2n) {
    sum += power / (order << (POWERS - GUARDED));
    power = (power * top * top) / (bottom * bottom);
  }
  return 2n * sum;
}
