import { ShapeError } from "../errors.js";
import { Embedding } from "../nn/embedding.js";
import { LayerNorm } from "../nn/layer-norm.js";
import { Module } from "../nn/module.js";
import { PositionalEncoding } from "../nn/positional-encoding.js";
import { add } from "../ops/arithmetic.js";
import type { AttentionResult } from "../ops/attention.js";
import { crossEntropy } from "../ops/cross-entropy.js";
import { linear } from "../ops/linear.js";
import { reshape, slice } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape, showShape } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";
import { ParallelAttention, type SelfAttentionCall } from "./parallel-attention.js";

export interface LongRangeConfig {
  readonly vocab: number;
  /** Width of embeddings; a multiple of heads. */
  readonly width: number;
  readonly heads: number;
  /** Positions of the table: the longest sequence. Default 5000. */
  readonly positions?: number;
  /** No position looks ahead; default false. */
  readonly causal?: boolean;
}

/** Which positions may see which, beside what the configuration says. */
export type LongRangeCall = Omit<SelfAttentionCall, "causal">;

/**
 * One transformer block: any two positions of a sequence are one step of attention apart.
 *
 * encoded = embedding(ids) + pe, output = norm(attention(encoded) + encoded). State dict:
 * embedding.weight f32[V, E], position_encoding.pe f32[positions, E], attention.q_linear, .k_linear,
 * .v_linear and .out, each weight f32[E, E] and bias f32[E], norm.weight and norm.bias f32[E].
 * There is no dropout, so training and inference give the same.
 *
 * @source Vaswani et al. 2017, arXiv:1706.03762, without the feed-forward half of a block; Press &
 *   Wolf 2017, arXiv:1608.05859, for the head that is the embedding
 */
export class LongRangeDependencyModel extends Module {
  readonly config: LongRangeConfig;
  readonly #embedding: Embedding;
  readonly #positions: PositionalEncoding;
  readonly #attention: ParallelAttention;
  readonly #norm: LayerNorm;

  constructor(runtime: Runtime, config: LongRangeConfig) {
    super(runtime);
    const { vocab, width, heads, positions } = config;
    this.config = config;
    this.#embedding = this.child("embedding", new Embedding(runtime, vocab, width));
    this.#positions = this.child(
      "position_encoding",
      new PositionalEncoding(runtime, width, positions),
    );
    this.#attention = this.child(
      "attention",
      new ParallelAttention(runtime, width, heads, { outputName: "out" }),
    );
    this.#norm = this.child("norm", new LayerNorm(runtime, width));
  }

  /**
   * @param ids  i32[B, L]
   * @returns f32[B, L, E]
   * @throws {ShapeError} L is more than the table's positions, or the lengths or the mask do not fit
   * @throws {IndexError} an id is not in the vocabulary
   */
  forward(ids: Tensor, call: LongRangeCall = {}): Tensor {
    const encoded = this.#encode(ids);
    return this.#finish(encoded, this.#attention.forward(encoded, this.#rules(call)));
  }

  /** forward() that returns the weights f32[B, heads, L, L] too: the same output to the last bit. */
  withWeights(ids: Tensor, call: LongRangeCall = {}): AttentionResult {
    const encoded = this.#encode(ids);
    const { output, weights } = this.#attention.withWeights(encoded, this.#rules(call));
    return { output: this.#finish(encoded, output), weights };
  }

  /** Scores of every token: output f32[..., E] → output·embeddingᵀ, f32[..., V]. */
  logits(output: Tensor): Tensor {
    return linear(output, this.#embedding.weight);
  }

  /**
   * Language modelling: the mean cross-entropy of every token but the first, each from those before.
   *
   * @param ids      i32[B, L], padded
   * @param lengths  i32[B]
   * @param padding  the id that fills rows up; never a target
   * @throws {ShapeError} L is less than 2
   * @throws {TypeError} the model is not causal
   */
  nextTokenLoss(ids: Tensor, lengths: Tensor, padding: number): Tensor {
    if (!this.config.causal)
      throw new TypeError(
        "LongRangeDependencyModel: predicting the next token must be causal, got a model that looks ahead. Make it with causal: true",
      );
    const output = this.forward(ids, { lengths });
    const [batch, length, width] = output.shape as [number, number, number];
    if (length < 2)
      throw new ShapeError(
        `LongRangeDependencyModel: a sequence must have two tokens to predict one, got ids ${showShape(ids.shape)}`,
      );
    const rows = batch * (length - 1);
    const features = reshape(slice(output, 1, 0, length - 1), [rows, width]);
    const wanted = reshape(slice(ids, 1, 1, length), [rows]);
    return crossEntropy(this.logits(features), wanted, { ignore: padding });
  }

  #encode(ids: Tensor): Tensor {
    expectDType("LongRangeDependencyModel", ids, "i32", "ids");
    expectShape("LongRangeDependencyModel", ids, [null, null], "ids");
    return this.#positions.forward(this.#embedding.forward(ids));
  }

  #rules(call: LongRangeCall): SelfAttentionCall {
    return { ...call, causal: this.config.causal };
  }

  #finish(encoded: Tensor, attended: Tensor): Tensor {
    return this.#norm.forward(add(attended, encoded));
  }
}
