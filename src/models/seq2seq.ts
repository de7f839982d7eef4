import { ShapeError } from "../errors.js";
import { AdditiveAttention, type AttentionSource } from "../nn/additive-attention.js";
import { Dropout } from "../nn/dropout.js";
import { Embedding } from "../nn/embedding.js";
import { Linear } from "../nn/linear.js";
import { LSTM, type LstmState } from "../nn/lstm.js";
import { Module } from "../nn/module.js";
import { add } from "../ops/arithmetic.js";
import { crossEntropy } from "../ops/cross-entropy.js";
import { argmax } from "../ops/select.js";
import { concat, reshape, slice } from "../ops/shape.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape, showShape } from "../tensor/check.js";
import { tensor, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

export interface Seq2SeqConfig {
  readonly sourceVocab: number;
  readonly targetVocab: number;
  readonly embedding: number;
  readonly hidden: number;
  readonly layers?: number;
  readonly dropout?: number;
  readonly bidirectional?: boolean;
  /** The id that fills rows up; never a target. */
  readonly padding: number;
}

/** The encoded source, ready for a decoder. */
export interface EncodedSource {
  readonly source: AttentionSource;
  readonly state: LstmState;
}

export interface Seq2SeqPredictions {
  /** f32[B, T − 1, V]: row t predicts target[t + 1]. */
  readonly logits: Tensor;
  /** f32[B, T − 1, S]: what that step looked at. */
  readonly weights: Tensor;
}

export interface ForcingOptions {
  /** How often a step is fed the true token instead of its own best guess, 0 … 1; default 1. */
  readonly teacherForcing?: number;
  /** Of those choices; default the runtime's next. */
  readonly seed?: number;
}

/**
 * Neural translation: an LSTM encoder, an LSTM decoder with additive attention over the encoder.
 *
 * State dict: encoder.embedding.weight, encoder.rnn.*, decoder.attention.attn.*,
 * decoder.attention.v.weight, decoder.embedding.weight, decoder.rnn.*, decoder.fc_out.*.
 * Source padding is masked, so each row of a batch gives what it gives alone. A bidirectional
 * encoder hands the decoder the sum of its two directions' states.
 *
 * @source Bahdanau et al. 2015, arXiv:1409.0473, with an LSTM and the attention computed from the
 *   state before the step
 */
export class Seq2Seq extends Module {
  readonly config: Seq2SeqConfig;
  readonly #encoder: Encoder;
  readonly #decoder: Decoder;

  constructor(runtime: Runtime, config: Seq2SeqConfig) {
    super(runtime);
    this.config = config;
    this.#encoder = this.child("encoder", new Encoder(runtime, config));
    this.#decoder = this.child("decoder", new Decoder(runtime, config));
  }

  /** source i32[B, S], lengths i32[B] → what step() and forward() attend to */
  encode(source: Tensor, lengths: Tensor): EncodedSource {
    expectIds("Seq2Seq", source, lengths, "source");
    const { output, state } = this.#encoder.forward(source, lengths);
    return { source: this.#decoder.attend(output, lengths), state };
  }

  /**
   * One step of decoding.
   *
   * @param ids  i32[B·K]: the tokens before; K of them (beams) may share a row of the source
   * @returns logits f32[B·K, V], weights f32[B, K, S], and the state after
   */
  step(
    ids: Tensor,
    state: LstmState,
    source: AttentionSource,
  ): { logits: Tensor; weights: Tensor; state: LstmState } {
    return this.#decoder.step(ids, state, source);
  }

  /**
   * Training and scoring: predicts every target token from those before it.
   *
   * @param source   i32[B, S], padded
   * @param lengths  i32[B]
   * @param target   i32[B, T], padded, starting with the start token
   */
  predict(
    source: Tensor,
    lengths: Tensor,
    target: Tensor,
    options: ForcingOptions = {},
  ): Seq2SeqPredictions {
    const parts = this.predictInParts(source, lengths, target, options);
    for (;;) {
      const part = parts.next();
      if (part.done) return part.value;
    }
  }

  /** predict() for long work: the event loop may turn wherever it yields. */
  *predictInParts(
    source: Tensor,
    lengths: Tensor,
    target: Tensor,
    options: ForcingOptions = {},
  ): Generator<undefined, Seq2SeqPredictions> {
    expectDType("Seq2Seq", target, "i32", "target");
    expectShape("Seq2Seq", target, [source.shape[0] ?? null, null], "target");
    if ((target.shape[1] as number) < 2)
      throw new ShapeError(
        `Seq2Seq: target must have a start token and one more, got ${showShape(target.shape)}`,
      );
    const ratio = options.teacherForcing ?? 1;
    if (!(ratio >= 0 && ratio <= 1))
      throw new RangeError(`Seq2Seq: teacherForcing must lie in 0 … 1, got ${ratio}`);
    const encoded = this.encode(source, lengths);
    yield;
    if (ratio === 1) return yield* this.#decoder.forced(target, encoded);
    const seed = options.seed ?? this.runtime.nextSeed();
    return yield* this.#decoder.free(target, encoded, ratio, seed);
  }

  /**
   * predict() as a PyTorch user has it: outputs f32[B, T, V] whose step 0 is zeros, and the
   * weights f32[B, T − 1, S].
   */
  forward(
    source: Tensor,
    lengths: Tensor,
    target: Tensor,
    options: ForcingOptions = {},
  ): { outputs: Tensor; weights: Tensor } {
    const { logits, weights } = this.predict(source, lengths, target, options);
    const [batch, , vocab] = logits.shape as [number, number, number];
    return { outputs: concat([zeros(this.runtime, [batch, 1, vocab]), logits], 1), weights };
  }

  /** Mean cross-entropy of target[1 …] under predict()'s logits, padding ignored. */
  loss(logits: Tensor, target: Tensor, smoothing = 0): Tensor {
    const [batch, steps, vocab] = logits.shape as [number, number, number];
    const wanted = slice(target, 1, 1, steps + 1);
    return crossEntropy(reshape(logits, [batch * steps, vocab]), reshape(wanted, [batch * steps]), {
      ignore: this.config.padding,
      smoothing,
    });
  }
}

class Encoder extends Module {
  readonly #embedding: Embedding;
  readonly #dropout: Dropout;
  readonly #rnn: LSTM;

  constructor(runtime: Runtime, config: Seq2SeqConfig) {
    super(runtime);
    const { sourceVocab, embedding, hidden, layers = 1, dropout = 0 } = config;
    this.#embedding = this.child("embedding", new Embedding(runtime, sourceVocab, embedding));
    this.#dropout = this.child("dropout", new Dropout(runtime, dropout));
    this.#rnn = this.child(
      "rnn",
      new LSTM(runtime, embedding, hidden, {
        layers,
        dropout,
        bidirectional: config.bidirectional ?? false,
      }),
    );
  }

  forward(ids: Tensor, lengths: Tensor): { output: Tensor; state: LstmState } {
    const embedded = this.#dropout.forward(this.#embedding.forward(ids));
    const { output, hidden, cell } = this.#rnn.forward(embedded, { lengths });
    return { output, state: { hidden: this.#bridge(hidden), cell: this.#bridge(cell) } };
  }

  /** Both directions of a layer become the one state a decoder layer starts from: their sum. */
  #bridge(states: Tensor[]): Tensor[] {
    if (this.#rnn.directions === 1) return states;
    return states.flatMap((forward, index) =>
      index % 2 === 0 ? [add(forward, states[index + 1] as Tensor)] : [],
    );
  }
}

class Decoder extends Module {
  readonly #attention: AdditiveAttention;
  readonly #embedding: Embedding;
  readonly #dropout: Dropout;
  readonly #rnn: LSTM;
  readonly #output: Linear;

  constructor(runtime: Runtime, config: Seq2SeqConfig) {
    super(runtime);
    const { targetVocab, embedding, hidden, layers = 1, dropout = 0 } = config;
    const source = hidden * (config.bidirectional ? 2 : 1);
    this.#attention = this.child(
      "attention",
      new AdditiveAttention(runtime, hidden, source, hidden),
    );
    this.#embedding = this.child("embedding", new Embedding(runtime, targetVocab, embedding));
    this.#dropout = this.child("dropout", new Dropout(runtime, dropout));
    this.#rnn = this.child(
      "rnn",
      new LSTM(runtime, embedding + source, hidden, { layers, dropout }),
    );
    this.#output = this.child("fc_out", new Linear(runtime, hidden + source, targetVocab));
  }

  attend(values: Tensor, lengths: Tensor): AttentionSource {
    return this.#attention.source(values, lengths);
  }

  step(
    ids: Tensor,
    state: LstmState,
    source: AttentionSource,
  ): { logits: Tensor; weights: Tensor; state: LstmState } {
    const embedded = this.#dropout.forward(this.#embedding.forward(ids));
    const { features, weights, state: after } = this.#advance(embedded, state, source);
    return { logits: this.#output.forward(features), weights, state: after };
  }

  /** Every step is fed the true token: the output layer is one product over all steps. */
  *forced(
    target: Tensor,
    { source, state }: EncodedSource,
  ): Generator<undefined, Seq2SeqPredictions> {
    const [batch, steps] = target.shape as [number, number];
    const ids = slice(target, 1, 0, steps - 1);
    const embedded = this.#dropout.forward(this.#embedding.forward(ids));
    const width = embedded.shape[2] as number;
    const features: Tensor[] = [];
    const weights: Tensor[] = [];
    let before = state;
    for (let t = 0; t < steps - 1; t++) {
      const input = reshape(slice(embedded, 1, t, t + 1), [batch, width]);
      const step = this.#advance(input, before, source);
      features.push(reshape(step.features, [batch, 1, step.features.shape[1] as number]));
      weights.push(step.weights);
      before = step.state;
      yield;
    }
    const logits = this.#output.forward(concat(features, 1));
    return { logits, weights: concat(weights, 1) };
  }

  /** Each step is fed the true token with probability `ratio`, the same for the whole batch. */
  *free(
    target: Tensor,
    encoded: EncodedSource,
    ratio: number,
    seed: number,
  ): Generator<undefined, Seq2SeqPredictions> {
    const { runtime } = this;
    const [batch, steps] = target.shape as [number, number];
    const truth = target.read();
    const column = (t: number): Tensor =>
      tensor(
        runtime,
        Int32Array.from({ length: batch }, (_, b) => truth[b * steps + t] as number),
      );
    const logits: Tensor[] = [];
    const weights: Tensor[] = [];
    let before = encoded.state;
    let ids = column(0);
    for (let t = 1; t < steps; t++) {
      const step = this.step(ids, before, encoded.source);
      logits.push(reshape(step.logits, [batch, 1, step.logits.shape[1] as number]));
      weights.push(step.weights);
      before = step.state;
      ids = mix32((mix32(t) + seed) >>> 0) / 2 ** 32 < ratio ? column(t) : argmax(step.logits);
      yield;
    }
    return { logits: concat(logits, 1), weights: concat(weights, 1) };
  }

  #advance(
    embedded: Tensor,
    state: LstmState,
    source: AttentionSource,
  ): { features: Tensor; weights: Tensor; state: LstmState } {
    const { context, weights } = this.#attention.attend(last(state.hidden), source);
    const after = this.#rnn.step(concat([embedded, context], 1), state);
    return { features: concat([last(after.hidden), context], 1), weights, state: after };
  }
}

function last(states: Tensor[]): Tensor {
  return states.at(-1) as Tensor;
}

function expectIds(who: string, ids: Tensor, lengths: Tensor, name: string): void {
  expectDType(who, ids, "i32", name);
  expectShape(who, ids, [null, null], name);
  expectDType(who, lengths, "i32", "lengths");
  expectShape(who, lengths, [ids.shape[0] as number], "lengths");
}
