import { layerNorm } from "../ops/layer-norm.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { fillStep } from "./init.js";
import { Module } from "./module.js";

/**
 * Layer normalisation over the last axis, with a learned scale and shift.
 *
 * State dict: weight f32[width], ones at first, and bias f32[width], zeros.
 *
 * @source Ba et al. 2016, arXiv:1607.06450; torch.nn.LayerNorm for names
 */
export class LayerNorm extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor;
  readonly eps: number;

  constructor(runtime: Runtime, width: number, options: { readonly eps?: number } = {}) {
    super(runtime);
    this.weight = fillStep(this.parameter("weight", [width]), 1);
    this.bias = fillStep(this.parameter("bias", [width]), 0);
    this.eps = options.eps ?? 1e-5;
  }

  /** f32[..., width] → f32[..., width] */
  forward(x: Tensor): Tensor {
    return layerNorm(x, this.weight, this.bias, { eps: this.eps });
  }
}
