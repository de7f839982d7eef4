/**
 * What optimisers do to one parameter, in place and never recorded. Kept apart from the other ops:
 * these write into their operands, hence the names in `Step`.
 */
import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** Elements a partial sum of squares covers. */
const BLOCK = 4096;

/** The scalars of one AdamW step, in float64; the kernel rounds each once. */
export interface AdamWScalars {
  readonly rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weightDecay: number;
  /** β₁ᵗ and β₂ᵗ */
  readonly power1: number;
  readonly power2: number;
}

/** One AdamW step: writes parameter, mean and variance. */
export function adamWStep(
  parameter: Tensor,
  mean: Tensor,
  variance: Tensor,
  gradient: Tensor,
  scalars: AdamWScalars,
): void {
  const { rate, beta1, beta2, eps, weightDecay, power1, power2 } = scalars;
  parameter.runtime.run(
    "adamWF32",
    [
      parameter.ptr,
      mean.ptr,
      variance.ptr,
      gradient.ptr,
      1 - rate * weightDecay,
      1 - beta1,
      beta2,
      1 - beta2,
      rate / (1 - power1),
      1 / Math.sqrt(1 - power2),
      eps,
    ],
    parameter.size,
    8,
  );
  for (const written of [parameter, mean, variance]) written.touch();
}

/** One step of plain descent: writes the parameter. */
export function sgdStep(
  parameter: Tensor,
  gradient: Tensor,
  rate: number,
  weightDecay: number,
): void {
  const { runtime, size } = parameter;
  runtime.run("sgdF32", [parameter.ptr, gradient.ptr, rate, weightDecay], size, 2);
  parameter.touch();
}

/** One step with momentum, Nesterov's or the usual: writes parameter and velocity. */
export function sgdMomentumStep(
  parameter: Tensor,
  velocity: Tensor,
  gradient: Tensor,
  options: {
    readonly rate: number;
    readonly momentum: number;
    readonly weightDecay: number;
    readonly nesterov: boolean;
  },
): void {
  const { rate, momentum, weightDecay, nesterov } = options;
  const { runtime, size } = parameter;
  runtime.run(
    nesterov ? "sgdNesterovF32" : "sgdMomentumF32",
    [parameter.ptr, velocity.ptr, gradient.ptr, rate, momentum, weightDecay],
    size,
    3,
  );
  parameter.touch();
  velocity.touch();
}

/** x ← scale·x */
export function scaleStep(x: Tensor, scale: number): void {
  x.runtime.run("scaleF32", [x.ptr, x.ptr, scale], x.size);
  x.touch();
}

/** x ← value */
export function fillStep(x: Tensor, value: number): void {
  x.runtime.run("fillF32", [x.ptr, value], x.size);
  x.touch();
}

/** Σ x² in float64: blocks of 4096 elements, added in order. Finite exactly when all of x is. */
export function sumOfSquares(x: Tensor): number {
  const { runtime } = x;
  const blocks = Math.ceil(x.size / BLOCK);
  return runtime.scope(() => {
    const partials = empty(runtime, [blocks, 2], "i32"); // bytes for as many f64
    runtime.run("sumOfSquaresF32", [partials.ptr, x.ptr, x.size], blocks, BLOCK / 2);
    return runtime.memory.f64(partials.ptr, blocks).reduce((sum, partial) => sum + partial, 0);
  });
}
