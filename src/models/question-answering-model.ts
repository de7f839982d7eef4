import { Dropout } from "../nn/dropout.js";
import { Embedding } from "../nn/embedding.js";
import { Linear } from "../nn/linear.js";
import { LSTM } from "../nn/lstm.js";
import { Module } from "../nn/module.js";
import { MultiheadAttention } from "../nn/multihead-attention.js";
import { add, mul } from "../ops/arithmetic.js";
import { crossEntropy } from "../ops/cross-entropy.js";
import { paddingMask } from "../ops/mask.js";
import { reshape } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape } from "../tensor/check.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

export interface QuestionAnsweringConfig {
  readonly vocab: number;
  readonly embedding: number;
  /** Width of each direction of the encoders; both together are a multiple of heads. */
  readonly hidden: number;
  readonly heads: number;
  /** LSTM layers of each encoder; default 1. */
  readonly layers?: number;
  /** Probability, on embeddings, on encodings and on what the predictors see; default 0. */
  readonly dropout?: number;
  /**
   * Which side attends to the other and is pointed at: "context" (default) finds the answer there,
   * "question" is the textbook's direction.
   */
  readonly attends?: "context" | "question";
  /**
   * What the predictors see: what was attended to and the encoding of the position added up
   * ("joined", default), or the former alone, as in the textbook ("bare").
   */
  readonly features?: "joined" | "bare";
}

/** Texts as a padded batch of ids. */
export interface PaddedIds {
  /** i32[B, L] */
  readonly ids: Tensor;
  /** i32[B] */
  readonly lengths: Tensor;
}

export interface MarkedContext extends PaddedIds {
  /**
   * i32[B, L] each: further ids whose embeddings are added to a position's. They say what is known
   * of a word beside the word: that the question has it too, for example.
   */
  readonly marks?: readonly Tensor[] | undefined;
}

/** Where answers begin and end: f32[B, L] over the side that attends, −∞ behind its lengths. */
export interface SpanLogits {
  readonly start: Tensor;
  readonly end: Tensor;
}

export interface SpanLogitsWithWeights extends SpanLogits {
  /** f32[B, Lq, Lk], or [B, heads, Lq, Lk]: queries are of the side that attends. */
  readonly weights: Tensor;
}

/**
 * Extractive question answering: two bidirectional LSTMs read question and context, attention brings
 * them together, and two linear layers point at the answer's first and last token.
 *
 * State dict: embedding.weight f32[V, E], question_encoder.* and context_encoder.* (an LSTM's names,
 * both directions), attention.in_proj_weight f32[6H, 2H] and in_proj_bias, attention.out_proj.*,
 * start_predictor.weight f32[1, 2H] and bias [1], end_predictor.*. No option but `layers` adds to it.
 * Padding is masked, so each row of a batch gives what it gives alone.
 *
 * @source Seo et al. 2017, arXiv:1611.01603, for the layers, with the attention of Vaswani et al.
 *   2017, arXiv:1706.03762; Chen et al. 2017, arXiv:1704.00051, for marking the question's words
 */
export class QuestionAnsweringModel extends Module {
  readonly config: QuestionAnsweringConfig;
  readonly #embedding: Embedding;
  readonly #questionEncoder: LSTM;
  readonly #contextEncoder: LSTM;
  readonly #attention: MultiheadAttention;
  readonly #start: Linear;
  readonly #end: Linear;
  readonly #dropout: Dropout;

  constructor(runtime: Runtime, config: QuestionAnsweringConfig) {
    super(runtime);
    this.config = config;
    const { vocab, embedding, hidden, heads, layers = 1, dropout = 0 } = config;
    expectOneOf("attends", config.attends, ["context", "question"]);
    expectOneOf("features", config.features, ["joined", "bare"]);
    const encoder = (): LSTM =>
      new LSTM(runtime, embedding, hidden, { layers, dropout, bidirectional: true });
    this.#embedding = this.child("embedding", new Embedding(runtime, vocab, embedding));
    this.#questionEncoder = this.child("question_encoder", encoder());
    this.#contextEncoder = this.child("context_encoder", encoder());
    this.#attention = this.child("attention", new MultiheadAttention(runtime, 2 * hidden, heads));
    this.#start = this.child("start_predictor", new Linear(runtime, 2 * hidden, 1));
    this.#end = this.child("end_predictor", new Linear(runtime, 2 * hidden, 1));
    this.#dropout = this.child("dropout", new Dropout(runtime, dropout));
  }

