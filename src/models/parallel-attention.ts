import { expectHeads, joinHeads, splitHeads } from "../nn/heads.js";
import { Linear } from "../nn/linear.js";
import { bothMasks } from "../nn/masks.js";
import { Module } from "../nn/module.js";
import { type AttentionResult, attention, attentionWithWeights } from "../ops/attention.js";
import { paddingMask } from "../ops/mask.js";
import { reshape } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";

export interface ParallelAttentionOptions {
  /** What the state dict calls the last projection; default "out_linear". */
  readonly outputName?: "out_linear" | "out";
}

/** Which positions may see which. */
export interface SelfAttentionCall {
  /** i32[B]: row b has lengths[b] positions, the others are seen by none; all L when absent. */
  readonly lengths?: Tensor | undefined;
  /** u8 (1 shows, 0 hides) or f32 (added to the scores, −∞ hides); broadcasts to [B, heads, L, L]. */
  readonly mask?: Tensor | undefined;
  /** No position looks ahead; default false. */
  readonly causal?: boolean | undefined;
}

/**
 * Multi-head self-attention: every position of a sequence attends to all of them in one call.
 *
 * output = out_linear(heads side by side), each head softmax(q·kᵀ/√D)·v over its share D of the
 * projected width. State dict: q_linear, k_linear, v_linear, out_linear, each weight f32[E, E] and
 * bias f32[E]. There is no dropout, so training and inference give the same.
 *
 * @source Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2
 */
export class ParallelAttention extends Module {
  readonly width: number;
  readonly heads: number;
  readonly #query: Linear;
  readonly #key: Linear;
  readonly #value: Linear;
  readonly #output: Linear;

  constructor(
    runtime: Runtime,
    width: number,
    heads: number,
    options: ParallelAttentionOptions = {},
  ) {
    super(runtime);
    expectHeads("ParallelAttention", width, heads);
    this.width = width;
    this.heads = heads;
    const declare = (name: string): Linear => this.child(name, new Linear(runtime, width, width));
    this.#query = declare("q_linear");
    this.#key = declare("k_linear");
    this.#value = declare("v_linear");
    this.#output = declare(options.outputName ?? "out_linear");
  }

  /**
   * @param x  f32[B, L, E]
   * @returns f32[B, L, E]
   * @throws {ShapeError} x, the lengths or the mask do not fit
   * @throws {IndexError} a length lies outside 0 … L
   */
  forward(x: Tensor, call: SelfAttentionCall = {}): Tensor {
    const [q, k, v] = this.#project(x);
    return this.#join(attention(q, k, v, rulesOf(x, call)));
  }

  /** forward() that returns the weights f32[B, heads, L, L] too: the same output to the last bit. */
  withWeights(x: Tensor, call: SelfAttentionCall = {}): AttentionResult {
    const [q, k, v] = this.#project(x);
    const { output, weights } = attentionWithWeights(q, k, v, rulesOf(x, call));
    return { output: this.#join(output), weights };
  }

  /** Queries, keys and values, each [B, heads, L, D]. */
  #project(x: Tensor): [Tensor, Tensor, Tensor] {
    expectDType("ParallelAttention", x, "f32", "x");
    expectShape("ParallelAttention", x, [null, null, this.width], "x");
    const through = (layer: Linear): Tensor => splitHeads(layer.forward(x), this.heads);
    return [through(this.#query), through(this.#key), through(this.#value)];
  }

  #join(x: Tensor): Tensor {
    return this.#output.forward(joinHeads(x));
  }
}

function rulesOf(
  x: Tensor,
  { lengths, mask, causal = false }: SelfAttentionCall,
): { mask: Tensor | undefined; causal: boolean } {
  const [batch, length] = x.shape as [number, number, number];
  if (lengths) expectShape("ParallelAttention", lengths, [batch], "lengths");
  const padding = lengths && reshape(paddingMask(lengths, length), [batch, 1, 1, length]);
  return { mask: bothMasks(mask, padding), causal };
}
