/**
 * The kinds of attributes: what an attribute's values are.  No other part of the client tells them apart.
 *
 * A kind has name, under which `keys.mjs` lists the keys of its tables; type, that of its attributes; and marks, of which one key
 * in a table makes an attribute of this kind (if there are none: all others of the type).  domain(entries, stated) reads the
 * entries of a table, of which the Set `stated` has the keys that are not defaults, and throws SchemeError.  cellOf(attribute,
 * record) is the input cell of a record's value, and throws InvalidRecord.  A domain has unit, categories, outside, missing, and
 * for several columns their names in columns; a joint attribute has the domains of its columns in sides.
 *
 * Some kinds have check(domain, mechanismName, inputs, client), which throws SchemeError unless the mechanism fits the domain;
 * checkLabels(cells), which throws it for too many combinations of labels; unpaired, what the kind is called where it cannot be
 * part of a pair; and inputsOfSide(side, inputs), how many input cells a column of a joint attribute has.
 */

import { CATEGORICAL, CROSSED } from "./kinds/categorical.mjs";
import { BINNED, LATTICE, NUMERIC, PLANE } from "./kinds/numeric.mjs";
import { SET } from "./kinds/sets.mjs";
import { TEXT } from "./kinds/texts.mjs";

const KINDS = [PLANE, LATTICE, NUMERIC, CROSSED, BINNED, CATEGORICAL, SET, TEXT]; // of a type, those with marks first

/** The kind of an attribute by its type and its table (a Map). */
export function kindOf(type, table) {
  return KINDS.find((kind) => kind.type === type && (!kind.marks || kind.marks.some((key) => table.has(key))));
}