  /**
   * @throws {ShapeError} question and context are not of one batch
   * @throws {IndexError} an id has no embedding, or a length is longer than its row
   */
  forward(question: PaddedIds, context: MarkedContext): SpanLogits {
    return this.#predict(question, context, { needWeights: false });
  }

  /**
   * forward() that returns the weights too: the same logits to the last bit.
   *
   * @param options.average  over the heads, as PyTorch does by default; default true
   */
  withWeights(
    question: PaddedIds,
    context: MarkedContext,
    options: { readonly average?: boolean } = {},
  ): SpanLogitsWithWeights {
    const averageWeights = options.average ?? true;
    const { start, end, weights } = this.#predict(question, context, { averageWeights });
    return { start, end, weights: weights as Tensor };
  }

  /**
   * The mean cross-entropy of the first and the last token.
   *
   * @param starts  i32[B]: positions of the side that attends
   * @param ends    i32[B]
   */
  loss({ start, end }: SpanLogits, starts: Tensor, ends: Tensor): Tensor {
    return mul(add(crossEntropy(start, starts), crossEntropy(end, ends)), 0.5);
  }

  #predict(
    question: PaddedIds,
    context: MarkedContext,
    call: { readonly needWeights?: boolean; readonly averageWeights?: boolean },
  ): SpanLogits & { readonly weights: Tensor | null } {
    const asked = this.#encode("question", this.#questionEncoder, question);
    const read = this.#encode("context", this.#contextEncoder, context);
    const [from, to] = this.config.attends === "question" ? [asked, read] : [read, asked];
    const { output, weights } = this.#attention.forward(from.encoded, to.encoded, to.encoded, {
      ...call,
      keyPaddingMask: to.padding,
    });
    const features = this.config.features === "bare" ? output : add(output, from.encoded);
    const seen = this.#dropout.forward(features);
    const logits = (predictor: Linear): Tensor =>
      add(reshape(predictor.forward(seen), from.padding.shape), from.padding);
    return { start: logits(this.#start), end: logits(this.#end), weights };
  }

  /** Ids → f32[B, L, 2H], and f32[B, L] that is added to scores of its positions. */
  #encode(
    name: string,
    encoder: LSTM,
    { ids, lengths, marks = [] }: MarkedContext,
  ): { encoded: Tensor; padding: Tensor } {
    expectDType("QuestionAnsweringModel", ids, "i32", `${name}.ids`);
    expectShape("QuestionAnsweringModel", ids, [null, null], `${name}.ids`);
    expectDType("QuestionAnsweringModel", lengths, "i32", `${name}.lengths`);
    expectShape("QuestionAnsweringModel", lengths, [ids.shape[0] as number], `${name}.lengths`);
    let embedded = this.#embedding.forward(ids);
    for (const mark of marks) {
      expectShape("QuestionAnsweringModel", mark, ids.shape, `${name}.marks`);
      embedded = add(embedded, this.#embedding.forward(mark));
    }
    const { output } = encoder.forward(this.#dropout.forward(embedded), { lengths });
    const shows = paddingMask(lengths, ids.shape[1] as number);
    const padding = Float32Array.from(shows.read(), (shown) => (shown ? 0 : -Infinity));
    return {
      encoded: this.#dropout.forward(output),
      padding: tensor(this.runtime, padding, shows.shape),
    };
  }
}

function expectOneOf(name: string, value: string | undefined, known: readonly string[]): void {
  if (value !== undefined && !known.includes(value))
    throw new TypeError(
      `QuestionAnsweringModel: ${name} must be ${known.join(" or ")}, got ${String(value)}`,
    );
}
