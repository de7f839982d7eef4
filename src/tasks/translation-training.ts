import { HeedError } from "../errors.js";
import { Seq2Seq, type Seq2SeqConfig } from "../models/seq2seq.js";
import type { Module } from "../nn/module.js";
import { noGrad } from "../ops/tape.js";
import { AdamW } from "../optim/adam-w.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { batchesByLength, padRows } from "../train/batches.js";
import {
  type LossInParts,
  lossOf,
  type TrainingEvent,
  type TrainingState,
  train,
} from "../train/trainer.js";

/** A sentence and its translation as token ids, start and end included. */
export interface TokenPair {
  readonly source: readonly number[];
  readonly target: readonly number[];
}

export interface TranslationTraining {
  readonly runtime: Runtime;
  readonly config: Seq2SeqConfig;
  readonly pairs: readonly TokenPair[];
  readonly validation: readonly TokenPair[];
  readonly epochs: number;
  /** Pairs a batch. */
  readonly batch: number;
  /** The highest learning rate; it rises over `warmup` steps and falls to nought in a line. */
  readonly rate: number;
  readonly warmup: number;
  readonly weightDecay: number;
  readonly smoothing: number;
  readonly teacherForcing: number;
  readonly seed: number;
  readonly patience: number;
  readonly resume: TrainingState | null;
  readonly checkpointEvery: number;
  checkpoint(state: TrainingState): Promise<void>;
  onBest(model: Module, validation: number): Promise<void>;
  onEvent(event: TrainingEvent): void;
  readonly signal?: AbortSignal;
}

/**
 * Trains the translator: AdamW, batches by length, teacher forcing, early stopping.
 *
 * The best weights so far are told through onBest; the model is disposed at the end.
 *
 * @throws {HeedError} there is nothing to train or to validate on
 * @throws {StateError} the state to go on from is of another run
 * @throws the signal's reason, after a checkpoint was kept
 */
export async function trainTranslation(training: TranslationTraining): Promise<void> {
  const { runtime, config, pairs, validation, batch, seed } = training;
  for (const [name, { length }] of Object.entries({ pairs, validation }))
    if (length === 0)
      throw new HeedError(`train: there must be ${name} to learn from and to choose by, got none`);
  runtime.seed(seed);
  const model = new Seq2Seq(runtime, config);
  const optimizer = new AdamW(model.parameters().values(), {
    rate: training.rate,
    weightDecay: training.weightDecay,
  });
  const lengths = pairs.map(sortKey);
  try {
    await train<number[]>({
      model,
      optimizer,
      epochs: training.epochs,
      batches: (epoch) => batchesByLength(lengths, batch, seed + epoch, 4),
      loss: (indices) =>
        lossInParts(
          model,
          indices.map((index) => pairs[index] as TokenPair),
          training,
        ),
      rate: (step, total) => warmedLine(step, total, training.warmup) * training.rate,
      validate: (signal) => validationLoss(model, validation, signal),
      patience: training.patience,
      about: `${pairs.length} pairs (${fingerprint(pairs)}) in batches of ${batch} by seed ${seed}`,
      resume: training.resume,
      checkpoint: training.checkpoint,
      checkpointEvery: training.checkpointEvery,
      onBest: (loss) => training.onBest(model, loss),
      onEvent: training.onEvent,
      ...(training.signal && { signal: training.signal }),
    });
  } finally {
    optimizer.dispose();
    model.dispose();
  }
}

/** Cross-entropy in nats a target token, every token weighing the same. */
async function validationLoss(
  model: Seq2Seq,
  pairs: readonly TokenPair[],
  signal: AbortSignal | undefined,
): Promise<number> {
  const { runtime } = model;
  let total = 0;
  let tokens = 0;
  for (const batch of batchesByLength(pairs.map(sortKey), 64, 0)) {
    const rows = batch.map((index) => pairs[index] as TokenPair);
    const count = rows.reduce((sum, { target }) => sum + target.length - 1, 0);
    const scope = runtime.openScope();
    try {
      const loss = await lossOf(
        () => lossInParts(model, rows, { smoothing: 0, teacherForcing: 1 }),
        (part) => scope.run(() => noGrad(runtime, part)),
        signal,
      );
      total += count * loss.item();
    } finally {
      scope.close();
    }
    tokens += count;
  }
  return total / tokens;
}

function* lossInParts(
  model: Seq2Seq,
  rows: readonly TokenPair[],
  { smoothing, teacherForcing }: Pick<TranslationTraining, "smoothing" | "teacherForcing">,
): LossInParts {
  const { source, sourceLengths, target } = asTensors(model.runtime, rows, model.config.padding);
  const { logits } = yield* model.predictInParts(source, sourceLengths, target, { teacherForcing });
  yield;
  return model.loss(logits, target, smoothing);
}

/** Batches are of like target length, and of like source length among those. */
function sortKey({ source, target }: TokenPair): number {
  return target.length * 4 + source.length;
}

/** Eight digits that differ for other sentences and for another tokenizer. */
function fingerprint(pairs: readonly TokenPair[]): string {
  let hash = 0;
  for (const { source, target } of pairs)
    for (const ids of [source, target]) {
      hash = mix32(hash ^ ids.length);
      for (const id of ids) hash = mix32(hash ^ id);
    }
  return hash.toString(16).padStart(8, "0");
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

/** Rises from 0 to 1 over `warmup` steps, then falls to 0 at `total`. */
function warmedLine(step: number, total: number, warmup: number): number {
  if (step < warmup) return (step + 1) / warmup;
  return Math.max(0, (total - step) / Math.max(1, total - warmup));
}
