import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import {
  type AttentionCall,
  type AttentionOptions,
  checkCall,
  EXP_COST,
  packRows,
  packTransposed,
  padded,
  TILE,
  unitsFor,
} from "./attention-call.js";
import { attentionGradient } from "./attention-gradient.js";
import { readsHidden, writeRules } from "./attention-rules.js";
import { recording, recordMany } from "./tape.js";

export type { AttentionDropout, AttentionOptions } from "./attention-call.js";

/** What attentionWithWeights returns. */
export interface AttentionResult {
  /** f32[..., Lq, Dv] */
  readonly output: Tensor;
  /** f32[..., Lq, Lk], as they were applied: after dropout */
  readonly weights: Tensor;
}

/**
 * Scaled dot-product attention: softmax(q·kᵀ·scale + mask)·v.
 *
 * A hidden key has weight exactly 0 and is never read into the result, whatever it holds. A query
 * that may see nothing gets zeros, and so do its gradients. Memory is linear in Lq and in Lk.
 *
 * @param q  f32[..., Lq, D]
 * @param k  f32[..., Lk, D]
 * @param v  f32[..., Lk, Dv]
 * @param options.mask     u8 or f32, broadcasts to [..., Lq, Lk]: 0 or −∞ hides
 * @param options.causal   "start", "end" or true: no query looks ahead
 * @param options.scale    defaults to 1/√D
 * @param options.dropout  on the weights, in training
 * @returns f32[..., Lq, Dv]
 * @throws {ShapeError} the shapes above do not fit, or causal: true where Lq ≠ Lk
 * @throws {DTypeError} q, k or v are not f32, or the mask neither u8 nor f32
 * @source Vaswani et al. 2017, arXiv:1706.03762, eq. 1
 * @example
 * const y = attention(q, k, v, { causal: true });
 */
export function attention(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions = {}): Tensor {
  const call = checkCall("attention", q, k, v, options);
  const { output, stats } = q.runtime.scope(() => forward(call, null));
  if (!recording([q, k, v])) stats.dispose();
  recordMany("attention", [output], operandsOf(call), ([dy]) =>
    attentionGradient(call, stats, dy ?? null, null),
  );
  return output;
}

/**
 * attention() that returns its weights too: the same output to the last bit, and Lq·Lk floats a
 * head more memory.
 *
 * @returns output f32[..., Lq, Dv] and weights f32[..., Lq, Lk], as they were applied
 * @example
 * const { output, weights } = attentionWithWeights(q, k, v, { mask });
 */
export function attentionWithWeights(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: AttentionOptions = {},
): AttentionResult {
  const call = checkCall("attentionWithWeights", q, k, v, options);
  const { output, stats, weights } = q.runtime.scope(() => {
    const weights = empty(q.runtime, [...q.shape.slice(0, -2), call.queries, call.keys]);
    return { ...forward(call, weights), weights };
  });
  if (!recording([q, k, v])) stats.dispose();
  recordMany("attentionWithWeights", [output, weights], operandsOf(call), ([dy, dWeights]) =>
    attentionGradient(call, stats, dy ?? null, dWeights ?? null),
  );
  return { output, weights };
}

/** What the way back reads: the tape holds them unchanged. */
function operandsOf({ q, k, v, rules }: AttentionCall): Tensor[] {
  const masks = [rules.mask?.tensor, rules.dropout?.mask].filter((mask) => mask != null);
  return [q, k, v, ...masks];
}

/** The output, and the shift and 1/sum of every row's softmax. */
function forward(call: AttentionCall, weights: Tensor | null): { output: Tensor; stats: Tensor } {
  const { q, k, v, heads, queries, keys, width, valueWidth } = call;
  const { runtime } = q;
  const output = empty(runtime, [...q.shape.slice(0, -1), valueWidth]);
  const stats = empty(runtime, [heads, queries, 2]);

  const keyPanels = packTransposed(k, heads, keys, width);
  const valuePanels = packRows(v, heads, keys, valueWidth);
  const rules = writeRules(call, readsHidden(call, [q, k, v]));
  const tiles = heads * Math.ceil(queries / TILE);
  const units = unitsFor(call, tiles);
  const scratch = empty(runtime, [units, TILE, padded(keys) + padded(Math.max(keys, width))]);
  runtime.run(
    "attentionF32",
    [
      output.ptr,
      weights?.ptr ?? 0,
      stats.ptr,
      scratch.ptr,
      q.ptr,
      keyPanels.ptr,
      valuePanels.ptr,
      rules.ptr,
      heads,
      queries,
      keys,
      width,
      valueWidth,
      units,
      call.scale,
    ],
    units,
    (tiles / units) * TILE * keys * (2 * width + 2 * valueWidth + EXP_COST),
  );
  for (const used of [keyPanels, valuePanels, rules, scratch]) used.dispose();
  return { output, stats };
}
