import { type AttentionResult, attentionWithWeights } from "../ops/attention.js";
import type { Tensor } from "../tensor/tensor.js";

/** PyTorch's arguments of the same name, in this library's spelling. */
export interface ScaledDotProductAttentionOptions {
  /** u8[..., Lq, Lk], 1 shows and 0 hides; or f32, added to the scores, −∞ hides. */
  readonly attnMask?: Tensor | undefined;
  /** The probability of a weight to become 0. It acts whenever it is not 0: there is no mode. */
  readonly dropoutP?: number;
  /** Query i sees keys 0 … i, also where there are more keys than queries. */
  readonly isCausal?: boolean;
  /** Default 1/√dk. */
  readonly scale?: number;
}

/**
 * Scaled dot-product attention under PyTorch's name and options, with its weights:
 * weights = softmax(q·kᵀ/√dk), output = weights·v.
 *
 * A hidden key has weight 0 and is never read; a query that may see nothing gets zeros, where
 * PyTorch has NaN. attention() is the same without the weights, in less memory.
 *
 * @param query  f32[..., Lq, dk]
 * @param key    f32[..., Lk, dk]
 * @param value  f32[..., Lk, dv]
 * @returns output f32[..., Lq, dv] and weights f32[..., Lq, Lk], as they were applied
 * @throws {ShapeError} the shapes above do not fit
 * @source Vaswani et al. 2017, arXiv:1706.03762, eq. 1
 * @example
 * const { output, weights } = scaledDotProductAttention(q, k, v, { attnMask });
 */
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: ScaledDotProductAttentionOptions = {},
): AttentionResult {
  const { attnMask, dropoutP = 0, isCausal = false, scale } = options;
  return attentionWithWeights(query, key, value, {
    mask: attnMask,
    causal: isCausal && "start",
    scale,
    dropout: { p: dropoutP },
  });
}
