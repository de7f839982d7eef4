import { AdditiveAttention, type AttentionSource } from "../nn/additive-attention.js";
import { Dropout } from "../nn/dropout.js";
import { Embedding } from "../nn/embedding.js";
import { Linear } from "../nn/linear.js";
import { LSTM, type LstmState } from "../nn/lstm.js";
import { Module } from "../nn/module.js";
import { concat } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { type EncodedSource, EncoderDecoder, type Features, last } from "./encoder-decoder.js";
import { type BridgeKind, StateBridge } from "./state-bridge.js";

export interface Seq2SeqConfig {
  readonly sourceVocab: number;
  readonly targetVocab: number;
  readonly embedding: number;
  readonly hidden: number;
  readonly layers?: number;
  readonly dropout?: number;
  readonly bidirectional?: boolean;
  /** What becomes of both directions' states; default "sum". Of a bidirectional encoder only. */
  readonly bridge?: BridgeKind;
  /** The id that fills rows up; never a target. */
  readonly padding: number;
}

/**
 * Neural translation: an LSTM encoder, an LSTM decoder with additive attention over the encoder.
 *
 * State dict: encoder.embedding.weight, encoder.rnn.*, decoder.attention.attn.*,
 * decoder.attention.v.weight, decoder.embedding.weight, decoder.rnn.*, decoder.fc_out.*; with a
 * learned bridge also encoder.bridge.*. Source padding is masked, so each row of a batch gives what
 * it gives alone.
 *
 * @source Bahdanau et al. 2015, arXiv:1409.0473, with an LSTM and the attention computed from the
 *   state before the step
 */
export class Seq2Seq extends EncoderDecoder {
  readonly config: Seq2SeqConfig;
  readonly #encoder: Encoder;
  readonly #decoder: Decoder;

  constructor(runtime: Runtime, config: Seq2SeqConfig) {
    super(runtime, "Seq2Seq", config.padding);
    this.config = config;
    this.#encoder = this.child("encoder", new Encoder(runtime, config));
    this.#decoder = this.child("decoder", new Decoder(runtime, config));
  }

  protected read(ids: Tensor, lengths: Tensor): EncodedSource {
    const { output, state } = this.#encoder.forward(ids, lengths);
    return { source: this.#decoder.attention.source(output, lengths), state };
  }

  protected embed(ids: Tensor): Tensor {
    return this.#decoder.embed(ids);
  }

  protected advance(
    embedded: Tensor,
    state: LstmState,
    source: AttentionSource,
  ): Features & { state: LstmState } {
    return this.#decoder.advance(embedded, state, source);
  }

  protected score(features: Tensor): Tensor {
    return this.#decoder.output.forward(features);
  }
}

class Encoder extends Module {
  readonly #embedding: Embedding;
  readonly #dropout: Dropout;
  readonly #rnn: LSTM;
  readonly #bridge: StateBridge | null;

  constructor(runtime: Runtime, config: Seq2SeqConfig) {
    super(runtime);
    const { sourceVocab, embedding, hidden, layers = 1, dropout = 0 } = config;
    const { bidirectional = false, bridge = "sum" } = config;
    this.#embedding = this.child("embedding", new Embedding(runtime, sourceVocab, embedding));
    this.#dropout = this.child("dropout", new Dropout(runtime, dropout));
    this.#rnn = this.child(
      "rnn",
      new LSTM(runtime, embedding, hidden, { layers, dropout, bidirectional }),
    );
    this.#bridge = bidirectional
      ? this.child("bridge", new StateBridge(runtime, hidden, bridge))
      : null;
  }

  forward(ids: Tensor, lengths: Tensor): { output: Tensor; state: LstmState } {
    const embedded = this.#dropout.forward(this.#embedding.forward(ids));
    const { output, ...state } = this.#rnn.forward(embedded, { lengths });
    return { output, state: this.#bridge?.forward(state) ?? state };
  }
}

class Decoder extends Module {
  readonly attention: AdditiveAttention;
  readonly output: Linear;
  readonly #embedding: Embedding;
  readonly #dropout: Dropout;
  readonly #rnn: LSTM;

  constructor(runtime: Runtime, config: Seq2SeqConfig) {
    super(runtime);
    const { targetVocab, embedding, hidden, layers = 1, dropout = 0 } = config;
    const source = hidden * (config.bidirectional ? 2 : 1);
    this.attention = this.child(
      "attention",
      new AdditiveAttention(runtime, hidden, source, hidden),
    );
    this.#embedding = this.child("embedding", new Embedding(runtime, targetVocab, embedding));
    this.#dropout = this.child("dropout", new Dropout(runtime, dropout));
    this.#rnn = this.child(
      "rnn",
      new LSTM(runtime, embedding + source, hidden, { layers, dropout }),
    );
    this.output = this.child("fc_out", new Linear(runtime, hidden + source, targetVocab));
  }

  embed(ids: Tensor): Tensor {
    return this.#dropout.forward(this.#embedding.forward(ids));
  }

  /** The context is part of what the LSTM reads. */
  advance(
    embedded: Tensor,
    state: LstmState,
    source: AttentionSource,
  ): Features & { state: LstmState } {
    const { context, weights } = this.attention.attend(last(state.hidden), source);
    const after = this.#rnn.step(concat([embedded, context], 1), state);
    return { features: concat([last(after.hidden), context], 1), weights, state: after };
  }
}
