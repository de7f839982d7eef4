import { dropout } from "../ops/dropout.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { Module } from "./module.js";

/** In training, zeroes each element with probability p and scales the rest by 1/(1 − p). */
export class Dropout extends Module {
  readonly p: number;

  constructor(runtime: Runtime, p: number) {
    super(runtime);
    if (!(p >= 0 && p <= 1)) throw new RangeError(`Dropout: p must lie in 0 … 1, got ${p}`);
    this.p = p;
  }

  forward(x: Tensor): Tensor {
    return this.training && this.p > 0 ? dropout(x, this.p) : x;
  }
}
