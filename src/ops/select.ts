import { ShapeError } from "../errors.js";
import { asRows, showShape } from "../tensor/check.js";
import { empty, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { recordMany } from "./tape.js";

/**
 * The index of the largest element along the last axis, the lowest among equals.
 * As in NumPy a NaN is larger than every number: the first one wins.
 *
 * @param x  f32[..., n], n ≥ 1
 * @returns i32[...]
 * @throws {ShapeError} the last axis is empty
 * @throws {DTypeError} x is not f32
 */
export function argmax(x: Tensor): Tensor {
  const [rows, n] = asRows("argmax", x);
  if (n === 0)
    throw new ShapeError(`argmax: the last axis must not be empty, got ${showShape(x.shape)}`);
  const y = empty(x.runtime, x.shape.slice(0, -1), "i32");
  x.runtime.run("argmaxF32", [y.ptr, x.ptr, n], rows, n);
  return y;
}

/**
 * The k largest elements along the last axis, descending, the lower index first among equals, NaN
 * before every number. Made for a small k (a beam); a k near n is slow.
 *
 * @param x  f32[..., n]
 * @param k  1 … n
 * @returns values f32[..., k] and indices i32[..., k]
 * @throws {ShapeError} k lies outside 1 … n
 * @throws {DTypeError} x is not f32
 * @example
 * const { values, indices } = topK(logProbabilities, beam);
 */
export function topK(x: Tensor, k: number): { values: Tensor; indices: Tensor } {
  const [rows, n] = asRows("topK", x);
  if (!(Number.isInteger(k) && k >= 1 && k <= n))
    throw new ShapeError(
      `topK: k must be an integer from 1 to ${n}, the last axis of ${showShape(x.shape)}, got ${k}`,
    );
  const { runtime } = x;
  const shape = x.shape.with(-1, k);
  const values = empty(runtime, shape);
  const indices = empty(runtime, shape, "i32");
  runtime.run("topKF32", [values.ptr, indices.ptr, x.ptr, n, k], rows, 2 * n);
  recordMany("topK", [values], [x, indices], ([dValues]) => {
    if (!dValues) return [null];
    const dx = zeros(runtime, x.shape);
    runtime.run("topKGradF32", [dx.ptr, dValues.ptr, indices.ptr, n, k], rows, k);
    return [dx];
  });
  return { values, indices };
}
