/** What goes wrong: a scheme, a record, or a report that is not taken, and the reasons for the last. */

export const REASONS = [
  "too_large", "not_json", "unknown_key", "missing_key", "wrong_type", "unknown_format", "wrong_scheme", "malformed_id",
  "malformed_token", "malformed_round", "malformed_payload", "incomplete", "wrong_unit", "wrong_length", "unknown_level",
  "wrong_level", "out_of_range", "not_canonical",
];

/** The scheme, or a file of its bundle, is not what it says, or does not keep its promise. */
export class SchemeError extends Error {}
/** A record that the scheme does not allow; nothing has been drawn.  Never shows a value. */
export class InvalidRecord extends Error {
  constructor(attribute, expected) {
    super(`${attribute}: ${expected}`);
    this.attribute = attribute;
  }
}
/** A report that is not taken, with one of REASONS. */
export class RefusedReport extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}
