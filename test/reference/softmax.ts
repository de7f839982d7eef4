/** e^(x − max) / Σ e^(x − max) of each row of n; zeros where a row is −∞ throughout. */
export function softmax(x: ArrayLike<number>, n: number): Float64Array {
  return byRow(x, n, (row) => {
    const largest = Math.max(...row);
    if (largest === -Infinity) return row.map(() => 0);
    const powers = row.map((value) => Math.exp(value - largest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  });
}

/** ln softmax(x); −∞ where a row is −∞ throughout. */
export function logSoftmax(x: ArrayLike<number>, n: number): Float64Array {
  return byRow(x, n, (row) => {
    const largest = Math.max(...row);
    if (largest === -Infinity) return row;
    const total = row.reduce((sum, value) => sum + Math.exp(value - largest), 0);
    return row.map((value) => value - largest - Math.log(total));
  });
}

/** dx = y·(dy − Σ dy·y). */
export function softmaxGrad(dy: ArrayLike<number>, y: ArrayLike<number>, n: number): Float64Array {
  return byRow(dy, n, (row, from) => {
    const dot = row.reduce((sum, d, j) => sum + d * (y[from + j] as number), 0);
    return row.map((d, j) => (y[from + j] as number) * (d - dot));
  });
}

/** dx = dy − e^y·Σ dy; zeros where y is −∞ throughout. */
export function logSoftmaxGrad(
  dy: ArrayLike<number>,
  y: ArrayLike<number>,
  n: number,
): Float64Array {
  return byRow(dy, n, (row, from) => {
    const logs = row.map((_, j) => y[from + j] as number);
    if (logs.every((log) => log === -Infinity)) return row.map(() => 0);
    const total = row.reduce((sum, d) => sum + d, 0);
    return row.map((d, j) => d - Math.exp(logs[j] as number) * total);
  });
}

function byRow(
  x: ArrayLike<number>,
  n: number,
  f: (row: number[], from: number) => number[],
): Float64Array {
  const y = new Float64Array(x.length);
  for (let from = 0; from < x.length; from += n) {
    const row = Array.from({ length: n }, (_, j) => x[from + j] as number);
    y.set(f(row, from), from);
  }
  return y;
}
