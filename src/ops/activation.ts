import type { KernelSignatures } from "../kernels/signatures.js";
import { expectDType } from "../tensor/check.js";
import { emptyLike } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { record } from "./tape.js";

export interface GeluOptions {
  /** "none": through erf; "tanh": the approximation of GPT-2; default "none". */
  readonly approximate?: "none" | "tanh";
}

/** Kernels whose arguments are addresses alone: [y, x], and [dx, dy, what was kept]. */
type ValueKernel = Matching<[y: number, x: number]>;
type GradKernel = Matching<[dx: number, dy: number, kept: number]>;
type Matching<Args> = {
  [K in keyof KernelSignatures]: KernelSignatures[K] extends Args
    ? Args extends KernelSignatures[K]
      ? K
      : never
    : never;
}[keyof KernelSignatures];

interface Activation {
  readonly value: ValueKernel;
  readonly grad: GradKernel;
  /** What the gradient is computed from. */
  readonly keeps: "x" | "y";
  /** Rough operations an element, forward. */
  readonly cost: number;
}

const RELU: Activation = { value: "reluF32", grad: "reluGradF32", keeps: "y", cost: 1 };
const GELU_ERF: Activation = { value: "geluErfF32", grad: "geluErfGradF32", keeps: "x", cost: 30 };
const GELU_TANH: Activation = {
  value: "geluTanhF32",
  grad: "geluTanhGradF32",
  keeps: "x",
  cost: 30,
};
const SILU: Activation = { value: "siluF32", grad: "siluGradF32", keeps: "x", cost: 35 };
const TANH: Activation = { value: "tanhF32", grad: "tanhGradF32", keeps: "y", cost: 20 };
const SIGMOID: Activation = { value: "sigmoidF32", grad: "sigmoidGradF32", keeps: "y", cost: 35 };
const EXP: Activation = { value: "expF32", grad: "expGradF32", keeps: "y", cost: 30 };
const LOG: Activation = { value: "logF32", grad: "logGradF32", keeps: "x", cost: 30 };
const SQRT: Activation = { value: "sqrtF32", grad: "sqrtGradF32", keeps: "y", cost: 5 };

/**
 * max(x, 0), element by element.
 *
 * @param x  f32[...]
 * @returns f32[...]; the gradient at 0 is 0
 * @throws {DTypeError} x is not f32
 */
export function relu(x: Tensor): Tensor {
  return activate("relu", RELU, x);
}

/**
 * Gaussian error linear unit: x·Φ(x), with the normal distribution function Φ.
 *
 * @param x  f32[...]
 * @param options.approximate  "none": Φ(x) = (1 + erf(x/√2))/2; "tanh":
 *   (1 + tanh(√(2/π)·(x + 0.044715·x³)))/2
 * @throws {DTypeError} x is not f32
 * @source Hendrycks, Gimpel 2016, arXiv:1606.08415, §2
 */
export function gelu(x: Tensor, options: GeluOptions = {}): Tensor {
  const { approximate = "none" } = options;
  if (approximate !== "none" && approximate !== "tanh")
    throw new TypeError(`gelu: approximate must be "none" or "tanh", got ${String(approximate)}`);
  return activate("gelu", approximate === "tanh" ? GELU_TANH : GELU_ERF, x);
}

/**
 * x·σ(x), element by element; also called swish.
 *
 * @param x  f32[...]
 * @throws {DTypeError} x is not f32
 * @source Ramachandran et al. 2017, arXiv:1710.05941
 */
export function silu(x: Tensor): Tensor {
  return activate("silu", SILU, x);
}

/** tanh x, element by element, within 4 ulp. @throws {DTypeError} x is not f32 */
export function tanh(x: Tensor): Tensor {
  return activate("tanh", TANH, x);
}

/** 1/(1 + e⁻ˣ), element by element, within 4 ulp. @throws {DTypeError} x is not f32 */
export function sigmoid(x: Tensor): Tensor {
  return activate("sigmoid", SIGMOID, x);
}

/** eˣ, element by element, within 2 ulp. @throws {DTypeError} x is not f32 */
export function exp(x: Tensor): Tensor {
  return activate("exp", EXP, x);
}

/**
 * ln x, element by element, within 4 ulp.
 *
 * @param x  f32[...]; 0 gives −∞, negative numbers NaN
 * @throws {DTypeError} x is not f32
 */
export function log(x: Tensor): Tensor {
  return activate("log", LOG, x);
}

/** √x, element by element, correctly rounded. @throws {DTypeError} x is not f32 */
export function sqrt(x: Tensor): Tensor {
  return activate("sqrt", SQRT, x);
}

/** −x, element by element. @throws {DTypeError} x is not f32 */
export function neg(x: Tensor): Tensor {
  expectDType("neg", x, "f32", "x");
  return record("neg", negated(x), [x], (dy) => [negated(dy)]);
}

function negated(x: Tensor): Tensor {
  const y = emptyLike(x);
  x.runtime.run("negF32", [y.ptr, x.ptr], x.size);
  return y;
}

function activate(who: string, { value, grad, keeps, cost }: Activation, x: Tensor): Tensor {
  expectDType(who, x, "f32", "x");
  const { runtime } = x;
  const y = emptyLike(x);
  runtime.run(value, [y.ptr, x.ptr], x.size, cost);
  return record(who, y, [x], (dy) => {
    const dx = emptyLike(x);
    const kept = keeps === "x" ? x : y;
    runtime.run(grad, [dx.ptr, dy.ptr, kept.ptr], x.size, cost);
    return [dx];
  });
}
