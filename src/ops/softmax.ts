import { asRows } from "../tensor/check.js";
import { emptyLike } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { record } from "./tape.js";

/**
 * Softmax over the last axis: e^(x − max) / Σ e^(x − max).
 *
 * @param x  f32[..., n]
 * @returns f32[..., n]; zeros where a row is −∞ throughout, NaN where it holds NaN or +∞
 * @throws {ShapeError} x is a scalar
 */
export function softmax(x: Tensor): Tensor {
  const [rows, n] = asRows("softmax", x);
  const { runtime } = x;
  const y = emptyLike(x);
  runtime.run("softmaxF32", [y.ptr, x.ptr, n], rows, 8 * n);
  return record("softmax", y, [x], (dy) => {
    const dx = emptyLike(x);
    runtime.run("softmaxGradF32", [dx.ptr, dy.ptr, y.ptr, n], rows, 4 * n);
    return [dx];
  });
}

/**
 * The logarithm of softmax() over the last axis: x − max − ln Σ e^(x − max).
 *
 * @param x  f32[..., n]
 * @returns f32[..., n]; −∞ where a row is −∞ throughout
 * @throws {ShapeError} x is a scalar
 */
export function logSoftmax(x: Tensor): Tensor {
  const [rows, n] = asRows("logSoftmax", x);
  const { runtime } = x;
  const y = emptyLike(x);
  runtime.run("logSoftmaxF32", [y.ptr, x.ptr, n], rows, 8 * n);
  return record("logSoftmax", y, [x], (dy) => {
    const dx = emptyLike(x);
    runtime.run("logSoftmaxGradF32", [dx.ptr, dy.ptr, y.ptr, n], rows, 8 * n);
    return [dx];
  });
}
