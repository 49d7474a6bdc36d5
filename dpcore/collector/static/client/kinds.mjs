/**
 * The kinds of attributes, by what their values are; no other part of the client tells them apart.
 *
 * A kind has name, its table in `keys.mjs`; type, that of its attributes; marks, keys of which one makes an attribute of this kind
 * (without them: all others of the type); domain(entries, stated) of an attribute's table, where `stated` are the keys that are no
 * defaults; and cellOf.  A domain of several columns lists them in columns; one of a joint attribute has theirs in sides.
 * If needed, a kind has check(domain, mechanismName, inputs, client) of the mechanism; checkLabels(cells) of the combinations of
 * labels; unpaired, its name in refused pairs; and inputsOfSide(side, inputs), the input cells of one column of a joint attribute.
 */

import { BINNED, CATEGORICAL, CROSSED, LATTICE, NUMERIC, PLANE } from "./kinds/basic.mjs";
import { SET } from "./kinds/sets.mjs";
import { TEXT } from "./kinds/texts.mjs";

const KINDS = [PLANE, LATTICE, NUMERIC, CROSSED, BINNED, CATEGORICAL, SET, TEXT]; // of a type, those with marks first

/** The kind of an attribute by its type and its table (a Map). */
export function kindOf(type, table) {
  return KINDS.find((kind) => kind.type === type && (!kind.marks || kind.marks.some((key) => table.has(key))));
}

/** The input cell of an attribute's value in a record, of a text its symbols; throws InvalidRecord. */
export const cellOf = (attribute, record) => attribute.kind.cellOf(attribute, record);
