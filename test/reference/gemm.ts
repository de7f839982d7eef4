/** The product a·b of a [m, k] and b [k, n], row-major, in float64. */
export function gemm(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  m: number,
  n: number,
  k: number,
): Float64Array {
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n; j++)
      for (let kk = 0; kk < k; kk++)
        c[i * n + j] = at(c, i * n + j) + at(a, i * k + kk) * at(b, kk * n + j);
  return c;
}

/**
 * Σₖ |a·b| of each element: what the error of a sum of k products is judged against, as the
 * result itself may cancel to nothing (Higham, Accuracy and Stability, § 3.1).
 */
export function gemmMagnitude(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  m: number,
  n: number,
  k: number,
): Float64Array {
  return gemm(Array.from(a, Math.abs), Array.from(b, Math.abs), m, n, k);
}

/** The transpose of x [rows, columns]. */
export function transpose(x: ArrayLike<number>, rows: number, columns: number): Float64Array {
  const y = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) y[j * rows + i] = at(x, i * columns + j);
  return y;
}

function at(x: ArrayLike<number>, index: number): number {
  return x[index] ?? Number.NaN;
}

/** A matrix stack: `shape` [..., rows, columns] over `values`, used transposed or not. */
export interface Stack {
  readonly values: ArrayLike<number>;
  readonly shape: readonly number[];
  readonly transposed?: boolean;
}

/** a·b over the last two axes, the leading axes broadcast, in float64. */
export function matmul(a: Stack, b: Stack): Float64Array {
  const rank = Math.max(a.shape.length, b.shape.length) - 2;
  const [left, right] = [leading(a, rank), leading(b, rank)];
  const lead = left.map((length, axis) => (length === 1 ? at(right, axis) : length));
  const count = lead.reduce((product, length) => product * length, 1);
  const items = Array.from({ length: count }, (_, index) => {
    let rest = index;
    const position = lead.map(() => 0);
    for (let axis = rank - 1; axis >= 0; axis--) {
      position[axis] = rest % at(lead, axis);
      rest = Math.floor(rest / at(lead, axis));
    }
    const [x, m, k] = itemOf(a, left, position);
    const [y, , n] = itemOf(b, right, position);
    return gemm(x, y, m, n, k);
  });
  return Float64Array.from(items.flatMap((item) => [...item]));
}

function leading({ shape }: Stack, rank: number): number[] {
  const own = shape.slice(0, -2);
  return [...Array<number>(rank - own.length).fill(1), ...own];
}

/** The matrix at a position of the broadcast axes, upright, with its rows and columns. */
function itemOf(
  { values, shape, transposed }: Stack,
  lead: number[],
  position: number[],
): [Float64Array, rows: number, columns: number] {
  const [rows, columns] = [at(shape, shape.length - 2), at(shape, shape.length - 1)];
  const index = lead.reduce(
    (sum, length, axis) => sum * length + (length === 1 ? 0 : at(position, axis)),
    0,
  );
  const start = index * rows * columns;
  const item = Float64Array.from({ length: rows * columns }, (_, i) => at(values, start + i));
  return transposed ? [transpose(item, rows, columns), columns, rows] : [item, rows, columns];
}
