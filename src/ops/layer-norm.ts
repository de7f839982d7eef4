import { asRows, expectDType, expectShape, sameRuntime } from "../tensor/check.js";
import { empty, emptyLike } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { gradientOf, record, recording, wants } from "./tape.js";

/** Columns that one unit of layerNormParameterGradF32 owns. */
const BLOCK = 16;

/**
 * Layer normalisation over the last axis: gamma·(x − μ)/√(σ² + eps) + beta.
 *
 * Mean and variance are taken in two passes, measured from the row's first element: a large mean
 * costs no digits, and a constant row gives beta.
 *
 * @param x      f32[..., n]
 * @param gamma  f32[n]
 * @param beta   f32[n]
 * @param options.eps  default 1e-5
 * @returns f32[..., n]; NaN throughout a row that holds NaN or ±∞
 * @throws {ShapeError} the shapes above do not fit
 * @throws {RangeError} eps is negative
 * @source Ba et al. 2016, arXiv:1607.06450
 */
export function layerNorm(
  x: Tensor,
  gamma: Tensor,
  beta: Tensor,
  options: { readonly eps?: number } = {},
): Tensor {
  const [rows, n] = asRows("layerNorm", x);
  for (const [name, weight] of [
    ["gamma", gamma],
    ["beta", beta],
  ] as const) {
    expectDType("layerNorm", weight, "f32", name);
    expectShape("layerNorm", weight, [n], name);
  }
  sameRuntime("layerNorm", x, gamma, beta);
  const { eps = 1e-5 } = options;
  if (!(eps >= 0)) throw new RangeError(`layerNorm: eps must not be negative, got ${eps}`);

  const { runtime } = x;
  const y = emptyLike(x);
  const offsets = empty(runtime, [rows]);
  const scales = empty(runtime, [rows]);
  runtime.run(
    "layerNormF32",
    [y.ptr, offsets.ptr, scales.ptr, x.ptr, gamma.ptr, beta.ptr, n, eps],
    rows,
    3 * n,
  );
  if (!recording([x, gamma, beta])) for (const used of [offsets, scales]) used.dispose();
  return record("layerNorm", y, [x, gamma, beta], (dy) => {
    if (wants(gamma) || wants(beta)) {
      const dGamma = gradientOf(gamma) ?? empty(runtime, [n]);
      const dBeta = gradientOf(beta) ?? empty(runtime, [n]);
      runtime.run(
        "layerNormParameterGradF32",
        [dGamma.ptr, dBeta.ptr, dy.ptr, x.ptr, offsets.ptr, scales.ptr, rows, n],
        Math.ceil(n / BLOCK),
        2 * BLOCK * rows,
      );
    }
    if (!wants(x)) return [null, null, null];
    const dx = emptyLike(x);
    runtime.run(
      "layerNormGradF32",
      [dx.ptr, dy.ptr, x.ptr, offsets.ptr, scales.ptr, gamma.ptr, n],
      rows,
      6 * n,
    );
    return [dx, null, null];
  });
}
