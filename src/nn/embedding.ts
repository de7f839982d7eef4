import { embedding } from "../ops/embedding.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { normalStep } from "./init.js";
import { Module } from "./module.js";

/**
 * A table of vectors, looked up by id.
 *
 * State dict: weight f32[vocab, width], nearly normal with deviation 1, as in PyTorch.
 */
export class Embedding extends Module {
  readonly weight: Tensor;
  readonly #padding: number | undefined;

  constructor(
    runtime: Runtime,
    vocab: number,
    width: number,
    options: { readonly padding?: number } = {},
  ) {
    super(runtime);
    this.weight = normalStep(this.parameter("weight", [vocab, width]), 1);
    this.#padding = options.padding;
  }

  /** ids i32[...] → f32[..., width]. @throws {IndexError} an id is not in the table */
  forward(ids: Tensor): Tensor {
    return this.#padding === undefined
      ? embedding(this.weight, ids)
      : embedding(this.weight, ids, { padding: this.#padding });
  }
}
