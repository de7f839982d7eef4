import { Embedding } from "../nn/embedding.js";
import { uniformStep } from "../nn/init.js";
import { Linear } from "../nn/linear.js";
import { Module } from "../nn/module.js";
import { sqrt } from "../ops/activation.js";
import { add, div, mul } from "../ops/arithmetic.js";
import { type AttentionOptions, attention, attentionWithWeights } from "../ops/attention.js";
import { matmul } from "../ops/matmul.js";
import { sum } from "../ops/reduce.js";
import { reshape } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

export interface ContextAwareEmbeddingConfig {
  readonly vocab: number;
  /** Width E of the embeddings. */
  readonly embedding: number;
  /** Width C in which words attend; default E. */
  readonly context?: number;
  /**
   * Whether words and contexts pass through context_attention before they meet; default: where
   * C ≠ E. Without it the layer is there and unused, as in the textbook form.
   */
  readonly project?: boolean;
  /** The id that fills contexts up, never attended to; default: none. */
  readonly padding?: number;
  /** Probability of a word of the context to be left out, in training; default 0. */
  readonly dropout?: number;
  /** Senses with a vector of their own; default 0: no sense_prototypes. */
  readonly senses?: number;
  /** What cosines are divided by; default 0.1. */
  readonly temperature?: number;
}

export interface ContextAwareEmbeddingCall {
  /** Whether to return the weights; default true. The output is the same either way. */
  readonly needWeights?: boolean;
  /** u8[B, n], 1 keeps: what dropout keeps in training, instead of a random choice. */
  readonly dropoutMask?: Tensor;
}

export interface ContextAwareEmbeddingResult {
  /** f32[B, E] */
  readonly output: Tensor;
  /** f32[B, n], as they were applied; 0 on padding; null when not asked for */
  readonly weights: Tensor | null;
}

/** Keeps the gradient of the length of a zero vector finite; far below any vector's square. */
const LEAST_SQUARE = 1e-12;

/**
 * The embedding of a word in its context: the word attends to the words around it.
 *
 * weights = softmax(e·kᵢ), output = output_layer(Σ weightsᵢ·kᵢ), where e is the word's embedding and
 * kᵢ those of its context, all passed through context_attention when `project` says so. The word
 * itself enters through the weights alone; a context of nothing but padding gives the layer's bias.
 *
 * State dict: word_embeddings.weight f32[V, E], context_attention.weight [C, E] and .bias [C],
 * output_layer.weight [E, C] and .bias [E]; with senses, sense_prototypes [S, E].
 */
export class ContextAwareEmbedding extends Module {
  readonly config: ContextAwareEmbeddingConfig;
  readonly project: boolean;
  readonly #words: Embedding;
  readonly #projection: Linear;
  readonly #output: Linear;
  readonly #prototypes: Tensor | null;

  constructor(runtime: Runtime, config: ContextAwareEmbeddingConfig) {
    super(runtime);
    const { vocab, embedding: width, context = width, senses = 0 } = config;
    const { project = context !== width, dropout = 0, temperature = 0.1 } = config;
    if (!project && context !== width)
      throw new RangeError(
        `ContextAwareEmbedding: without projection context must be embedding, got ${context} and ${width}`,
      );
    if (!(dropout >= 0 && dropout <= 1))
      throw new RangeError(`ContextAwareEmbedding: dropout must lie in 0 … 1, got ${dropout}`);
    if (!(temperature > 0 && temperature < Infinity))
      throw new RangeError(
        `ContextAwareEmbedding: temperature must be a number above 0, got ${temperature}`,
      );
    this.config = config;
    this.project = project;
    this.#words = this.child("word_embeddings", new Embedding(runtime, vocab, width));
    this.#projection = this.child("context_attention", new Linear(runtime, width, context));
    this.#output = this.child("output_layer", new Linear(runtime, context, width));
    this.#prototypes =
      senses > 0 ? uniformStep(this.parameter("sense_prototypes", [senses, width]), 1) : null;
  }

  /** ids i32[...] → f32[..., E]: the embeddings without context, which targets are compared with. */
  lookUp(ids: Tensor): Tensor {
    return this.#words.forward(ids);
  }

  /**
   * @param words     i32[B]
   * @param contexts  i32[B, n], padded
   * @throws {IndexError} an id is not in the table
   */
  forward(
    words: Tensor,
    contexts: Tensor,
    options: ContextAwareEmbeddingCall = {},
  ): ContextAwareEmbeddingResult {
    expectShape("ContextAwareEmbedding", words, [null], "words");
    const [batch] = words.shape as [number];
    expectShape("ContextAwareEmbedding", contexts, [batch, null], "contexts");
    expectDType("ContextAwareEmbedding", contexts, "i32", "contexts");
    const length = contexts.shape[1] as number;
    const meet = (ids: Tensor): Tensor => {
      const vectors = this.lookUp(ids);
      return this.project ? this.#projection.forward(vectors) : vectors;
    };
    const keys = meet(contexts);
    const width = keys.shape[2] as number;
    const query = reshape(meet(words), [batch, 1, width]);
    const rules: AttentionOptions = {
      mask: this.#mask(contexts),
      scale: 1,
      dropout: this.#dropout(options, [batch, 1, length]),
    };
    const out = (sums: Tensor): Tensor => this.#output.forward(reshape(sums, [batch, width]));
    if (options.needWeights === false)
      return { output: out(attention(query, keys, keys, rules)), weights: null };
    const { output, weights } = attentionWithWeights(query, keys, keys, rules);
    return { output: out(output), weights: reshape(weights, [batch, length]) };
  }

  /**
   * How near embeddings lie to each sense: cosine / temperature.
   *
   * @param embeddings  f32[B, E], as forward() gives them
   * @returns f32[B, S]
   */
  senseLogits(embeddings: Tensor): Tensor {
    const { embedding: width, temperature = 0.1 } = this.config;
    if (!this.#prototypes)
      throw new RangeError("ContextAwareEmbedding: senses must be at least 1, got 0");
    expectShape("ContextAwareEmbedding", embeddings, [null, width], "embeddings");
    const cosines = matmul(directions(embeddings), directions(this.#prototypes), {
      transposeB: true,
    });
    return mul(cosines, 1 / temperature);
  }

  /** u8[B, 1, n]: which words of the contexts are there; none without padding. */
  #mask(contexts: Tensor): Tensor | undefined {
    const { padding } = this.config;
    if (padding === undefined) return undefined;
    const { runtime } = contexts;
    const [batch, length] = contexts.shape as [number, number];
    const mask = empty(runtime, [batch, 1, length], "u8");
    const shows = runtime.memory.u8(mask.ptr, mask.size);
    runtime.memory.i32(contexts.ptr, contexts.size).forEach((id, index) => {
      shows[index] = id === padding ? 0 : 1;
    });
    return mask;
  }

  #dropout(
    { dropoutMask }: ContextAwareEmbeddingCall,
    shape: readonly [number, number, number],
  ): AttentionOptions["dropout"] {
    const { dropout: p = 0 } = this.config;
    if (!this.training || p === 0) return undefined;
    return dropoutMask ? { p, mask: reshape(dropoutMask, shape) } : { p };
  }
}

/** Rows divided by their lengths. */
function directions(rows: Tensor): Tensor {
  const squares = sum(mul(rows, rows), -1, { keepDims: true });
  return div(rows, sqrt(add(squares, LEAST_SQUARE)));
}
