import { ShapeError } from "../errors.js";
import { attention, attentionWithWeights } from "../ops/attention.js";
import { linear } from "../ops/linear.js";
import { mean } from "../ops/reduce.js";
import { reshape, slice } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectShape, showShape } from "../tensor/check.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { expectHeads, joinHeads, splitHeads } from "./heads.js";
import { fillStep, uniformStep } from "./init.js";
import { Linear } from "./linear.js";
import { bothMasks } from "./masks.js";
import { Module } from "./module.js";

export interface MultiheadAttentionOptions {
  /** On all projections; default true. */
  readonly bias?: boolean;
  /** Probability, on the attention weights, in training; default 0. */
  readonly dropout?: number;
}

export interface MultiheadAttentionCall {
  /** u8[B, Lk], 1 **hides** a key; or f32[B, Lk], added to its scores. */
  readonly keyPaddingMask?: Tensor | undefined;
  /** u8, 1 **hides**, or f32, added to the scores: [Lq, Lk], or [B·heads, Lq, Lk]. */
  readonly attnMask?: Tensor | undefined;
  /** Whether to return the weights; default true. The output is the same either way. */
  readonly needWeights?: boolean;
  /** Whether the weights are averaged over the heads; default true. */
  readonly averageWeights?: boolean;
  /** No query looks ahead: see attention(). Default false. */
  readonly causal?: "start" | "end" | boolean;
}

export interface MultiheadAttentionResult {
  /** f32[B, Lq, E] */
  readonly output: Tensor;
  /** f32[B, Lq, Lk], or [B, heads, Lq, Lk] when not averaged; null when not asked for. */
  readonly weights: Tensor | null;
}

/**
 * Attention of several heads, each over its share of the projected width.
 *
 * State dict as torch.nn.MultiheadAttention: in_proj_weight f32[3E, E] and in_proj_bias f32[3E]
 * (queries, keys, values), out_proj.weight [E, E], out_proj.bias [E]. Batch first.
 *
 * **Masks have PyTorch's meaning here, and only here:** in a u8 mask 1 hides, where attention()
 * and causalMask() have 0 for it. They are turned round at this door. A query that may see nothing
 * gets out_proj.bias and weights of 0, where PyTorch has NaN.
 *
 * @source Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2
 */
export class MultiheadAttention extends Module {
  readonly heads: number;
  readonly width: number;
  readonly #dropout: number;
  readonly #weight: Tensor;
  readonly #bias: Tensor | null;
  readonly #output: Linear;

  constructor(
    runtime: Runtime,
    width: number,
    heads: number,
    options: MultiheadAttentionOptions = {},
  ) {
    super(runtime);
    const { bias = true, dropout = 0 } = options;
    expectHeads("MultiheadAttention", width, heads);
    if (!(dropout >= 0 && dropout <= 1))
      throw new RangeError(`MultiheadAttention: dropout must lie in 0 … 1, got ${dropout}`);
    this.heads = heads;
    this.width = width;
    this.#dropout = dropout;
    // Glorot's bound for a matrix of E inputs and 3E outputs, as PyTorch has it.
    const bound = Math.sqrt(6 / Math.max(4 * width, 1));
    this.#weight = uniformStep(this.parameter("in_proj_weight", [3 * width, width]), bound);
    this.#bias = bias ? fillStep(this.parameter("in_proj_bias", [3 * width]), 0) : null;
    this.#output = this.child("out_proj", new Linear(runtime, width, width, { bias }));
    if (this.#output.bias) fillStep(this.#output.bias, 0);
  }

  /**
   * @param query  f32[B, Lq, E]
   * @param key    f32[B, Lk, E]; the query when absent
   * @param value  f32[B, Lk, E]; the key when absent
   * @throws {ShapeError} the shapes above, or those of the masks, do not fit
   */
  forward(
    query: Tensor,
    key: Tensor = query,
    value: Tensor = key,
    options: MultiheadAttentionCall = {},
  ): MultiheadAttentionResult {
    const { width, heads } = this;
    expectShape("MultiheadAttention", query, [null, null, width], "query");
    const [batch, queries] = query.shape as [number, number, number];
    expectShape("MultiheadAttention", key, [batch, null, width], "key");
    const keys = key.shape[1] as number;
    expectShape("MultiheadAttention", value, [batch, keys, width], "value");

    const [q, k, v] = this.#project(query, key, value);
    const join = (x: Tensor): Tensor => this.#output.forward(joinHeads(x));
    const rules = {
      mask: maskOf(options, { batch, heads, queries, keys }),
      causal: options.causal ?? false,
      dropout: this.training && this.#dropout > 0 ? { p: this.#dropout } : undefined,
    };
    if (options.needWeights === false)
      return { output: join(attention(q, k, v, rules)), weights: null };
    const { output, weights } = attentionWithWeights(q, k, v, rules);
    return {
      output: join(output),
      weights: options.averageWeights === false ? weights : mean(weights, 1),
    };
  }

  /** Queries, keys and values, each [B, heads, L, E / heads]. */
  #project(query: Tensor, key: Tensor, value: Tensor): [Tensor, Tensor, Tensor] {
    const part = (index: number) => [index * this.width, (index + 1) * this.width] as const;
    if (query === key && key === value) {
      const all = project(query, this.#weight, this.#bias);
      const split = (index: number): Tensor =>
        splitHeads(slice(all, 2, ...part(index)), this.heads);
      return [split(0), split(1), split(2)];
    }
    const own = (x: Tensor, index: number): Tensor => {
      const weight = slice(this.#weight, 0, ...part(index));
      const bias = this.#bias && slice(this.#bias, 0, ...part(index));
      return splitHeads(project(x, weight, bias), this.heads);
    };
    return [own(query, 0), own(key, 1), own(value, 2)];
  }
}

interface Sizes {
  readonly batch: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

function project(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  return bias ? linear(x, weight, bias) : linear(x, weight);
}

/** Both masks as the one that attention() takes. */
function maskOf(options: MultiheadAttentionCall, sizes: Sizes): Tensor | undefined {
  const { keyPaddingMask, attnMask } = options;
  const { batch, heads, queries, keys } = sizes;
  if (keyPaddingMask)
    expectShape("MultiheadAttention", keyPaddingMask, [batch, keys], "keyPaddingMask");
  const padding = keyPaddingMask && turned(reshape(keyPaddingMask, [batch, 1, 1, keys]));
  if (!attnMask) return padding;
  const shape = showShape(attnMask.shape);
  if (shape !== showShape([queries, keys]) && shape !== showShape([batch * heads, queries, keys]))
    throw new ShapeError(
      `MultiheadAttention: attnMask must be [${queries}, ${keys}] or [${batch * heads}, ${queries}, ${keys}], got ${shape}`,
    );
  const lead = attnMask.rank === 2 ? [1, 1] : [batch, heads];
  const attn = turned(reshape(attnMask, [...lead, queries, keys]));
  return bothMasks(padding, attn);
}

/** A mask in which 1 hides → one in which 0 hides; one that is added stays. */
function turned(mask: Tensor): Tensor {
  if (mask.dtype !== "u8") return mask;
  const shows = mask.read().map((hides) => (hides ? 0 : 1));
  return tensor(mask.runtime, shows, mask.shape);
}
