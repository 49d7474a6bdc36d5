/** The payload: the level, one byte where there are several, then every integer's distance from its lowest value. */

import { join, littleEndian } from "./bytes.mjs";
import { RefusedReport } from "./errors.mjs";

export function payloadBytes(mechanism, level) {
  return Number(mechanism.levels > 1) + mechanism.ranges(level).reduce((sum, range) => sum + bytesFor(range), 0);
}

function bytesFor([low, high]) {
  let bytes = 1;
  while (256 ** bytes <= high - low) bytes += 1;
  return bytes;
}

export function pack(mechanism, { level, values }) {
  const ranges = mechanism.ranges(level);
  if (!accepts(mechanism, ranges, values)) throw new RefusedReport("out_of_range");
  const head = mechanism.levels > 1 ? [Uint8Array.of(level)] : [];
  return join([...head, ...values.map((value, i) => littleEndian(value - ranges[i][0], bytesFor(ranges[i])))]);
}

export function unpack(mechanism, payload) {
  const head = Number(mechanism.levels > 1);
  if (payload.length < head) throw new RefusedReport("wrong_length");
  const level = head ? payload[0] : 0;
  if (level >= mechanism.levels) throw new RefusedReport("unknown_level");
  if (payload.length !== payloadBytes(mechanism, level)) throw new RefusedReport("wrong_length");
  const ranges = mechanism.ranges(level);
  let start = head;
  const values = ranges.map((range) => {
    const bytes = payload.subarray(start, start + bytesFor(range));
    start += bytes.length;
    return range[0] + bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
  });
  if (!accepts(mechanism, ranges, values)) throw new RefusedReport("out_of_range");
  return { level, values };
}

function accepts(mechanism, ranges, values) {
  const areInside = values.length === ranges.length && values.every((value, i) => value >= ranges[i][0] && value <= ranges[i][1]);
  return areInside && !(mechanism.isAscending && values.some((value, i) => i > 0 && values[i - 1] >= value));
}
