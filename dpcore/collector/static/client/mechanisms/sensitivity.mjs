/** How far two inputs' rows of tables are from each other at most. */

/** The largest weighted l1 distance of two rows: pairs in descending order of what their norms allow, exact. */
export function largestDistance(tables, weights) {
  const rows = Array.from({ length: tables[0].rows }, (_, row) => {
    const entries = [];
    let offset = 0;
    tables.forEach(({ columns, values }, block) => {
      for (let column = 0; column < columns; column += 1) {
        const value = values[row * columns + column];
        if (value !== 0) entries.push([offset + column, value * weights[block]]);
      }
      offset += columns;
    });
    return { entries, norm: entries.reduce((sum, [, value]) => sum + Math.abs(value), 0) };
  });
  rows.sort((a, b) => b.norm - a.norm);
  let best = 0;
  for (let i = 0; i < rows.length && rows[i].norm * 2 > best; i += 1) {
    for (let j = i + 1; j < rows.length && rows[i].norm + rows[j].norm > best; j += 1) {
      best = Math.max(best, distance(rows[i].entries, rows[j].entries));
    }
  }
  return best;
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
