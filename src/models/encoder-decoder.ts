import { ShapeError } from "../errors.js";
import type { AttentionSource } from "../nn/additive-attention.js";
import type { LstmState } from "../nn/lstm.js";
import { Module } from "../nn/module.js";
import { crossEntropy } from "../ops/cross-entropy.js";
import { argmax } from "../ops/select.js";
import { concat, reshape, slice } from "../ops/shape.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape, showShape } from "../tensor/check.js";
import { tensor, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** The encoded source, ready for a decoder. */
export interface EncodedSource {
  readonly source: AttentionSource;
  readonly state: LstmState;
}

export interface Predictions {
  readonly encoded: EncodedSource;
  /** f32[B, T − 1, V]: row t predicts target[t + 1]. */
  readonly logits: Tensor;
  /** f32[B, T − 1, S]: what that step looked at. */
  readonly weights: Tensor;
}

type Written = Omit<Predictions, "encoded">;

/** What a decoder knows after some steps, before the output layer. */
export interface Features {
  /** f32[B, F] of one step, f32[B, T, F] of several */
  readonly features: Tensor;
  /** f32[B, T, S] */
  readonly weights: Tensor;
}

export interface ForcingOptions {
  /** How often a step is fed the true token instead of its own best guess, 0 … 1; default 1. */
  readonly teacherForcing?: number;
  /** Of those choices; default the runtime's next. */
  readonly seed?: number;
}

/**
 * An LSTM encoder, and an LSTM decoder that looks at the source before every step: what Seq2Seq and
 * SummarizationModel have in common. A subclass says how ids are read, what one step is, and how
 * features become logits.
 */
export abstract class EncoderDecoder extends Module {
  readonly #who: string;
  readonly #padding: number;

  /** @param who  what errors begin with. @param padding  the id that fills rows up; never a target */
  constructor(runtime: Runtime, who: string, padding: number) {
    super(runtime);
    this.#who = who;
    this.#padding = padding;
  }

  /** Source ids whose shapes are right, encoded. */
  protected abstract read(source: Tensor, lengths: Tensor): EncodedSource;
  /** Target ids i32[...] → f32[..., E] */
  protected abstract embed(ids: Tensor): Tensor;
  /** One step from embedded f32[B, E]. */
  protected abstract advance(
    embedded: Tensor,
    state: LstmState,
    source: AttentionSource,
  ): Features & { readonly state: LstmState };
  /** The output layer: f32[..., F] → f32[..., V] */
  protected abstract score(features: Tensor): Tensor;

  /** source i32[B, S], lengths i32[B] → what step() and forward() attend to */
  encode(source: Tensor, lengths: Tensor): EncodedSource {
    expectIds(this.#who, source, lengths, "source");
    return this.read(source, lengths);
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
    const { features, weights, state: after } = this.advance(this.embed(ids), state, source);
    return { logits: this.score(features), weights, state: after };
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
  ): Predictions {
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
  ): Generator<undefined, Predictions> {
    const who = this.#who;
    expectDType(who, target, "i32", "target");
    expectShape(who, target, [source.shape[0] ?? null, null], "target");
    if ((target.shape[1] as number) < 2)
      throw new ShapeError(
        `${who}: target must have a start token and one more, got ${showShape(target.shape)}`,
      );
    const ratio = options.teacherForcing ?? 1;
    if (!(ratio >= 0 && ratio <= 1))
      throw new RangeError(`${who}: teacherForcing must lie in 0 … 1, got ${ratio}`);
    const encoded = this.encode(source, lengths);
    yield;
    if (ratio === 1) return { encoded, ...(yield* this.#forced(target, encoded)) };
    const seed = options.seed ?? this.runtime.nextSeed();
    return { encoded, ...(yield* this.#free(target, encoded, ratio, seed)) };
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
      ignore: this.#padding,
      smoothing,
    });
  }

  /** All steps from embedded f32[B, T, E], one after the other. */
  protected *walk(
    embedded: Tensor,
    { source, state }: EncodedSource,
  ): Generator<undefined, Features> {
    const [batch, steps, width] = embedded.shape as [number, number, number];
    const features: Tensor[] = [];
    const weights: Tensor[] = [];
    let before = state;
    for (let t = 0; t < steps; t++) {
      const input = reshape(slice(embedded, 1, t, t + 1), [batch, width]);
      const step = this.advance(input, before, source);
      features.push(oneStep(step.features));
      weights.push(step.weights);
      before = step.state;
      yield;
    }
    return { features: concat(features, 1), weights: concat(weights, 1) };
  }

  /** Every step is fed the true token: the output layer is one product over all steps. */
  *#forced(target: Tensor, encoded: EncodedSource): Generator<undefined, Written> {
    const fed = slice(target, 1, 0, (target.shape[1] as number) - 1);
    const { features, weights } = yield* this.walk(this.embed(fed), encoded);
    return { logits: this.score(features), weights };
  }

  /** Each step is fed the true token with probability `ratio`, the same for the whole batch. */
  *#free(
    target: Tensor,
    encoded: EncodedSource,
    ratio: number,
    seed: number,
  ): Generator<undefined, Written> {
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
      logits.push(oneStep(step.logits));
      weights.push(step.weights);
      before = step.state;
      ids = mix32((mix32(t) + seed) >>> 0) / 2 ** 32 < ratio ? column(t) : argmax(step.logits);
      yield;
    }
    return { logits: concat(logits, 1), weights: concat(weights, 1) };
  }
}

/** The state of the last layer: what a decoder shows the attention. */
export function last(states: readonly Tensor[]): Tensor {
  return states.at(-1) as Tensor;
}

/** [B, n] → [B, 1, n] */
function oneStep(x: Tensor): Tensor {
  const [batch, width] = x.shape as [number, number];
  return reshape(x, [batch, 1, width]);
}

function expectIds(who: string, ids: Tensor, lengths: Tensor, name: string): void {
  expectDType(who, ids, "i32", name);
  expectShape(who, ids, [null, null], name);
  expectDType(who, lengths, "i32", "lengths");
  expectShape(who, lengths, [ids.shape[0] as number], "lengths");
}
