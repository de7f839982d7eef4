import { linear } from "../ops/linear.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { uniformStep } from "./init.js";
import { Module } from "./module.js";

/**
 * y = x·weightᵀ + bias.
 *
 * State dict: weight f32[outputs, inputs], bias f32[outputs]; drawn from ±1/√inputs, as PyTorch does.
 */
export class Linear extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor(
    runtime: Runtime,
    inputs: number,
    outputs: number,
    options: { readonly bias?: boolean } = {},
  ) {
    super(runtime);
    const bound = 1 / Math.sqrt(Math.max(inputs, 1));
    this.weight = uniformStep(this.parameter("weight", [outputs, inputs]), bound);
    this.bias =
      options.bias === false ? null : uniformStep(this.parameter("bias", [outputs]), bound);
  }

  /** f32[..., inputs] → f32[..., outputs] */
  forward(x: Tensor): Tensor {
    return this.bias ? linear(x, this.weight, this.bias) : linear(x, this.weight);
  }
}
