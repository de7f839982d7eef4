import { Seq2Seq, type Seq2SeqConfig } from "../models/seq2seq.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { padRows } from "../train/batches.js";
import type { LossInParts } from "../train/trainer.js";
import { fingerprint, type Lesson } from "./training.js";

/** A sentence and its translation as token ids, start and end included. */
export interface TokenPair {
  readonly source: readonly number[];
  readonly target: readonly number[];
}

export interface TranslationData {
  readonly config: Seq2SeqConfig;
  readonly pairs: readonly TokenPair[];
  readonly validation: readonly TokenPair[];
  /** Of the training loss. */
  readonly smoothing: number;
  readonly teacherForcing: number;
}

/** Every target token from those before it; validated in nats a token, without smoothing. */
export function translationLesson(data: TranslationData): Lesson<Seq2Seq, TokenPair> {
  const { config, pairs, validation } = data;
  return {
    about: `${pairs.length} pairs (${fingerprint(pairs.flatMap(({ source, target }) => [source, target]))})`,
    items: pairs,
    validation,
    build: (runtime) => new Seq2Seq(runtime, config),
    // Batches are of like target length, and of like source length among those.
    sortKey: ({ source, target }) => target.length * 4 + source.length,
    loss: (model, rows, training) =>
      lossInParts(model, rows, training ? data : { smoothing: 0, teacherForcing: 1 }),
    weightOf: ({ target }) => target.length - 1,
  };
}

function* lossInParts(
  model: Seq2Seq,
  rows: readonly TokenPair[],
  { smoothing, teacherForcing }: Pick<TranslationData, "smoothing" | "teacherForcing">,
): LossInParts {
  const { source, sourceLengths, target } = asTensors(model.runtime, rows, model.config.padding);
  const { logits } = yield* model.predictInParts(source, sourceLengths, target, { teacherForcing });
  yield;
  return model.loss(logits, target, smoothing);
}

function asTensors(
  runtime: Runtime,
  rows: readonly TokenPair[],
  padding: number,
): { source: Tensor; sourceLengths: Tensor; target: Tensor } {
  const source = padRows(
    rows.map((row) => row.source),
    padding,
  );
  const target = padRows(
    rows.map((row) => row.target),
    padding,
  );
  return {
    source: tensor(runtime, source.values, [rows.length, source.longest]),
    sourceLengths: tensor(runtime, source.lengths),
    target: tensor(runtime, target.values, [rows.length, target.longest]),
  };
}
