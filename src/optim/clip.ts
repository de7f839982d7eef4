import { scaleStep, sumOfSquares } from "../ops/update.js";
import type { Tensor } from "../tensor/tensor.js";
import type { Parameters } from "./optimizer.js";

/** Keeps the factor finite at a norm of zero, as torch.nn.utils.clip_grad_norm_ does. */
const EPS = 1e-6;

/**
 * Scales all gradients together so that their norm, taken as one vector, is at most `max`.
 *
 * Tensors without a gradient are left out. When the norm is not finite the gradients stay as they
 * are: an optimiser skips such a step.
 *
 * @returns the norm before scaling
 * @throws {RangeError} max is not above zero
 */
export function clipGradientNorm(parameters: Parameters, max: number): number {
  if (!(max > 0))
    throw new RangeError(`clipGradientNorm: max must be a number above 0, got ${max}`);
  const gradients = new Set<Tensor>();
  for (const item of parameters) {
    const { grad } = "runtime" in item ? item : item[1];
    if (grad) gradients.add(grad);
  }
  let squares = 0;
  for (const gradient of gradients) squares += sumOfSquares(gradient);
  const norm = Math.sqrt(squares);
  const scale = max / (norm + EPS);
  if (Number.isFinite(norm) && scale < 1)
    for (const gradient of gradients) scaleStep(gradient, scale);
  return norm;
}
