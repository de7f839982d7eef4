import { additiveAttention } from "../ops/additive-attention.js";
import { linear } from "../ops/linear.js";
import { reshape, slice } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { Linear } from "./linear.js";
import { Module } from "./module.js";

/** What does not change while a decoder walks: the projected source, its values and lengths. */
export interface AttentionSource {
  /** f32[B, S, A] */
  readonly keys: Tensor;
  /** f32[B, S, D] */
  readonly values: Tensor;
  /** i32[B], or all S */
  readonly lengths: Tensor | null;
  /** f32[A, queries' width] */
  readonly queryWeight: Tensor;
  /** f32[A] */
  readonly energy: Tensor;
}

/**
 * Additive attention: weights = softmax(v·tanh(attn·[query ; key])) over the source.
 *
 * State dict: attn.weight [A, Q + D], attn.bias [A], v.weight [1, A]. The product with the
 * concatenation is split in two, so the source is projected once and not once a step.
 *
 * @source Bahdanau et al. 2015, arXiv:1409.0473, appendix A.1.2
 */
export class AdditiveAttention extends Module {
  readonly #attn: Linear;
  readonly #v: Linear;

  constructor(runtime: Runtime, queryWidth: number, sourceWidth: number, width: number) {
    super(runtime);
    this.#attn = this.child("attn", new Linear(runtime, queryWidth + sourceWidth, width));
    this.#v = this.child("v", new Linear(runtime, width, 1, { bias: false }));
  }

  /** values f32[B, S, D], lengths i32[B] → what attend() needs at every step */
  source(values: Tensor, lengths: Tensor | null): AttentionSource {
    return attentionSource(this.#attn, this.#v, values, lengths);
  }

  /** attend() */
  attend(query: Tensor, source: AttentionSource): { context: Tensor; weights: Tensor } {
    return attend(query, source);
  }
}

/**
 * The source projected, for a model that holds the two layers of additive attention itself.
 *
 * @param attn    Linear(Q + D, A)
 * @param v       Linear(A, 1) without bias
 * @param values  f32[B, S, D]
 */
export function attentionSource(
  attn: Linear,
  v: Linear,
  values: Tensor,
  lengths: Tensor | null,
): AttentionSource {
  const { weight, bias } = attn;
  const width = weight.shape[1] as number;
  const queryWidth = width - (values.shape[2] as number);
  const keyWeight = slice(weight, 1, queryWidth, width);
  return {
    queryWeight: slice(weight, 1, 0, queryWidth),
    keys: bias ? linear(values, keyWeight, bias) : linear(values, keyWeight),
    values,
    lengths,
    energy: reshape(v.weight, [v.weight.size]),
  };
}

/**
 * @param query f32[B·Lq, Q]: Lq queries a row of the source
 * @returns context f32[B·Lq, D] and weights f32[B, Lq, S]; zeros behind each length
 */
export function attend(
  query: Tensor,
  source: AttentionSource,
): { context: Tensor; weights: Tensor } {
  const { keys, values, lengths, energy } = source;
  const [batch, , width] = keys.shape as [number, number, number];
  const rows = query.shape[0] as number;
  const queries = batch === 0 ? 0 : rows / batch;
  const projected = reshape(linear(query, source.queryWeight), [batch, queries, width]);
  const { context, weights } = additiveAttention(
    projected,
    keys,
    energy,
    values,
    lengths ? { lengths } : {},
  );
  return { context: reshape(context, [rows, values.shape[2] as number]), weights };
}
