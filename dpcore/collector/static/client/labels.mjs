/** Labels: what is sent in clear beside the answers, as the scheme says: the place of its category, which nothing hides. */

import { checkTitle, entriesOf, printable } from "./entries.mjs";
import { SchemeError } from "./errors.mjs";
import { TABLES } from "./keys.mjs";
import { CATEGORICAL } from "./kinds/basic.mjs";

const MOST_CELLS = 4096; // combinations of all labels' categories
const WEIGHTED = "weighted"; // the name of weighted estimates
const LABEL_NAME = /^[a-z][a-z0-9_]{0,62}$/;

/** The label that a table says, an attribute whose value is sent; throws SchemeError. */
export function labelOf(name, table) {
  if (!(table instanceof Map) || !LABEL_NAME.test(name)) {
    throw new SchemeError("a label must be a table whose name is lower-case letters, digits and _");
  }
  const entries = entriesOf(TABLES.label, table);
  const { column = name } = Object.fromEntries(entries);
  printable("column", column);
  if (table.has("title")) checkTitle("title", table.get("title"));
  const domain = { kind: CATEGORICAL, ...CATEGORICAL.domain(entries) };
  if (table.has("control") && !domain.categories.includes(entries.get("control"))) {
    throw new SchemeError(`control must be one of the categories; got ${entries.get("control")}`);
  }
  const inputs = domain.categories.length;
  return { name, type: "label", column, title: entries.get("title"), mechanism: { inputs, levels: 1, ranges: () => [[0, inputs - 1]] }, ...domain };
}

/** Throws SchemeError where a label would send an attribute's answer, or there are too many combinations. */
export function checkLabels(labels, attributes) {
  if (labels.size === 0) return;
  const asked = new Set([...attributes.values()].flatMap(({ name, column, columns }) => [name, ...(columns ?? [column])]));
  for (const { name, column } of labels.values()) {
    const taken = [name, column].find((one) => asked.has(one));
    if (taken !== undefined) throw new SchemeError(`labels.${name}: ${taken} is also an attribute, which a label would leave unprotected; remove one`);
  }
  if (labels.has(WEIGHTED) || attributes.has(WEIGHTED)) throw new SchemeError(`${WEIGHTED} is the name of weighted estimates`);
  const cells = [...labels.values()].reduce((product, { mechanism }) => product * mechanism.inputs, 1);
  if (cells > MOST_CELLS) throw new SchemeError(`labels must have at most ${MOST_CELLS} combinations of categories, got ${cells}`);
  for (const { kind } of attributes.values()) kind.checkLabels?.(cells);
}
