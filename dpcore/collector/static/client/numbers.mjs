/** The numbers that a scheme writes as texts: epsilons and fractions. */

const NUMERAL = /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*$/; // as in Python

/** The number that a text spells, as the client in Python reads it; undefined where it spells none. */
export function numberIn(text) {
  return NUMERAL.test(text) ? Number(text) : undefined;
}

export const DAYS = "days since 1970-01-01"; // the unit of dates
export const INSTANTS = "days since 1970-01-01 00:00 UTC"; // the unit of times with their zone
const DAY = 86_400_000; // milliseconds

const MOMENT = new RegExp("^((?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\\.([0-9]+))?)?"
  + "(Z|([-+])([01][0-9]|2[0-3]):?([0-5][0-9]))?)?$"); // as in Python

/** Whether an attribute's values are dates or instants. */
export const isDate = ({ unit }) => unit === DAYS || unit === INSTANTS;

/** The days since 1970-01-01 of a text such as 2026-11-27, in the unit of instants with the fraction of the day; undefined where it is none. */
export function dayIn(text, unit = DAYS) {
  if (text instanceof Date && unit === INSTANTS) return text.valueOf() / DAY;
  const [, date, hours, minutes, seconds = "0", fraction = "", zone, sign, east = "0", more = "0"] =
    (typeof text === "string" && MOMENT.exec(text.trim())) || [];
  const midnight = Date.parse(`${date}T00:00:00Z`);
  if (date === undefined || dateIn(midnight / DAY) !== date) return undefined; // 2026-02-30 is none
  if (unit === DAYS) return midnight / DAY;
  if (zone === undefined) return undefined;
  const offset = Number(`${sign ?? ""}1`) * (Number(east) * 60 + Number(more));
  const inMinutes = Number(hours) * 60 + Number(minutes) - offset;
  return (midnight + (inMinutes * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, "0").slice(0, 3))) / DAY;
}

/** The date, such as 2026-11-27, of a number of days since 1970-01-01; of an instant with its time. */
export function dateIn(day, unit = DAYS) {
  if (!Number.isFinite(day)) return "";
  if (unit === DAYS) return new Date(Math.floor(day) * DAY).toISOString().slice(0, 10);
  return `${new Date(day * DAY).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

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
