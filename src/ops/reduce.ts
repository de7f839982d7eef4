import { ShapeError } from "../errors.js";
import { expectDType, normalAxis, showShape, sizeOf } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";
import { mul } from "./arithmetic.js";
import { reshape } from "./shape.js";
import { record } from "./tape.js";

export interface ReduceOptions {
  /** Keep the reduced axis, with length 1. */
  readonly keepDims?: boolean;
}

/** Floats of a block whose sum is one partial: long sums stay short, and in one order. */
const BLOCK = 4096;

/**
 * The sum over one axis, or over all elements when no axis is given.
 *
 * @param x     f32[...]
 * @param axis  −rank … rank − 1
 * @returns f32 without that axis; 0 where it has no elements
 * @throws {ShapeError} there is no such axis
 */
export function sum(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  expectDType("sum", x, "f32", "x");
  if (axis === undefined) return sumAll(x);
  return reduceAxis("sum", x, axis, options);
}

/**
 * The mean over one axis, or over all elements when no axis is given.
 *
 * @throws {ShapeError} there is no such axis, or it has no elements
 */
export function mean(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  expectDType("mean", x, "f32", "x");
  const count = axis === undefined ? x.size : x.shape[normalAxis("mean", axis, x.rank)];
  if (!count)
    throw new ShapeError(`mean: must have at least one element, got ${showShape(x.shape)}`);
  return mul(sum(x, axis, options), 1 / count);
}

/**
 * The largest over one axis, or of all elements; NaN when one is there. The gradient goes to the
 * first element that has the maximum.
 *
 * @throws {ShapeError} there is no such axis, or it has no elements
 */
export function max(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  expectDType("max", x, "f32", "x");
  const count = axis === undefined ? x.size : x.shape[normalAxis("max", axis, x.rank)];
  if (!count)
    throw new ShapeError(`max: must have at least one element, got ${showShape(x.shape)}`);
  if (axis === undefined) return reshape(reduceAxis("max", reshape(x, [x.size]), 0, {}), []);
  return reduceAxis("max", x, axis, options);
}

/** Blocks of constant length give partials, which are summed in turn. */
function sumAll(x: Tensor): Tensor {
  const { runtime } = x;
  const y = empty(runtime, []);
  const whole = Math.floor(x.size / BLOCK);
  const rest = x.size - whole * BLOCK;
  const partials = empty(runtime, [whole + 1]);
  runtime.run("sumLastF32", [partials.ptr, x.ptr, BLOCK], whole, BLOCK / 4);
  runtime.run("sumLastF32", [partials.ptr + 4 * whole, x.ptr + 4 * whole * BLOCK, rest], 1);
  runtime.run("sumLastF32", [y.ptr, partials.ptr, whole + 1], 1);
  return record("sum", y, [x], (dy) => [spread(dy, x.shape, 1, x.size, 1)]);
}

function reduceAxis(
  who: "sum" | "max",
  x: Tensor,
  axis: number,
  { keepDims = false }: ReduceOptions,
): Tensor {
  const { runtime, shape } = x;
  const at = normalAxis(who, axis, x.rank);
  const outer = sizeOf(shape.slice(0, at));
  const middle = shape[at] as number;
  const inner = sizeOf(shape.slice(at + 1));
  const kept = keepDims ? shape.with(at, 1) : shape.filter((_, index) => index !== at);
  const y = empty(runtime, kept);
  if (inner === 1)
    runtime.run(who === "sum" ? "sumLastF32" : "maxRowF32", [y.ptr, x.ptr, middle], outer, middle);
  else
    runtime.run(
      who === "sum" ? "sumMiddleF32" : "maxMiddleF32",
      [y.ptr, x.ptr, middle, inner],
      outer * Math.ceil(inner / 32),
      32 * middle,
    );
  return record(who, y, [x], (dy) => {
    if (who === "sum") return [spread(dy, shape, outer, middle, inner)];
    const dx = empty(runtime, shape);
    runtime.run(
      "maxGradF32",
      [dx.ptr, dy.ptr, x.ptr, y.ptr, middle, inner],
      outer * inner,
      2 * middle,
    );
    return [dx];
  });
}

function spread(dy: Tensor, shape: Shape, outer: number, middle: number, inner: number): Tensor {
  const dx = empty(dy.runtime, shape);
  dy.runtime.run("spreadF32", [dx.ptr, dy.ptr, middle, inner, 1], outer * middle, inner);
  return dx;
}
