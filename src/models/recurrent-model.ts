import { Embedding } from "../nn/embedding.js";
import { LayerNorm } from "../nn/layer-norm.js";
import { LSTM } from "../nn/lstm.js";
import { Module } from "../nn/module.js";
import { linear } from "../ops/linear.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";

export interface RecurrentConfig {
  readonly vocab: number;
  /** Width of embeddings and of the state. */
  readonly width: number;
}

/**
 * What LongRangeDependencyModel is compared with: an LSTM between the same embedding, norm and head.
 *
 * output = norm(rnn(embedding(ids))). State dict: embedding.weight f32[V, E], rnn.weight_ih_l0 …,
 * norm.weight and norm.bias f32[E].
 */
export class RecurrentModel extends Module {
  readonly config: RecurrentConfig;
  readonly #embedding: Embedding;
  readonly #rnn: LSTM;
  readonly #norm: LayerNorm;

  constructor(runtime: Runtime, config: RecurrentConfig) {
    super(runtime);
    const { vocab, width } = config;
    this.config = config;
    this.#embedding = this.child("embedding", new Embedding(runtime, vocab, width));
    this.#rnn = this.child("rnn", new LSTM(runtime, width, width));
    this.#norm = this.child("norm", new LayerNorm(runtime, width));
  }

  /**
   * @param ids      i32[B, L]
   * @param lengths  i32[B]: row b has lengths[b] positions; all L when absent
   * @returns f32[B, L, E]
   */
  forward(ids: Tensor, { lengths }: { readonly lengths?: Tensor | undefined } = {}): Tensor {
    expectDType("RecurrentModel", ids, "i32", "ids");
    expectShape("RecurrentModel", ids, [null, null], "ids");
    const embedded = this.#embedding.forward(ids);
    const { output } = this.#rnn.forward(embedded, lengths ? { lengths } : {});
    return this.#norm.forward(output);
  }

  /** Scores of every token: output f32[..., E] → output·embeddingᵀ, f32[..., V]. */
  logits(output: Tensor): Tensor {
    return linear(output, this.#embedding.weight);
  }
}
