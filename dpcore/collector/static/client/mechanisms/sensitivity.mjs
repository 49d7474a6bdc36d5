/** How far two inputs' rows of tables are from each other at most; exact. */

import { isAtMost } from "../promise.mjs";

const MARGIN = 1e-9; // of sums of fewer than 2^20 doubles, which choose the pairs that are looked at in whole numbers

/** The largest sum over tables of the l1 distance of two rows, divided by the table's scale: a fraction. */
export function largestDistance(tables, scales) {
  const rows = Array.from({ length: tables[0].rows }, (_, row) => rowOf(tables, row));
  const scaled = (distances) => distances.reduce((sum, distance, block) => sum + distance / scales[block], 0);
  for (const row of rows) row.norm = scaled(row.norms);
  rows.sort((a, b) => b.norm - a.norm);
  const margin = tables.length > 1 ? MARGIN : 0; // one table's distances are whole numbers
  const looked = new Set();
  let [best, most] = [0, [0n, 1n]];
  for (let i = 0; i < rows.length && rows[i].norm * 2 > best; i += 1) {
    for (let j = i + 1; j < rows.length && rows[i].norm + rows[j].norm > best; j += 1) {
      const distances = rows[i].entries.map((entries, block) => distance(entries, rows[j].entries[block]));
      const about = scaled(distances);
      if (about <= best || looked.has(distances.join())) continue;
      looked.add(distances.join());
      const exact = sumOf(distances, scales);
      if (!isAtMost(exact, most)) most = exact;
      best = Math.max(best, about * (1 - margin));
    }
  }
  return most;
}

/** What is not zero in a row of each table, and the sums of its magnitudes. */
function rowOf(tables, row) {
  const entries = tables.map(({ columns, values }) => {
    const found = [];
    for (let column = 0; column < columns; column += 1) {
      const value = values[row * columns + column];
      if (value !== 0) found.push([column, value]);
    }
    return found;
  });
  return { entries, norms: entries.map((found) => found.reduce((sum, [, value]) => sum + Math.abs(value), 0)) };
}

function sumOf(distances, scales) {
  return distances.reduce(([top, bottom], distance, block) => {
    const scale = BigInt(scales[block]);
    return [top * scale + BigInt(distance) * bottom, bottom * scale];
  }, [0n, 1n]);
}

function distance(left, right) {
  let [i, j, sum] = [0, 0, 0];
  while (i < left.length || j < right.length) {
    const a = i < left.length ? left[i][0] : Infinity;
    const b = j < right.length ? right[j][0] : Infinity;
    sum += Math.abs((a <= b ? left[i][1] : 0) - (b <= a ? right[j][1] : 0));
    if (a <= b) i += 1;
    if (b <= a) j += 1;
  }
  return sum;
}
