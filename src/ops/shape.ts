import { DTypeError, IndexError, ShapeError } from "../errors.js";
import { normalAxis, sameRuntime, showShape, sizeOf } from "../tensor/check.js";
import { empty, view } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";
import { gradientOf, record, wants } from "./tape.js";

const BYTES = { f32: 4, i32: 4, u8: 1 } as const;
/** Columns a unit of transpose32 owns. */
const BAND = 16;
/** A single run of elements is cut into its rows when they are at least this long, in floats. */
const LONG_ROW = 256;

/**
 * The same elements in another shape. Shares x's memory: nothing is copied.
 *
 * @param shape  as many elements as x; one axis may be −1 and takes what is left
 * @throws {ShapeError} the number of elements differs
 */
export function reshape(x: Tensor, shape: Shape): Tensor {
  const full = completed(x, shape);
  return record("reshape", alias(x, full), [x], (dy) => [view(dy, x.shape)]);
}

/**
 * Reorders axes: axis i of the result is axis axes[i] of x.
 *
 * @param x     f32[...] or i32[...]
 * @param axes  every axis of x once; negative counts from the back
 * @throws {ShapeError} axes is no permutation, or more than six groups of axes move apart
 * @throws {DTypeError} x is u8
 * @example
 * const heads = transpose(reshape(q, [B, L, H, D]), [0, 2, 1, 3]); // [B, H, L, D]
 */
export function transpose(x: Tensor, axes: readonly number[]): Tensor {
  const order = axes.map((axis) => normalAxis("transpose", axis, x.rank));
  if (order.length !== x.rank || new Set(order).size !== x.rank)
    throw new ShapeError(
      `transpose: axes must name each axis of ${showShape(x.shape)} once, got ${showShape(axes)}`,
    );
  if (x.dtype === "u8") throw new DTypeError(`transpose: x must be f32 or i32, got ${x}`);
  const inverse = order.map((_, axis) => order.indexOf(axis));
  return record("transpose", permuted(x, order), [x], (dy) => [permuted(dy, inverse)]);
}

/**
 * The part of x from `from` up to, without, `to` along one axis. Copies; any element type.
 *
 * The gradient is added into that part of x's gradient; the rest is not touched.
 *
 * @param axis  negative counts from the back
 * @throws {IndexError} 0 ≤ from ≤ to ≤ length does not hold
 */
export function slice(x: Tensor, axis: number, from: number, to: number): Tensor {
  const at = normalAxis("slice", axis, x.rank);
  const length = x.shape[at] as number;
  if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= length))
    throw new IndexError(
      `slice: from and to must be integers with 0 ≤ from ≤ to ≤ ${length}, the length of axis ` +
        `${at} of ${showShape(x.shape)}, got ${from} and ${to}`,
    );
  const { runtime } = x;
  const y = empty(runtime, x.shape.with(at, to - from), x.dtype);
  if (y.size === 0) return record("slice", y, [x], () => [null]);
  const part = partOf(x.shape, at, from, to);
  copyPart(y, 0, part.n, x, part.offset, part.stride, part);
  return record("slice", y, [x], (dy) => {
    const dx = gradientOf(x);
    if (dx)
      runtime.run(
        "accumulateRowsF32",
        [dx.ptr + 4 * part.offset, dy.ptr, part.n, part.stride, part.n],
        part.rows,
        part.n,
      );
    return [null];
  });
}

/**
 * Tensors one behind the other along an axis; all other axes must be equal. Any element type.
 *
 * @param xs    at least one, of one dtype
 * @param axis  negative counts from the back
 * @throws {ShapeError} the other axes differ, or there is no tensor
 * @throws {DTypeError} the element types differ
 */
export function concat(xs: readonly Tensor[], axis: number): Tensor {
  const [first] = xs;
  if (!first) throw new ShapeError("concat: there must be at least one tensor, got none");
  const at = normalAxis("concat", axis, first.rank);
  for (const x of xs) checkNeighbour(first, x, at);
  sameRuntime("concat", ...xs);

  const lengths = xs.map((x) => x.shape[at] as number);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const shape = first.shape.with(at, total);
  const y = empty(first.runtime, shape, first.dtype);
  const parts = lengths.map((length, i) => {
    const from = lengths.slice(0, i).reduce((sum, each) => sum + each, 0);
    return partOf(shape, at, from, from + length);
  });
  xs.forEach((x, i) => {
    const part = parts[i] as Part;
    copyPart(y, part.offset, part.stride, x, 0, part.n, part);
  });
  return record("concat", y, [...xs], (dy) =>
    xs.map((x, i) => {
      if (!wants(x)) return null;
      const part = parts[i] as Part;
      const dx = empty(x.runtime, x.shape);
      copyPart(dx, 0, part.n, dy, part.offset, part.stride, part);
      return dx;
    }),
  );
}

/** Where a range of one axis lies: `rows` runs of n elements, `stride` apart, from `offset` on. */
interface Part {
  readonly rows: number;
  readonly n: number;
  readonly stride: number;
  readonly offset: number;
}

