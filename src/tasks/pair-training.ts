import type { EncoderDecoder, Predictions } from "../models/encoder-decoder.js";
import { add } from "../ops/arithmetic.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { padRows } from "../train/batches.js";
import type { LossInParts } from "../train/trainer.js";
import { fingerprint, type Lesson } from "./training.js";

/** What is read and what is to be written, as token ids, start and end included. */
export interface TokenPair {
  readonly source: readonly number[];
  readonly target: readonly number[];
  /** Which target tokens come from which source tokens, where that is known. */
  readonly links?: readonly Link[];
}

/** Places in a pair's source and target. */
export interface Link {
  readonly source: number;
  readonly target: number;
}

export interface PairData<M extends EncoderDecoder> {
  build(runtime: Runtime): M;
  readonly pairs: readonly TokenPair[];
  readonly validation: readonly TokenPair[];
  readonly padding: number;
  /** Of the training loss. */
  readonly smoothing: number;
  readonly teacherForcing: number;
  /** Pairs of an easier kind, which the first epochs learn from in place of the others. */
  readonly exercises?: { readonly pairs: readonly TokenPair[]; readonly epochs: number };
  /** In training some source tokens are hidden, so that the model looks at the others too. */
  readonly hiding?: Hiding;
  /** Another loss, added to that of the targets in training, or null. */
  also?(model: M, predictions: Predictions, pairs: readonly TokenPair[]): Tensor | null;
}

export interface Hiding {
  /** The share of the tokens between start and end. */
  readonly share: number;
  /** The id that stands in their places. */
  readonly as: number;
}

/** Every target token from those before it; validated in nats a token, without smoothing. */
export function pairLesson<M extends EncoderDecoder>(data: PairData<M>): Lesson<M, TokenPair> {
  const { pairs, validation, padding, smoothing, teacherForcing, hiding, exercises } = data;
  const items = [...pairs, ...(exercises?.pairs ?? [])];
  const indices = [...items.keys()];
  return {
    about: `${items.length} pairs (${fingerprint(items.flatMap(rowsOf))})`,
    items,
    validation,
    itemsOf: (epoch) =>
      exercises && epoch < exercises.epochs
        ? indices.slice(pairs.length)
        : indices.slice(0, pairs.length),
    build: data.build,
    // Batches are of like target length, and of like source length among those.
    sortKey: ({ source, target }) => target.length * 4 + source.length,
    loss: (model, rows, training) => {
      const targets = rows.map(({ target }) => target);
      const sources = rows.map(({ source }) => source);
      if (!training) return lossInParts(model, sources, targets, { padding });
      const shown = hiding && hiding.share > 0 ? hide(sources, hiding, model.runtime) : sources;
      return lossInParts(model, shown, targets, {
        ...{ padding, smoothing, teacherForcing },
        also: (predictions) => data.also?.(model, predictions, rows) ?? null,
      });
    },
    weightOf: ({ target }) => target.length - 1,
  };
}

/** All numbers of a pair. */
function rowsOf({ source, target, links = [] }: TokenPair): (readonly number[])[] {
  return [source, target, ...links.map((link) => [link.source, link.target])];
}

function* lossInParts(
  model: EncoderDecoder,
  sources: readonly (readonly number[])[],
  targets: readonly (readonly number[])[],
  options: {
    readonly padding: number;
    readonly smoothing?: number;
    readonly teacherForcing?: number;
    also?(predictions: Predictions): Tensor | null;
  },
): LossInParts {
  const { padding, smoothing = 0, teacherForcing = 1, also } = options;
  const { runtime } = model;
  const source = asTensors(runtime, sources, padding);
  const target = asTensors(runtime, targets, padding).ids;
  const predictions = yield* model.predictInParts(source.ids, source.lengths, target, {
    teacherForcing,
  });
  yield;
  const loss = model.loss(predictions.logits, target, smoothing);
  const more = also?.(predictions);
  return more ? add(loss, more) : loss;
}

function asTensors(
  runtime: Runtime,
  rows: readonly (readonly number[])[],
  padding: number,
): { ids: Tensor; lengths: Tensor } {
  const { values, lengths, longest } = padRows(rows, padding);
  return {
    ids: tensor(runtime, values, [rows.length, longest]),
    lengths: tensor(runtime, lengths),
  };
}

/** Chosen by the runtime's next seed: a resumed run hides the same. */
function hide(
  rows: readonly (readonly number[])[],
  { share, as }: Hiding,
  runtime: Runtime,
): number[][] {
  const seed = runtime.nextSeed();
  let drawn = 0;
  return rows.map((row) =>
    row.map((id, at) => {
      const draw = mix32((mix32(drawn++) + seed) >>> 0) / 2 ** 32;
      return draw < share && at > 0 && at < row.length - 1 ? as : id;
    }),
  );
}
