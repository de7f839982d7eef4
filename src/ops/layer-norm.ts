import { asRows, expectDType, expectShape, sameRuntime } from "../tensor/check.js";
import { empty, emptyLike } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { gradientOf, record, wants } from "./tape.js";

/**
 * Layer normalisation over the last axis: gamma·(x − μ)/√(σ² + eps) + beta.
 *
 * Mean and variance are taken in two passes, so a large mean costs no digits.
 *
 * @param x      f32[..., n]
 * @param gamma  f32[n]
 * @param beta   f32[n]
 * @param options.eps  default 1e-5
 * @returns f32[..., n]
 * @throws {ShapeError} the shapes above do not fit
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
  const { runtime } = x;
  const eps = options.eps ?? 1e-5;
  const y = emptyLike(x);
  const means = empty(runtime, [rows]);
  const scales = empty(runtime, [rows]);
  runtime.run(
    "layerNormF32",
    [y.ptr, means.ptr, scales.ptr, x.ptr, gamma.ptr, beta.ptr, n, eps],
    rows,
    3 * n,
  );
  return record("layerNorm", y, [x, gamma, beta], (dy) => {
    const dGamma = gradientOf(gamma) ?? empty(runtime, [n]);
    const dBeta = gradientOf(beta) ?? empty(runtime, [n]);
    if (wants(gamma) || wants(beta))
      runtime.run(
        "layerNormParameterGradF32",
        [dGamma.ptr, dBeta.ptr, dy.ptr, x.ptr, means.ptr, scales.ptr, rows, n],
        Math.ceil(n / 4),
        4 * rows,
      );
    if (!wants(x)) return [null, null, null];
    const dx = emptyLike(x);
    const scratch = empty(runtime, [rows, 2, n]);
    runtime.run(
      "layerNormGradF32",
      [dx.ptr, scratch.ptr, dy.ptr, x.ptr, means.ptr, scales.ptr, gamma.ptr, n],
      rows,
      8 * n,
    );
    return [dx, null, null];
  });
}
