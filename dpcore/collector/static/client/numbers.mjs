/** The numbers that a scheme writes as texts: epsilons and fractions. */

const NUMERAL = /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*$/; // as in Python

/** The number that a text spells, as the client in Python reads it; undefined where it spells none. */
export function numberIn(text) {
  return NUMERAL.test(text) ? Number(text) : undefined;
}

export const DAYS = "days since 1970-01-01"; // the unit of dates

const MOMENT = /^((?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?)?$/; // as in Python

/** The days since 1970-01-01 of a text such as 2026-11-27; undefined where it is no date. */
export function dayIn(text) {
  const date = (typeof text === "string" && MOMENT.exec(text.trim())?.[1]) || "";
  const day = Date.parse(`${date}T00:00:00Z`) / 86_400_000;
  return date && dateIn(day) === date ? day : undefined; // 2026-02-30 is none
}

/** The date, such as 2026-11-27, of a number of days since 1970-01-01. */
export const dateIn = (day) => (Number.isFinite(day) ? new Date(Math.floor(day) * 86_400_000).toISOString().slice(0, 10) : "");

/** "0.5", "1/3", "ln 3", "2 + ln 3/2" as a number. */
export function epsilonOf(text) {
  return text.split(" + ").reduce((sum, part) => {
    const [top, bottom = 1] = part.replace(/^ln /, "").split("/").map(Number);
    return sum + (part.startsWith("ln ") ? Math.log(top / bottom) : top / bottom);
  }, 0);
}

/** A whole number, or the text of a fraction "25/2", as [numerator, denominator]. */
export function rational(value) {
  const [top, bottom = "1"] = String(value).split("/");
  return [BigInt(top), BigInt(bottom)];
}

/** The number next to top / bottom, halves to even: as Python's float(Fraction). */
export function toDouble(top, bottom) {
  if (top === 0n) return 0;
  const magnitude = top < 0n ? -top : top;
  const shift = 64 - (magnitude.toString(2).length - bottom.toString(2).length); // 64 or 65 bits of quotient
  const scaled = shift >= 0 ? magnitude << BigInt(shift) : magnitude;
  const divisor = shift >= 0 ? bottom : bottom << BigInt(-shift);
  const quotient = scaled / divisor;
  const sticky = scaled % divisor === 0n ? quotient : quotient | 1n; // what is left decides ties
  const value = Number(sticky) * 2 ** -shift;
  return top < 0n ? -value : value;
}
