import { sgdMomentumStep, sgdStep } from "../ops/update.js";
import type { Tensor } from "../tensor/tensor.js";
import { notNegative, Optimizer, type Parameters } from "./optimizer.js";

/** The options of SGD; the defaults are PyTorch's. */
export interface SGDOptions {
  /** Learning rate; default 1e-3. */
  readonly rate?: number;
  /** Share of the last step that is kept; default 0. */
  readonly momentum?: number;
  /** Looks ahead along the momentum; default false. */
  readonly nesterov?: boolean;
  /** Added to the gradient, times the parameter; default 0. */
  readonly weightDecay?: number;
}

/**
 * Stochastic gradient descent, as torch.optim.SGD computes it without dampening.
 *
 * With momentum, state() holds "velocity.<name>" of every parameter; without, it is empty.
 */
export class SGD extends Optimizer {
  readonly #momentum: number;
  readonly #nesterov: boolean;
  readonly #weightDecay: number;
  readonly #velocities = new Map<string, Tensor>();

  constructor(parameters: Parameters, options: SGDOptions = {}) {
    const { rate = 1e-3, momentum = 0, nesterov = false, weightDecay = 0 } = options;
    super("SGD", parameters, rate);
    notNegative("SGD", "rate", rate);
    notNegative("SGD", "momentum", momentum);
    notNegative("SGD", "weightDecay", weightDecay);
    if (nesterov && momentum === 0)
      throw new RangeError("SGD: nesterov needs a momentum above 0, got 0");
    this.#momentum = momentum;
    this.#nesterov = nesterov;
    this.#weightDecay = weightDecay;
    if (momentum === 0) return;
    for (const [name, parameter] of this.parameters)
      this.#velocities.set(name, this.remember(`velocity.${name}`, parameter));
  }

  protected override update(name: string, parameter: Tensor, gradient: Tensor): void {
    const velocity = this.#velocities.get(name);
    if (!velocity) sgdStep(parameter, gradient, this.rate, this.#weightDecay);
    else
      sgdMomentumStep(parameter, velocity, gradient, {
        rate: this.rate,
        momentum: this.#momentum,
        weightDecay: this.#weightDecay,
        nesterov: this.#nesterov,
      });
  }
}
