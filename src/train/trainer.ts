import { HeedError } from "../errors.js";
import type { Module } from "../nn/module.js";
import { BackwardPass } from "../ops/tape.js";
import type { AdamW } from "../optim/adam-w.js";
import { clipGradientNorm } from "../optim/clip.js";
import type { Tensor } from "../tensor/tensor.js";

/** Milliseconds of work between two turns of the event loop, so that aborts and workers are heard. */
const SLICE = 40;

/** All that a training run is, as plain values: written to disk, read back, it goes on to the same bits. */
export interface TrainingState {
  readonly epoch: number;
  /** Batches of this epoch that are done. */
  readonly batch: number;
  readonly step: number;
  readonly seedState: number;
  /** Validation loss of the best weights so far. */
  readonly best: number | null;
  /** Validations since then. */
  readonly stale: number;
  readonly tensors: ReadonlyMap<string, Float32Array>;
}

export interface TrainingEvent {
  readonly kind: "step" | "validated" | "checkpoint";
  readonly epoch: number;
  readonly batch: number;
  readonly batches: number;
  readonly step: number;
  /** Running mean over recent steps. */
  readonly loss: number;
  readonly validation: number | null;
  readonly best: boolean;
}

export interface TrainingOptions<Batch> {
  readonly model: Module;
  readonly optimizer: AdamW;
  readonly epochs: number;
  /** The batches of an epoch; must depend on the epoch only, so that a resumed run sees the same. */
  batches(epoch: number): readonly Batch[];
  loss(batch: Batch): Tensor;
  /** The rate of a step; constant when absent. */
  rate?(step: number, totalSteps: number): number;
  /** Largest global norm of the gradients; default 1. */
  readonly clip?: number;
  /** A validation loss, called in eval mode after every epoch; lower is better. */
  validate?(signal: AbortSignal | undefined): Promise<number>;
  /** Epochs without a better validation loss before training stops. */
  readonly patience?: number;
  /** Where to go on. */
  readonly resume?: TrainingState | null;
  /** Keeps a state; called after every epoch, on abort, and every `checkpointEvery` ms. */
  checkpoint?(state: TrainingState): Promise<void>;
  /** Milliseconds; default five minutes. */
  readonly checkpointEvery?: number;
  /** Called when the weights are the best so far. */
  onBest?(validation: number): Promise<void>;
  onEvent?(event: TrainingEvent): void;
  readonly signal?: AbortSignal;
}

/**
 * Trains until the epochs are done, validation stops improving, or the signal aborts.
 *
 * A checkpoint holds weights, optimiser moments and the place in the run: a resumed run gives the
 * same bits as an unbroken one.
 *
 * @returns the last validation loss, or the running loss without validation
 * @throws the signal's reason, after a checkpoint was kept
 */
export async function train<Batch>(options: TrainingOptions<Batch>): Promise<number> {
  const run = new Run(options);
  const { model, signal } = options;
  model.train();
  try {
    return await run.epochs();
  } catch (error) {
    if (signal?.aborted) await run.checkpoint();
    throw error;
  } finally {
    model.eval();
  }
}

class Run<Batch> {
  readonly #options: TrainingOptions<Batch>;
  #epoch = 0;
  #batch = 0;
  #step = 0;
  #best: number | null = null;
  #stale = 0;
  #loss = Number.NaN;
  #kept = performance.now();
  #turn = performance.now();

  constructor(options: TrainingOptions<Batch>) {
    this.#options = options;
    const { resume, model, optimizer } = options;
    if (!resume) return;
    this.#epoch = resume.epoch;
    this.#batch = resume.batch;
    this.#step = resume.step;
    this.#best = resume.best;
    this.#stale = resume.stale;
    model.runtime.seed(resume.seedState);
    for (const [name, weight] of model.stateDict()) {
      const values = resume.tensors.get(`model.${name}`);
      if (!values)
        throw new HeedError(
          `train: the checkpoint must hold "model.${name}", got none. Start anew`,
        );
      weight.write(values);
    }
    optimizer.loadState(under("optimizer.", resume.tensors));
  }

