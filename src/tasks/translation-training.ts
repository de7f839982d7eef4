import { Seq2Seq, type Seq2SeqConfig } from "../models/seq2seq.js";
import type { Module } from "../nn/module.js";
import { noGrad } from "../ops/tape.js";
import { AdamW } from "../optim/adam-w.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { batchesByLength, padRows } from "../train/batches.js";
import { type TrainingEvent, type TrainingState, train } from "../train/trainer.js";

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
 * @returns the best validation loss, nats a token, is told through onBest; the model is disposed
 */
export async function trainTranslation(training: TranslationTraining): Promise<void> {
  const { runtime, config, pairs, seed } = training;
  runtime.seed(seed);
  const model = new Seq2Seq(runtime, config);
  const optimizer = new AdamW(model.parameters().values(), {
    rate: training.rate,
    weightDecay: training.weightDecay,
  });
  const lengths = pairs.map(({ source, target }) => target.length * 4 + source.length);
  try {
    await train<number[]>({
      model,
      optimizer,
      epochs: training.epochs,
      batches: (epoch) => batchesByLength(lengths, training.batch, seed + epoch, 4),
      loss: (batch) => {
        const rows = batch.map((index) => pairs[index] as TokenPair);
        const { source, sourceLengths, target } = asTensors(runtime, rows, config.padding);
        const { logits } = model.predict(source, sourceLengths, target, {
          teacherForcing: training.teacherForcing,
        });
        return model.loss(logits, target, training.smoothing);
      },
      rate: (step, total) => warmedLine(step, total, training.warmup) * training.rate,
      validate: (signal) => validationLoss(model, training.validation, signal),
      patience: training.patience,
      resume: training.resume,
      checkpoint: training.checkpoint,
      checkpointEvery: training.checkpointEvery,
      onBest: (validation) => training.onBest(model, validation),
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
  const { runtime, config } = model;
  const lengths = pairs.map(({ source, target }) => target.length * 4 + source.length);
  let total = 0;
  let tokens = 0;
  for (const batch of batchesByLength(lengths, 64, 0)) {
    const rows = batch.map((index) => pairs[index] as TokenPair);
    const count = rows.reduce((sum, { target }) => sum + target.length - 1, 0);
    total +=
      count *
      runtime.scope(() =>
        noGrad(runtime, () => {
          const { source, sourceLengths, target } = asTensors(runtime, rows, config.padding);
          return model.loss(model.predict(source, sourceLengths, target).logits, target).item();
        }),
      );
    tokens += count;
    await new Promise<void>((resolve) => setTimeout(resolve));
    signal?.throwIfAborted();
  }
  return total / tokens;
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
