import { StateError } from "../errors.js";
import { adamWStep } from "../ops/update.js";
import type { Tensor } from "../tensor/tensor.js";
import { notNegative, Optimizer, type OptimizerState, type Parameters } from "./optimizer.js";

/** The options of AdamW; the defaults are PyTorch's. */
export interface AdamWOptions {
  /** Learning rate; default 1e-3. */
  readonly rate?: number;
  /** Decay of the running mean and variance; default 0.9 and 0.999. */
  readonly betas?: readonly [number, number];
  /** Added to the root of the variance; default 1e-8. */
  readonly eps?: number;
  /** Decoupled weight decay; default 0.01. */
  readonly weightDecay?: number;
}

/** What is remembered of one parameter. */
interface Moments {
  readonly mean: Tensor;
  readonly variance: Tensor;
  /** The number of steps taken, t; a tensor so that it is saved with the others. */
  readonly steps: Tensor;
  /** β₁ᵗ and β₂ᵗ, by repeated multiplication: engines differ in pow(). */
  powers: [number, number];
}

/**
 * AdamW, as torch.optim.AdamW computes it: Adam with weight decay apart from the gradient.
 *
 * state() holds "mean.<name>", "variance.<name>" and "steps.<name>" of every parameter.
 *
 * @source Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2
 * @example
 * const optimizer = new AdamW(model.parameters(), { rate: 3e-4 });
 * optimizer.zeroGrad();
 * backward(loss);
 * optimizer.step();
 */
export class AdamW extends Optimizer {
  readonly #betas: readonly [number, number];
  readonly #eps: number;
  readonly #weightDecay: number;
  readonly #moments = new Map<string, Moments>();

  constructor(parameters: Parameters, options: AdamWOptions = {}) {
    const { rate = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0.01 } = options;
    super("AdamW", parameters, rate);
    notNegative("AdamW", "rate", rate);
    notNegative("AdamW", "eps", eps);
    notNegative("AdamW", "weightDecay", weightDecay);
    if (!betas.every((beta) => beta >= 0 && beta < 1))
      throw new RangeError(`AdamW: betas must lie in 0 … 1, without 1, got ${betas.join(", ")}`);
    this.#betas = betas;
    this.#eps = eps;
    this.#weightDecay = weightDecay;
    for (const [name, parameter] of this.parameters)
      this.#moments.set(name, {
        mean: this.remember(`mean.${name}`, parameter),
        variance: this.remember(`variance.${name}`, parameter),
        steps: this.remember(`steps.${name}`, parameter, [1]),
        powers: [1, 1],
      });
  }

  protected override update(name: string, parameter: Tensor, gradient: Tensor): void {
    const moments = this.#moments.get(name) as Moments;
    const { mean, variance, steps, powers } = moments;
    const [beta1, beta2] = this.#betas;
    const [power1, power2] = [powers[0] * beta1, powers[1] * beta2];
    moments.powers = [power1, power2];
    steps.write([steps.item() + 1]);
    adamWStep(parameter, mean, variance, gradient, {
      rate: this.rate,
      beta1,
      beta2,
      eps: this.#eps,
      weightDecay: this.#weightDecay,
      power1,
      power2,
    });
  }

  /** As Optimizer.loadState; a count of steps must be one, since powers are computed step by step. */
  override loadState(state: OptimizerState): void {
    for (const [name, [steps = 0]] of state)
      if (name.startsWith("steps.") && !(Number.isInteger(steps) && steps >= 0 && steps <= 2 ** 24))
        throw new StateError(
          `AdamW.loadState: "${name}" must be a whole number from 0 to 2²⁴, got ${steps}`,
        );
    super.loadState(state);
  }

  protected override restored(): void {
    const [beta1, beta2] = this.#betas;
    for (const moments of this.#moments.values()) {
      const taken = moments.steps.item();
      let [power1, power2] = [1, 1];
      for (let step = 0; step < taken; step++) {
        power1 *= beta1;
        power2 *= beta2;
      }
      moments.powers = [power1, power2];
    }
  }
}
