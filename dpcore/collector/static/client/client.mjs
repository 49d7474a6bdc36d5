/** The client: one record in, one report out. */

import { join, littleEndian, toText } from "./bytes.mjs";
import { cellOf } from "./kinds.mjs";
import { one, secure } from "./random.mjs";
import { NAME_BYTES, publicLevels } from "./tokens.mjs";

export class Client {
  /** random: a source; token: what `tokenOf` makes, or null. */
  constructor(scheme, { random = secure(), token = null } = {}) {
    this.scheme = scheme;
    this.random = random;
    this.token = token;
  }

  /** The report of one record; every call spends the scheme's epsilon.  Throws InvalidRecord with nothing drawn. */
  async report(record, round = "") {
    const { scheme, random, token } = this;
    const cells = new Map([...scheme.reported.values()].map((attribute) => [attribute.name, cellOf(attribute, record)]));
    const fixed = token === null ? null : await publicLevels(scheme, token);
    const id = join(Array.from(random.words(NAME_BYTES / 4), (word) => littleEndian(word, 4)));
    const drawUnit = () => (scheme.reporting === "all" ? [...scheme.attributes.keys()] : scheme.units[one(random, scheme.units.length)]);
    const answers = new Map();
    for (const name of fixed ? fixed.keys() : drawUnit()) {
      const { mechanism } = scheme.attributes.get(name);
      const level = fixed ? fixed.get(name) : mechanism.drawLevel(random);
      answers.set(name, { level, values: mechanism.privatize(cells.get(name), level, random) });
    }
    for (const name of scheme.labels.keys()) answers.set(name, { level: 0, values: [cells.get(name)] });
    return { digest: scheme.digest, answers, id: toText(id), token, sentFor: round };
  }
}
