import { HeedError } from "../errors.js";
import type { Module } from "../nn/module.js";
import { noGrad } from "../ops/tape.js";
import { AdamW } from "../optim/adam-w.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { batchesByLength } from "../train/batches.js";
import {
  type LossInParts,
  lossOf,
  type TrainingEvent,
  type TrainingState,
  train,
} from "../train/trainer.js";

/** Items whose losses are validated side by side, unless fewer are trained so. */
const VALIDATION_BATCH = 64;

/** What a model learns, and from what. */
export interface Lesson<M extends Module, Item> {
  /** What the items are in words, with a fingerprint: a resumed run must say the same. */
  readonly about: string;
  readonly items: readonly Item[];
  readonly validation: readonly Item[];
  /** The items of an epoch by their indices; all of them when absent. */
  itemsOf?(epoch: number): readonly number[];
  /** The model to begin with; the runtime has been seeded. */
  build(runtime: Runtime): M;
  /** Items of like keys share a batch; one apart is near enough. */
  sortKey(item: Item): number;
  /** The mean loss of a batch. */
  loss(model: M, items: readonly Item[], training: boolean): Tensor | LossInParts;
  /** An item's share in the mean validation loss: its target tokens, for example. */
  weightOf(item: Item): number;
}

/** How a model learns: the same for every lesson. */
export interface TrainingPlan {
  readonly runtime: Runtime;
  readonly epochs: number;
  /** Items a batch. */
  readonly batch: number;
  /** The highest learning rate; it rises over `warmup` steps and falls to nought in a line. */
  readonly rate: number;
  readonly warmup: number;
  readonly weightDecay: number;
  readonly seed: number;
  readonly patience: number;
  readonly resume: TrainingState | null;
  /** Milliseconds. */
  readonly checkpointEvery: number;
  checkpoint(state: TrainingState): Promise<void>;
  onBest(model: Module, validation: number): Promise<void>;
  onEvent(event: TrainingEvent): void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Trains a model: AdamW, batches by length, early stopping by the validation loss.
 *
 * The best weights so far are told through onBest; the model is disposed at the end.
 *
 * @throws {HeedError} there is nothing to train or to validate on
 * @throws {StateError} the state to go on from is of another run
 * @throws the signal's reason, after a checkpoint was kept
 */
export async function trainLesson<M extends Module, Item>(
  lesson: Lesson<M, Item>,
  plan: TrainingPlan,
): Promise<void> {
  const { items, validation } = lesson;
  const { runtime, batch, seed, signal } = plan;
  for (const [name, { length }] of Object.entries({ items, validation }))
    if (length === 0)
      throw new HeedError(
        `train: there must be data to learn from and to choose by, got no ${name}`,
      );
  runtime.seed(seed);
  const model = lesson.build(runtime);
  const optimizer = new AdamW(model.parameters().values(), {
    rate: plan.rate,
    weightDecay: plan.weightDecay,
  });
  const keys = items.map((item) => lesson.sortKey(item));
  const pick = (indices: readonly number[]): Item[] => indices.map((index) => items[index] as Item);
  try {
    await train<number[]>({
      model,
      optimizer,
      epochs: plan.epochs,
      batches: (epoch) => {
        const own = lesson.itemsOf?.(epoch) ?? [...keys.keys()];
        const lengths = own.map((index) => keys[index] as number);
        return batchesByLength(lengths, batch, seed + epoch, 4).map((rows) =>
          rows.map((row) => own[row] as number),
        );
      },
      loss: (indices) => lesson.loss(model, pick(indices), true),
      rate: (step, total) => warmedLine(step, total, plan.warmup) * plan.rate,
      validate: (signal) =>
        validationLoss(lesson, model, Math.min(batch, VALIDATION_BATCH), signal),
      patience: plan.patience,
      about: `${lesson.about} in batches of ${batch} by seed ${seed}`,
      resume: plan.resume,
      checkpoint: plan.checkpoint,
      checkpointEvery: plan.checkpointEvery,
      onBest: (loss) => plan.onBest(model, loss),
      onEvent: plan.onEvent,
      ...(signal && { signal }),
    });
  } finally {
    optimizer.dispose();
    model.dispose();
  }
}

/** The mean loss over all validation items, by their weights. */
async function validationLoss<M extends Module, Item>(
  lesson: Lesson<M, Item>,
  model: M,
  size: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { runtime } = model;
  const keys = lesson.validation.map((item) => lesson.sortKey(item));
  let total = 0;
  let weights = 0;
  for (const batch of batchesByLength(keys, size, 0)) {
    const items = batch.map((index) => lesson.validation[index] as Item);
    const weight = items.reduce((sum, item) => sum + lesson.weightOf(item), 0);
    const scope = runtime.openScope();
    try {
      const loss = await lossOf(
        () => lesson.loss(model, items, false),
        (part) => scope.run(() => noGrad(runtime, part)),
        signal,
      );
      total += weight * loss.item();
    } finally {
      scope.close();
    }
    weights += weight;
  }
  return total / weights;
}

/** Eight digits that differ for other rows of ids. */
export function fingerprint(rows: Iterable<ArrayLike<number>>): string {
  let hash = 0;
  for (const row of rows) {
    hash = mix32(hash ^ row.length);
    for (let i = 0; i < row.length; i++) hash = mix32(hash ^ (row[i] as number));
  }
  return hash.toString(16).padStart(8, "0");
}

/** Rises from 0 to 1 over `warmup` steps, then falls to 0 at `total`. */
function warmedLine(step: number, total: number, warmup: number): number {
  if (step < warmup) return (step + 1) / warmup;
  return Math.max(0, (total - step) / Math.max(1, total - warmup));
}
