/** The client of ldpflow. Nothing of a record leaves the device but what `Client.report` returns. */

/** A value of a record: a number, a text, a truth value, a time, or none. Integers from 2^53 on are BigInts or texts. */
export type Value = number | bigint | string | boolean | Date | null | undefined;

/** A mapping from columns to values; of a set, the chosen options or their list. */
export type SurveyRecord = { readonly [column: string]: Value | readonly Value[] };

/** Where random words come from. */
export interface Source {
  /** The next `count` uniform 32-bit words. */
  words(count: number): Uint32Array;
}

/** What a report answers to one attribute: a public level, and integers. */
export interface Answer {
  readonly level: number;
  readonly values: readonly number[];
}

/** One report. It holds no value of the record, no time and no identity. */
export interface Report {
  readonly digest: string;
  readonly answers: ReadonlyMap<string, Answer>;
  readonly id: string;
  readonly token: string | null;
  readonly sentFor: string;
}

/** An attribute or a label, as a form needs it. */
export interface Attribute {
  readonly name: string;
  readonly type: "numeric" | "categorical" | "set" | "text" | "label";
  readonly column: string;
  /** What readers are shown; empty for the name. */
  readonly title: string;
  readonly categories: readonly string[];
  /** The titles of the categories that have one. */
  readonly titles?: ReadonlyMap<string, string>;
  /** How many options one respondent may choose; of a set. */
  readonly atMost?: number;
  /** The most bytes of a text in UTF-8; of a text. */
  readonly maxBytes?: number;
  /** The characters of texts, empty for all; of a text. */
  readonly alphabet?: string;
  readonly missing?: string;
  readonly outside?: string;
  readonly unit?: string;
  readonly lower?: number;
  readonly upper?: number;
  /** What one report spends, natural-log units; absent of a label. */
  readonly epsilon?: number;
}

/** A scheme whose bundle has been checked: digest, tables, and that its integers keep their promise. */
export interface Scheme {
  readonly digest: string;
  readonly name: string;
  readonly description: string;
  readonly reporting: "all" | "one";
  readonly attributes: ReadonlyMap<string, Attribute>;
  readonly labels: ReadonlyMap<string, Attribute>;
  /** Attributes and labels, in the order of a report. */
  readonly reported: ReadonlyMap<string, Attribute>;
  /** The attributes that one report answers, of which a client draws one where `reporting` is "one". */
  readonly units: readonly (readonly string[])[];
}

/** The scheme in the bundle at a URL, which ends in a slash. Give the digest where you know it. Rejects with SchemeError. */
export function fetchBundle(url: string | URL, digest?: string): Promise<Scheme>;

/** The scheme in a bundle, whose files `read` returns by name. Rejects with SchemeError. */
export function openBundle(read: (name: string) => Promise<Uint8Array> | Uint8Array, digest?: string): Promise<Scheme>;

/** One respondent under one scheme. */
export class Client {
  constructor(scheme: Scheme, options?: { random?: Source; token?: string | null });
  /** The report of one record. Every call spends the scheme's epsilon. Rejects with InvalidRecord, and has drawn nothing then. */
  report(record: SurveyRecord, round?: string): Promise<Report>;
}

/** The bytes of a report, as text: the body to send. Send the same text again where no answer came. */
export function writeReport(report: Report, scheme: Scheme): string;

/** The report in some bytes or text. Rejects with RefusedReport. */
export function readReport(content: string | Uint8Array, scheme: Scheme): Promise<Report>;

/** The token of a client under a scheme; secret: at least 16 bytes, which never leave the device. */
export function tokenOf(secret: Uint8Array, digest: string): Promise<string>;

/** The attributes that a token's client answers, and the level of each. */
export function publicLevels(scheme: Scheme, token: string): Promise<Map<string, number>>;

/** The input cell of a value in a record, of a text its symbols; throws InvalidRecord. */
export function cellOf(attribute: Attribute, record: SurveyRecord): number | readonly number[];

/** The device's own randomness, which every real client uses. */
export function secure(): Source;
/** Known words, in order: for tests. */
export function given(words: readonly number[]): Source & { used(): number };
/** The words of a key and labels: for tests and tokens. */
export function keyed(key: Uint8Array, labels: readonly string[], blocks?: number): Promise<Source & { used(): number }>;

export function toText(bytes: Uint8Array): string;
export function fromText(text: string): Uint8Array | null;
export function epsilonOf(text: string): number;
export function dateIn(day: number, unit?: string): string;
/** Whether an attribute's values are dates (unit DAYS) or times (unit INSTANTS). */
export function isDate(attribute: Attribute): boolean;
export function parseToml(text: string): Map<string, unknown>;

export const DAYS: string;
export const INSTANTS: string;
export const FORMAT: number;
export const DRAWS: number;
export const REASONS: readonly string[];

/** The scheme, or a file of its bundle, is not what it states, or does not keep its promise. */
export class SchemeError extends Error {}
/** A record that the scheme does not allow. The message names the attribute, never the value. */
export class InvalidRecord extends Error {
  readonly attribute: string;
}
/** A report that a collector would refuse, with one of REASONS. */
export class RefusedReport extends Error {
  readonly reason: string;
}
