import { ShapeError } from "../errors.js";
import { expectDType, normalAxis, showShape, sizeOf } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";
import { div } from "./arithmetic.js";
import { record, recording } from "./tape.js";

export interface ReduceOptions {
  /** Keep what is reduced as axes of length 1. */
  readonly keepDims?: boolean;
}

/** x as the kernels see it, [outer, middle, inner] with the middle reduced, and the result's shape. */
interface Reduction {
  readonly outer: number;
  readonly middle: number;
  readonly inner: number;
  readonly kept: Shape;
}

/** Floats of a block whose sum is one partial: long sums stay short, and in one order. */
const BLOCK = 4096;
/** Columns that one unit of the kernels over a middle axis owns. */
const COLUMNS = 32;

/**
 * The sum over one axis, or over all elements when no axis is given.
 *
 * @param x     f32[...]
 * @param axis  −rank … rank − 1
 * @returns f32 without that axis; 0 where it has no elements
 * @throws {ShapeError} there is no such axis
 */
export function sum(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  const reduction = reductionOf("sum", x, axis, options);
  const y = axis === undefined ? sumAll(x, reduction) : sumAxis(x, reduction);
  return record("sum", y, [x], (dy) => {
    const { outer, middle, inner } = reduction;
    const dx = empty(x.runtime, x.shape);
    x.runtime.run("spreadF32", [dx.ptr, dy.ptr, middle, inner], outer * middle, inner);
    return [dx];
  });
}

/**
 * The mean over one axis, or over all elements when no axis is given.
 *
 * @param x     f32[...]
 * @param axis  −rank … rank − 1
 * @returns f32 without that axis
 * @throws {ShapeError} there is no such axis, or it has no elements
 */
export function mean(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  const { middle } = reductionOf("mean", x, axis, options);
  expectSome("mean", x, middle);
  return x.runtime.guarded(() => {
    const total = sum(x, axis, options);
    const y = div(total, middle);
    if (!recording([x])) total.dispose();
    return y;
  });
}

/**
 * The largest over one axis, or of all elements; NaN when one is there. The gradient goes to the
 * first element that has the maximum.
 *
 * @param x     f32[...]
 * @param axis  −rank … rank − 1
 * @returns f32 without that axis
 * @throws {ShapeError} there is no such axis, or it has no elements
 */
export function max(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  const { outer, middle, inner, kept } = reductionOf("max", x, axis, options);
  expectSome("max", x, middle);
  const { runtime } = x;
  const y = empty(runtime, kept);
  const units = outer * Math.ceil(inner / COLUMNS);
  if (inner === 1) runtime.run("maxLastF32", [y.ptr, x.ptr, middle], outer, middle / 4);
  else runtime.run("maxMiddleF32", [y.ptr, x.ptr, middle, inner], units, COLUMNS * middle);
  return record("max", y, [x], (dy) => {
    const dx = empty(runtime, x.shape);
    const from = [dx.ptr, dy.ptr, x.ptr, y.ptr, middle] as const;
    if (inner === 1) runtime.run("maxGradLastF32", [...from], outer, middle);
    else runtime.run("maxGradMiddleF32", [...from, inner], units, COLUMNS * middle);
    return [dx];
  });
}

function reductionOf(
  who: string,
  x: Tensor,
  axis: number | undefined,
  { keepDims = false }: ReduceOptions,
): Reduction {
  expectDType(who, x, "f32", "x");
  const { shape } = x;
  if (axis === undefined)
    return { outer: 1, middle: x.size, inner: 1, kept: keepDims ? shape.map(() => 1) : [] };
  const at = normalAxis(who, axis, x.rank);
  return {
    outer: sizeOf(shape.slice(0, at)),
    middle: shape[at] as number,
    inner: sizeOf(shape.slice(at + 1)),
    kept: keepDims ? shape.with(at, 1) : shape.filter((_, index) => index !== at),
  };
}

function expectSome(who: string, x: Tensor, count: number): void {
  if (count === 0)
    throw new ShapeError(`${who}: must have at least one element, got ${showShape(x.shape)}`);
}

function sumAxis(x: Tensor, { outer, middle, inner, kept }: Reduction): Tensor {
  const { runtime } = x;
  const y = empty(runtime, kept);
  const units = outer * Math.ceil(inner / COLUMNS);
  if (inner === 1) runtime.run("sumLastF32", [y.ptr, x.ptr, middle], outer, middle / 4);
  else runtime.run("sumMiddleF32", [y.ptr, x.ptr, middle, inner], units, COLUMNS * middle);
  return y;
}

/** Blocks of constant length give partials, which are summed in turn. */
function sumAll(x: Tensor, { kept }: Reduction): Tensor {
  const { runtime, size } = x;
  const y = empty(runtime, kept);
  const whole = Math.floor(size / BLOCK);
  const rest = size - whole * BLOCK;
  const partials = empty(runtime, [whole + 1]);
  const last = 4 * whole;
  runtime.run("sumLastF32", [partials.ptr, x.ptr, BLOCK], whole, BLOCK / 4);
  runtime.run("sumLastF32", [partials.ptr + last, x.ptr + last * BLOCK, rest], 1);
  runtime.run("sumLastF32", [y.ptr, partials.ptr, whole + 1], 1);
  partials.dispose();
  return y;
}
