/** Indices of a row, the largest first: NaN before numbers, the lower index among equals. */
function ranked(row: readonly number[]): number[] {
  const key = (i: number): number => (Number.isNaN(row[i]) ? Infinity : (row[i] as number));
  const isNaNFirst = (i: number): number => (Number.isNaN(row[i]) ? 0 : 1);
  return row
    .map((_, i) => i)
    .sort(
      (a, b) =>
        isNaNFirst(a) - isNaNFirst(b) || (key(a) === key(b) ? a - b : key(b) > key(a) ? 1 : -1),
    );
}

/** The k largest of each row of n: indices and values. */
export function topK(
  x: ArrayLike<number>,
  n: number,
  k: number,
): { values: number[]; indices: number[] } {
  const values: number[] = [];
  const indices: number[] = [];
  for (let from = 0; from < x.length; from += n) {
    const row = Array.from({ length: n }, (_, j) => x[from + j] as number);
    for (const j of ranked(row).slice(0, k)) {
      indices.push(j);
      values.push(row[j] as number);
    }
  }
  return { values, indices };
}

/** The index of the largest of each row of n. */
export function argmax(x: ArrayLike<number>, n: number): number[] {
  return topK(x, n, 1).indices;
}