  async epochs(): Promise<number> {
    const { epochs, patience = Infinity, validate, model, signal } = this.#options;
    let result = this.#loss;
    while (this.#epoch < epochs && this.#stale < patience) {
      const batches = this.#options.batches(this.#epoch);
      const total = batches.length * epochs;
      while (this.#batch < batches.length) {
        await this.#train(batches[this.#batch] as Batch, total);
        this.#batch++;
        this.#report("step", batches.length, null, false);
        if (performance.now() - this.#kept > (this.#options.checkpointEvery ?? 300_000))
          await this.checkpoint();
      }
      result = this.#loss;
      if (validate) {
        model.eval();
        result = await validate(signal);
        model.train();
        await this.#judge(result, batches.length);
      }
      this.#epoch++;
      this.#batch = 0;
      await this.checkpoint();
    }
    return result;
  }

  async checkpoint(): Promise<void> {
    const { model, optimizer, checkpoint } = this.#options;
    this.#kept = performance.now();
    if (!checkpoint) return;
    const tensors = new Map<string, Float32Array>();
    for (const [name, weight] of model.stateDict())
      tensors.set(`model.${name}`, weight.read() as Float32Array);
    for (const [name, values] of optimizer.state()) tensors.set(`optimizer.${name}`, values);
    await checkpoint({
      epoch: this.#epoch,
      batch: this.#batch,
      step: this.#step,
      seedState: model.runtime.seedState,
      best: this.#best,
      stale: this.#stale,
      tensors,
    });
  }

  /** One step: forward, backward and update, with a turn of the event loop wherever it may pause. */
  async #train(batch: Batch, totalSteps: number): Promise<void> {
    const { model, optimizer, rate, clip = 1 } = this.#options;
    const { runtime } = model;
    const scope = runtime.openScope();
    try {
      optimizer.zeroGrad();
      const loss = scope.run(() => this.#options.loss(batch));
      const value = scope.run(() => loss.item());
      const pass = scope.run(() => new BackwardPass(loss));
      await this.#yield();
      while (!scope.run(() => pass.run(() => performance.now() - this.#turn < SLICE)))
        await this.#yield();
      clipGradientNorm(model.parameters().values(), clip);
      if (rate) optimizer.rate = rate(this.#step, totalSteps);
      optimizer.step();
      this.#step++;
      this.#loss = Number.isNaN(this.#loss) ? value : this.#loss * 0.98 + value * 0.02;
    } finally {
      scope.close();
    }
    await this.#yield();
  }

  async #judge(validation: number, batches: number): Promise<void> {
    const better = this.#best === null || validation < this.#best;
    this.#stale = better ? 0 : this.#stale + 1;
    if (better) {
      this.#best = validation;
      await this.#options.onBest?.(validation);
    }
    this.#report("validated", batches, validation, better);
  }

  /** Lets the event loop turn once this slice is used up; aborts are heard here. */
  async #yield(): Promise<void> {
    if (performance.now() - this.#turn >= SLICE / 2) {
      await new Promise<void>((resolve) => setTimeout(resolve));
      this.#turn = performance.now();
    }
    this.#options.signal?.throwIfAborted();
  }

  #report(
    kind: TrainingEvent["kind"],
    batches: number,
    validation: number | null,
    best: boolean,
  ): void {
    this.#options.onEvent?.({
      kind,
      epoch: this.#epoch,
      batch: this.#batch,
      batches,
      step: this.#step,
      loss: this.#loss,
      validation,
      best,
    });
  }
}

function under(
  prefix: string,
  tensors: ReadonlyMap<string, Float32Array>,
): Map<string, Float32Array> {
  return new Map(
    [...tensors]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, values]) => [name.slice(prefix.length), values]),
  );
}
