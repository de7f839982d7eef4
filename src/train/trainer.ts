import { StateError } from "../errors.js";
import type { Module } from "../nn/module.js";
import { BackwardPass } from "../ops/tape.js";
import { clipGradientNorm } from "../optim/clip.js";
import type { Optimizer } from "../optim/optimizer.js";
import { turn, turnIsDue } from "../runtime/event-loop.js";
import { showShape } from "../tensor/check.js";
import { Tensor } from "../tensor/tensor.js";

/** What the names of weights and of optimiser moments begin with in a state. */
const MODEL = "model.";
const OPTIMIZER = "optimizer.";
const ADVICE = "Train with the options and data of that run, or begin anew in an empty folder";

/** All that a training run is, as plain values: written to disk, read back, it goes on to the same bits. */
export interface TrainingState {
  /** What the run was about: see TrainingOptions. Empty when it was not said. */
  readonly about: string;
  readonly epoch: number;
  /** Batches of this epoch that are done. */
  readonly batch: number;
  readonly step: number;
  /** Steps among them that changed nothing, because their loss or a gradient was not finite. */
  readonly skipped: number;
  readonly seedState: number;
  /** Running mean over recent steps. */
  readonly loss: number | null;
  /** Validation loss of the best weights so far. */
  readonly best: number | null;
  /** Validations since then. */
  readonly stale: number;
  readonly tensors: ReadonlyMap<string, Float32Array>;
}

export interface TrainingEvent {
  readonly kind: "step" | "validated";
  readonly epoch: number;
  readonly batch: number;
  readonly batches: number;
  readonly step: number;
  readonly skipped: number;
  /** Running mean over recent steps; NaN until one had a finite loss. */
  readonly loss: number;
  readonly validation: number | null;
  readonly best: boolean;
}

/** A loss worked out in parts: the event loop may turn wherever it yields. */
export type LossInParts = Generator<undefined, Tensor>;

export interface TrainingOptions<Batch> {
  readonly model: Module;
  readonly optimizer: Optimizer;
  readonly epochs: number;
  /** The batches of an epoch; must depend on the epoch only, so that a resumed run sees the same. */
  batches(epoch: number): readonly Batch[];
  loss(batch: Batch): Tensor | LossInParts;
  /** The rate of a step; constant when absent. */
  rate?(step: number, totalSteps: number): number;
  /** Largest global norm of the gradients; default 1. */
  readonly clip?: number;
  /** A validation loss, called in eval mode after every epoch; lower is better. */
  validate?(signal: AbortSignal | undefined): Promise<number>;
  /** Epochs without a better validation loss before training stops. */
  readonly patience?: number;
  /** What the batches depend on, in words: a resumed run must say the same. */
  readonly about?: string;
  /** Where to go on. */
  readonly resume?: TrainingState | null;
  /** Keeps a state; called after every epoch, when training breaks off, and every `checkpointEvery` ms. */
  checkpoint?(state: TrainingState): Promise<void>;
  /** Milliseconds; default five minutes. */
  readonly checkpointEvery?: number;
  /** Called in eval mode when the weights are the best so far. */
  onBest?(validation: number): Promise<void>;
  onEvent?(event: TrainingEvent): void;
  readonly signal?: AbortSignal;
}

/**
 * Trains until the epochs are done, validation stops improving, or the signal aborts.
 *
 * A checkpoint holds weights, optimiser moments and the place in the run: a resumed run gives the
 * same bits as an unbroken one. A step whose loss or gradient is not finite is left out and counted.
 *
 * @returns the last validation loss, or the running loss without validation
 * @throws {StateError} the state to go on from is of another run
 * @throws the signal's reason, and whatever else broke in, after a checkpoint was kept
 */
