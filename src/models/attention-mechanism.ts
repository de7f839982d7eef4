import { Linear } from "../nn/linear.js";
import { Module } from "../nn/module.js";
import { type AttentionOptions, attention, attentionWithWeights } from "../ops/attention.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectShape } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";

export interface AttentionMechanismOptions {
  /** Probability, on the attention weights, in training; default 0.1. */
  readonly dropout?: number;
}

export interface AttentionMechanismCall {
  /** u8 (1 shows, 0 hides) or f32 (added to the scores); broadcasts to [B, Lq, Lk]. */
  readonly mask?: Tensor | undefined;
  /** Whether to return the weights; default true. The output is the same either way. */
  readonly needWeights?: boolean;
  /** u8[B, Lq, Lk], 1 keeps: what dropout keeps in training, instead of a random choice. */
  readonly dropoutMask?: Tensor;
}

export interface AttentionMechanismResult {
  /** f32[B, Lq, H] */
  readonly output: Tensor;
  /** f32[B, Lq, Lk], as they were applied; null when not asked for */
  readonly weights: Tensor | null;
}

/**
 * Attention of one head over projected queries, keys and values:
 * softmax(Q·Kᵀ/√H)·V with Q, K, V = the three transforms.
 *
 * State dict: query_transform, key_transform, value_transform, each weight f32[H, H] and bias
 * f32[H]. A query that may see nothing gets zeros.
 *
 * @source Vaswani et al. 2017, arXiv:1706.03762, eq. 1
 */
export class AttentionMechanism extends Module {
  readonly hidden: number;
  readonly dropout: number;
  readonly #query: Linear;
  readonly #key: Linear;
  readonly #value: Linear;

  constructor(runtime: Runtime, hidden: number, options: AttentionMechanismOptions = {}) {
    super(runtime);
    const { dropout = 0.1 } = options;
    if (!(dropout >= 0 && dropout <= 1))
      throw new RangeError(`AttentionMechanism: dropout must lie in 0 … 1, got ${dropout}`);
    this.hidden = hidden;
    this.dropout = dropout;
    const transform = (): Linear => new Linear(runtime, hidden, hidden);
    this.#query = this.child("query_transform", transform());
    this.#key = this.child("key_transform", transform());
    this.#value = this.child("value_transform", transform());
  }

  /**
   * @param query  f32[B, Lq, H]
   * @param key    f32[B, Lk, H]
   * @param value  f32[B, Lk, H]
   * @throws {ShapeError} the shapes above, or that of a mask, do not fit
   */
  forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: AttentionMechanismCall = {},
  ): AttentionMechanismResult {
    const { hidden } = this;
    expectShape("AttentionMechanism", query, [null, null, hidden], "query");
    const [batch] = query.shape as [number, number, number];
    expectShape("AttentionMechanism", key, [batch, null, hidden], "key");
    expectShape("AttentionMechanism", value, [batch, key.shape[1] as number, hidden], "value");
    const [q, k, v] = [
      this.#query.forward(query),
      this.#key.forward(key),
      this.#value.forward(value),
    ];
    const rules: AttentionOptions = { mask: options.mask, dropout: this.#dropout(options) };
    if (options.needWeights === false) return { output: attention(q, k, v, rules), weights: null };
    return attentionWithWeights(q, k, v, rules);
  }

  #dropout({ dropoutMask }: AttentionMechanismCall): AttentionOptions["dropout"] {
    const { dropout: p } = this;
    if (!this.training || p === 0) return undefined;
    return dropoutMask ? { p, mask: dropoutMask } : { p };
  }
}
