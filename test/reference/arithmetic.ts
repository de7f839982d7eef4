/** Strides of a shape, 0 where an axis of length 1 is repeated, for an index of `rank` axes. */
function stridesOf(shape: readonly number[], rank: number): number[] {
  const strides = shape.map((length, axis) =>
    length === 1 ? 0 : shape.slice(axis + 1).reduce((product, each) => product * each, 1),
  );
  return [...new Array<number>(rank - shape.length).fill(0), ...strides];
}

/** The shape two operands broadcast to. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const left = a[axis - rank + a.length] ?? 1;
    return left === 1 ? (b[axis - rank + b.length] ?? 1) : left;
  });
}

/** Every index of a shape in row-major order. */
export function* indices(shape: readonly number[]): Generator<number[]> {
  const [length, ...rest] = shape;
  if (length === undefined) yield [];
  else for (let i = 0; i < length; i++) for (const index of indices(rest)) yield [i, ...index];
}

function offset(index: readonly number[], strides: readonly number[]): number {
  return index.reduce((sum, i, axis) => sum + i * (strides[axis] as number), 0);
}

/** f(a, b) for every element of the broadcast shape, in float64. */
export function broadcast(
  f: (a: number, b: number) => number,
  a: ArrayLike<number>,
  aShape: readonly number[],
  b: ArrayLike<number>,
  bShape: readonly number[],
): Float64Array {
  const shape = broadcastShape(aShape, bShape);
  const aStrides = stridesOf(aShape, shape.length);
  const bStrides = stridesOf(bShape, shape.length);
  return Float64Array.from(indices(shape), (index) =>
    f(a[offset(index, aStrides)] as number, b[offset(index, bStrides)] as number),
  );
}

/** x summed over the axes that `target` repeats. */
export function sumTo(
  x: ArrayLike<number>,
  shape: readonly number[],
  target: readonly number[],
): Float64Array {
  const strides = stridesOf(target, shape.length);
  const sum = new Float64Array(target.reduce((product, each) => product * each, 1));
  let i = 0;
  for (const index of indices(shape)) {
    const at = offset(index, strides);
    sum[at] = (sum[at] as number) + (x[i++] as number);
  }
  return sum;
}