export async function train<Batch>(options: TrainingOptions<Batch>): Promise<number> {
  const run = new Run(options);
  const { model, signal } = options;
  model.train();
  try {
    return await run.epochs();
  } catch (error) {
    // Whatever broke in, the whole steps so far are kept.
    await run.checkpoint().catch((second: unknown) => {
      if (signal?.aborted) throw second;
    });
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
  #skipped = 0;
  /** Of the last whole step: one that is broken off has drawn from the sequence already. */
  #seedState: number;
  #best: number | null = null;
  #stale = 0;
  #loss = Number.NaN;
  #kept = performance.now();

  constructor(options: TrainingOptions<Batch>) {
    this.#options = options;
    const { runtime } = options.model;
    if (options.resume) {
      this.#restore(options.resume);
      runtime.seed(options.resume.seedState);
    }
    this.#seedState = runtime.seedState;
  }

  async epochs(): Promise<number> {
    const { epochs, patience = Infinity, validate, model, signal } = this.#options;
    let result = this.#loss;
    while (this.#epoch < epochs && this.#stale < patience) {
      const batches = this.#options.batches(this.#epoch);
      while (this.#batch < batches.length) {
        await this.#train(batches[this.#batch] as Batch, batches.length * epochs);
        this.#report("step", batches.length, null, false);
        if (performance.now() - this.#kept > (this.#options.checkpointEvery ?? 300_000))
          await this.checkpoint();
        await turn(signal);
      }
      result = this.#loss;
      if (validate) {
        model.eval();
        result = await validate(signal);
        await this.#judge(result, batches.length);
        model.train();
      }
      this.#epoch++;
      this.#batch = 0;
      await this.checkpoint();
    }
    return result;
  }

  async checkpoint(): Promise<void> {
    const { model, optimizer, checkpoint, about = "" } = this.#options;
    this.#kept = performance.now();
    if (!checkpoint) return;
    const tensors = new Map<string, Float32Array>();
    for (const [name, weight] of model.stateDict())
      tensors.set(`${MODEL}${name}`, weight.read() as Float32Array);
    for (const [name, values] of optimizer.state()) tensors.set(`${OPTIMIZER}${name}`, values);
    await checkpoint({
      about,
      epoch: this.#epoch,
      batch: this.#batch,
      step: this.#step,
      skipped: this.#skipped,
      seedState: this.#seedState,
      loss: Number.isFinite(this.#loss) ? this.#loss : null,
      best: this.#best,
      stale: this.#stale,
      tensors,
    });
  }

  /** One step: forward, backward and update, with a turn of the event loop wherever it may pause. */
  async #train(batch: Batch, totalSteps: number): Promise<void> {
    const { model, optimizer, rate, clip = 1, signal } = this.#options;
    const { runtime } = model;
    const scope = runtime.openScope();
    try {
      optimizer.zeroGrad();
      const loss = await lossOf(
        () => this.#options.loss(batch),
        (part) => scope.run(part),
        signal,
      );
      const value = loss.item();
      if (Number.isFinite(value)) {
        const pass = scope.run(() => new BackwardPass(loss));
        while (!scope.run(() => pass.run(() => !turnIsDue()))) await turn(signal);
        clipGradientNorm(model.parameters().values(), clip);
      }
      // From here to the end nothing may break in: the step counts wholly or not at all.
      if (rate) optimizer.rate = rate(this.#step, totalSteps);
      if (Number.isFinite(value) && optimizer.step())
        this.#loss = Number.isNaN(this.#loss) ? value : this.#loss * 0.98 + value * 0.02;
      else this.#skipped++;
      this.#step++;
      this.#batch++;
      this.#seedState = runtime.seedState;
    } finally {
      scope.close();
    }
  }

  async #judge(validation: number, batches: number): Promise<void> {
    const better = validation < (this.#best ?? Infinity);
    if (better) await this.#options.onBest?.(validation);
    if (better) this.#best = validation;
    this.#stale = better ? 0 : this.#stale + 1;
    this.#report("validated", batches, validation, better);
  }

  /** Takes over another run's state; nothing is changed when it does not fit. */
  #restore(state: TrainingState): void {
    const { model, optimizer, about = "", epochs, batches } = this.#options;
    if (state.about !== "" && about !== "" && state.about !== about)
      throw new StateError(
        `train: a checkpoint must be of the same run, got one of ${state.about} for ${about}. ${ADVICE}`,
      );
    const most = state.epoch < epochs ? batches(state.epoch).length : 0;
    if (state.batch > most)
      throw new StateError(
        `train: a checkpoint must be of an epoch of ${most} batches, got ${state.batch} of them done. ${ADVICE}`,
      );
    const weights = [...model.stateDict()];
    const faults = weights.filter(
      ([name, { size }]) => state.tensors.get(`${MODEL}${name}`)?.length !== size,
    );
    const [fault, ...more] = faults;
    if (fault) {
      const [name, weight] = fault;
      throw new StateError(
        `train: a checkpoint must be of the same model, got ${state.tensors.get(`${MODEL}${name}`)?.length ?? "no"} values for "${name}" ${showShape(weight.shape)}${
          more.length ? ` and ${more.length} more that do not fit` : ""
        }. ${ADVICE}`,
      );
    }
    optimizer.loadState(
      new Map(
        [...state.tensors]
          .filter(([name]) => name.startsWith(OPTIMIZER))
          .map(([name, values]) => [name.slice(OPTIMIZER.length), values]),
      ),
    );
    for (const [name, weight] of weights)
      weight.write(state.tensors.get(`${MODEL}${name}`) as Float32Array);
    this.#epoch = state.epoch;
    this.#batch = state.batch;
    this.#step = state.step;
    this.#skipped = state.skipped;
    this.#loss = state.loss ?? Number.NaN;
    this.#best = state.best;
    this.#stale = state.stale;
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
      skipped: this.#skipped,
      loss: this.#loss,
      validation,
      best,
    });
  }
}

/**
 * The loss that `compute` gives, at once or in parts with turns of the event loop between them.
 *
 * @param run  runs each part, inside of a scope for example
 * @throws the signal's reason
 */
export async function lossOf(
  compute: () => Tensor | LossInParts,
  run: <T>(part: () => T) => T,
  signal?: AbortSignal,
): Promise<Tensor> {
  const found = run(compute);
  if (found instanceof Tensor) return found;
  for (;;) {
    const part = run(() => found.next());
    if (part.done) return part.value;
    await turn(signal);
  }
}