function partOf(shape: Shape, axis: number, from: number, to: number): Part {
  const outer = sizeOf(shape.slice(0, axis));
  const inner = sizeOf(shape.slice(axis + 1));
  const length = shape[axis] as number;
  const offset = from * inner;
  // One run of many long rows is cut into them, so that threads can share it.
  if (outer === 1 && inner >= LONG_ROW) return { rows: to - from, n: inner, stride: inner, offset };
  return { rows: outer, n: (to - from) * inner, stride: length * inner, offset };
}

function copyPart(
  y: Tensor,
  yOffset: number,
  yStride: number,
  x: Tensor,
  xOffset: number,
  xStride: number,
  { rows, n }: Part,
): void {
  const bytes = BYTES[x.dtype];
  if (n > 0)
    x.runtime.run(
      "copyRows",
      [
        y.ptr + bytes * yOffset,
        x.ptr + bytes * xOffset,
        bytes * n,
        bytes * yStride,
        bytes * xStride,
      ],
      rows,
      n,
    );
}

function checkNeighbour(first: Tensor, x: Tensor, axis: number): void {
  if (x.dtype !== first.dtype)
    throw new DTypeError(`concat: all tensors must have one dtype, got ${first} and ${x}`);
  const fits =
    x.rank === first.rank && x.shape.every((length, i) => i === axis || length === first.shape[i]);
  if (!fits)
    throw new ShapeError(
      `concat: shapes must be equal but for axis ${axis}, got ${showShape(first.shape)} and ${showShape(x.shape)}`,
    );
}

function completed(x: Tensor, shape: Shape): Shape {
  const open = shape.indexOf(-1);
  const known = sizeOf(shape.filter((_, axis) => axis !== open));
  const full = open < 0 ? shape : shape.with(open, known > 0 ? x.size / known : 0);
  if (!full.every(Number.isInteger) || sizeOf(full) !== x.size)
    throw new ShapeError(
      `reshape: the shapes must have as many elements, got ${showShape(x.shape)} and ${showShape(shape)}`,
    );
  return full;
}

/** A view of x, which must be alive: reading the address says so here and not at a later use. */
function alias(x: Tensor, shape: Shape): Tensor {
  void x.ptr;
  return view(x, shape);
}

/** x with its axes in another order; not recorded. */
function permuted(x: Tensor, order: readonly number[]): Tensor {
  const { runtime } = x;
  const shape = order.map((axis) => x.shape[axis] as number);
  const groups = moving(x.shape, order);
  if (x.size === 0 || groups.length < 2) return alias(x, shape);
  const y = empty(runtime, shape, x.dtype);
  const [n, ...others] = groups.toReversed() as [AxisGroup, ...AxisGroup[]];
  const [swapped, batch, ...more] = others as [AxisGroup, AxisGroup?, ...AxisGroup[]];

  // The last two axes of x change places, with at most one more in front: tiles.
  const last = swapped.stride === 1 && n.stride === swapped.length;
  if (last && more.length === 0 && (!batch || batch.stride === n.stride * n.length)) {
    const [rows, columns] = [n.length, swapped.length];
    const bands = (batch?.length ?? 1) * Math.ceil(columns / BAND);
    runtime.run("transpose32", [y.ptr, x.ptr, rows, columns], bands, BAND * rows);
    return y;
  }
  if (others.length > 5)
    throw new ShapeError(
      `transpose: at most six groups of axes may move apart, got ${others.length + 1} for ${showShape(x.shape)} by ${showShape(order)}`,
    );
  const one: AxisGroup = { length: 1, stride: 0 };
  const [g4, g3, g2, g1, g0] = [...others, one, one, one, one, one] as [
    AxisGroup,
    AxisGroup,
    AxisGroup,
    AxisGroup,
    AxisGroup,
  ];
  const sizes = [g1.length, g2.length, g3.length, g4.length] as const;
  const strides = [g0.stride, g1.stride, g2.stride, g3.stride, g4.stride] as const;
  runtime.run(
    "permute32",
    [y.ptr, x.ptr, n.length, n.stride, ...sizes, ...strides],
    x.size / n.length,
    n.length,
  );
  return y;
}

/** Axes that stay neighbours, folded into one: its length, and its stride in x in elements. */
interface AxisGroup {
  readonly length: number;
  readonly stride: number;
}

/** The axes of the result in order, those of length 1 left out, neighbours folded. */
function moving(shape: Shape, order: readonly number[]): AxisGroup[] {
  const groups: AxisGroup[] = [];
  for (const axis of order) {
    const length = shape[axis] as number;
    if (length === 1) continue;
    const stride = sizeOf(shape.slice(axis + 1));
    const before = groups.at(-1);
    if (before && before.stride === stride * length)
      groups[groups.length - 1] = { length: before.length * length, stride };
    else groups.push({ length, stride });
  }
  return groups;
}
