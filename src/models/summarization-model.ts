import { type AttentionSource, attend, attentionSource } from "../nn/additive-attention.js";
import { Dropout } from "../nn/dropout.js";
import { Embedding } from "../nn/embedding.js";
import { Linear } from "../nn/linear.js";
import { LSTM, type LstmState } from "../nn/lstm.js";
import { crossEntropy } from "../ops/cross-entropy.js";
import { embedding } from "../ops/embedding.js";
import { concat, reshape, slice } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import { zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { type EncodedSource, EncoderDecoder, type Features, last } from "./encoder-decoder.js";
import { type BridgeKind, StateBridge } from "./state-bridge.js";

export interface SummarizationConfig {
  readonly vocab: number;
  readonly embedding: number;
  readonly hidden: number;
  readonly layers?: number;
  /** On the embedded tokens and between layers. */
  readonly dropout?: number;
  /** How the encoder's states of both directions reach the decoder; default "sum". */
  readonly bridge?: BridgeKind;
  /** The id that fills rows up; never a target. */
  readonly padding: number;
}

/**
 * Abstractive summarization: a bidirectional LSTM reads, an LSTM with additive attention writes,
 * and both share one embedding.
 *
 *   weights = softmax(v·tanh(attention·[hₜ₋₁ ; encoded])),  context = weights·encoded
 *   hₜ = decoder(embedding(token), hₜ₋₁),  logits = output_layer·[hₜ ; context]
 *
 * State dict: embedding.weight, encoder.*, decoder.*, attention.*, v.weight, output_layer.*; with a
 * learned bridge also bridge.*. Source padding is masked, so each row of a batch gives what it gives
 * alone. The context does not reach the LSTM: all steps of a known target are computed at once.
 *
 * @source Bahdanau et al. 2015, arXiv:1409.0473, with an LSTM and the attention computed from the
 *   state before the step
 */
export class SummarizationModel extends EncoderDecoder {
  readonly config: SummarizationConfig;
  readonly #embedding: Embedding;
  readonly #dropout: Dropout;
  readonly #encoder: LSTM;
  readonly #bridge: StateBridge;
  readonly #decoder: LSTM;
  readonly #attention: Linear;
  readonly #v: Linear;
  readonly #output: Linear;

  constructor(runtime: Runtime, config: SummarizationConfig) {
    const { vocab, embedding: width, hidden, layers = 1, dropout = 0, bridge = "sum" } = config;
    super(runtime, "SummarizationModel", config.padding);
    this.config = config;
    this.#embedding = this.child("embedding", new Embedding(runtime, vocab, width));
    this.#dropout = this.child("dropout", new Dropout(runtime, dropout));
    this.#encoder = this.child(
      "encoder",
      new LSTM(runtime, width, hidden, { layers, dropout, bidirectional: true }),
    );
    this.#bridge = this.child("bridge", new StateBridge(runtime, hidden, bridge));
    this.#decoder = this.child("decoder", new LSTM(runtime, width, hidden, { layers, dropout }));
    this.#attention = this.child("attention", new Linear(runtime, 3 * hidden, hidden));
    this.#v = this.child("v", new Linear(runtime, hidden, 1, { bias: false }));
    this.#output = this.child("output_layer", new Linear(runtime, 3 * hidden, vocab));
  }

  /**
   * How well the output layer tells a source token from what the encoder made of it: the mean
   * cross-entropy over some of them. A model that can echo needs only look at a word to say it.
   *
   * @param positions  i32[n], of all B·S
   * @param tokens     i32[n], the ids that stood there
   */
  echoLoss({ source }: EncodedSource, positions: Tensor, tokens: Tensor): Tensor {
    const { values } = source;
    const [batch, length, width] = values.shape as [number, number, number];
    const seen = embedding(reshape(values, [batch * length, width]), positions);
    const silence = zeros(this.runtime, [tokens.size, width / 2]);
    return crossEntropy(this.score(concat([silence, seen], 1)), tokens);
  }

  protected read(ids: Tensor, lengths: Tensor): EncodedSource {
    const { output, ...state } = this.#encoder.forward(this.embed(ids), { lengths });
    return {
      source: attentionSource(this.#attention, this.#v, output, lengths),
      state: this.#bridge.forward(state),
    };
  }

  protected embed(ids: Tensor): Tensor {
    return this.#dropout.forward(this.#embedding.forward(ids));
  }

  protected advance(
    embedded: Tensor,
    state: LstmState,
    source: AttentionSource,
  ): Features & { state: LstmState } {
    const { context, weights } = attend(last(state.hidden), source);
    const after = this.#decoder.step(embedded, state);
    return { features: concat([last(after.hidden), context], 1), weights, state: after };
  }

  /** The same as step by step, to the same bits: no step waits for the context of the one before. */
  protected override *walk(
    embedded: Tensor,
    { source, state }: EncodedSource,
  ): Generator<undefined, Features> {
    const { output } = this.#decoder.forward(embedded, { state });
    yield;
    const [batch, steps, hidden] = output.shape as [number, number, number];
    const first = reshape(last(state.hidden), [batch, 1, hidden]);
    const before = concat([first, slice(output, 1, 0, steps - 1)], 1);
    const { context, weights } = attend(reshape(before, [batch * steps, hidden]), source);
    return { features: concat([output, reshape(context, [batch, steps, 2 * hidden])], 2), weights };
  }

  protected score(features: Tensor): Tensor {
    return this.#output.forward(features);
  }
}
