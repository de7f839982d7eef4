/**
 * Threads: one kernel over a range, cut into chunks that the caller and its workers claim.
 *
 * The protocol. All of it is in one block of shared memory (control.ts draws it). The caller is the
 * only one that publishes; to help is optional, so a worker may sleep through any job.
 *
 *   caller                                        worker
 *   1. writes the job, NEXT = 1                   a. looks at EPOCH until it changes: for a while
 *   2. GATE = open, nobody inside                    spinning, then asleep in slices of a second
 *   3. EPOCH + 1; wakes sleepers, if SLEEP > 0    b. enters: GATE + 1, only while the gate is open
 *   4. runs chunk 0, then claims by NEXT + 1      c. reads the job, claims by NEXT + 1, runs
 *   5. closes the gate                            d. leaves: GATE − 1; the last one through a
 *   6. waits until nobody is inside                  closed gate wakes the caller
 *
 * Why a stale claim cannot happen: the job and NEXT change only in step 1, when the gate is closed and
 * nobody is inside; a worker reads them only inside. Entering is a compare-and-swap of GATE that fails
 * on a closed gate. If it succeeds on another job than the one that woke the worker, that is the job
 * it then reads. No word is compared across jobs but EPOCH, and a worker that is misled there (a wrap
 * after 2³² jobs) only sleeps through one job. No lost wake-up: the worker adds itself to SLEEP before its
 * wait compares EPOCH, the caller changes EPOCH before it reads SLEEP.
 * What one thread wrote before it left, or before it opened the gate, is seen by all who come through
 * the gate later: every access to GATE is atomic and sequentially consistent.
 *
 * A kernel that throws is caught where it runs; its text goes into the block (the first one wins), no
 * further chunk is claimed, everybody leaves as always, and the caller throws it. The pool lives on.
 *
 * A worker that dies outside of a job does no harm to that job; its exit event poisons the pool for
 * later ones. One that dies inside never leaves: then step 6 finds that its thread has ended (where
 * the platform can tell), or that no worker changed its PLACE for the length of the patience. Patience is counted
 * in slices of waiting, so that a stopped process or a closed laptop is not taken for a death. A poisoned
 * pool throws at once and for ever: half a job may be written, and the memory cannot be trusted.
 */
import { StateError } from "../errors.js";
import type { Platform, PoolWorker } from "../platform/platform.js";
import {
  CHUNK,
  CHUNKS,
  CONTROL_BYTES,
  COUNT,
  type Control,
  EPOCH,
  FAILED,
  FAULT,
  FAULT_BEGIN,
  FAULT_END,
  FAULT_LENGTH,
  FIRST_CHUNK,
  GATE,
  KERNEL,
  LEFT,
  MAX_ARGUMENTS,
  MAX_THREADS,
  NEXT,
  OPEN,
  OUTSIDE,
  PLACE,
  RANGE,
  READY,
  SHUTDOWN,
  SLEEP,
  STATE,
  viewControl,
  workerLine,
} from "./control.js";

export { CONTROL_BYTES };

/**
 * Milliseconds to spin before sleeping. A thread woken from sleep costs 15 µs, or 100 µs when its core had
 * halted; one that spins answers in under 1 µs (bench/dispatch.bench.ts). Between two ops of a model lie
 * a few µs to 50 µs of host work.
 */
const SPIN = 0.1;
/** The same where threads outnumber cores: there the spinning thread keeps the working one waiting. */
const CROWDED_SPIN = 0.005;
/** Looks at a word between two looks at the clock: about 0.3 µs. */
const LOOKS = 300;
/** Milliseconds of one bounded wait for workers to leave. */
const SLICE = 20;
/** Milliseconds without any progress after which a worker is given up, and that many chunks' time. */
const PATIENCE = 10_000;
const PATIENCE_CHUNKS = 20;
/** Milliseconds that all workers together may take to start; 16 at once take under 2 s on two cores. */
const START_TIMEOUT = 30_000;

type Kernel = (...numbers: number[]) => unknown;

export interface PoolOptions {
  readonly platform: Platform;
  readonly module: WebAssembly.Module;
  /** Shared when there is more than one thread. */
  readonly memory: WebAssembly.Memory;
  /** Address of CONTROL_BYTES bytes in memory, zeroed; they belong to the pool until it is disposed. */
  readonly control: number;
  /** Export names; jobs carry the index into this list. */
  readonly kernelNames: readonly string[];
  /** Exports of the caller's own instance. */
  readonly kernels: Readonly<Record<string, unknown>>;
  /** The caller included, 1 … 16. */
  readonly threads: number;
  /** Milliseconds; see PATIENCE and START_TIMEOUT. */
  readonly patience?: number;
  readonly startTimeout?: number;
}

/** The caller's thread and its workers over one shared memory. */
export class Pool {
  readonly threads: number;
  readonly #names: readonly string[];
  readonly #kernels: readonly Kernel[];
  readonly #control: Control;
  readonly #workers: PoolWorker[] = [];
  readonly #mayWait: boolean;
  readonly #spin: number;
  readonly #patience: number;
  #lost: string | null = null;
  #disposed = false;

  private constructor(options: PoolOptions) {
    const { platform, threads, kernelNames, kernels } = options;
    this.threads = threads;
    this.#names = kernelNames;
    this.#kernels = kernelNames.map((name) => kernels[name] as Kernel);
    this.#control = viewControl(options.memory, options.control);
    this.#mayWait = platform.mayWait;
    this.#spin = threads > platform.cores ? CROWDED_SPIN : SPIN;
    this.#patience = options.patience ?? PATIENCE;
  }

  /**
   * Starts threads − 1 workers.
   *
   * @returns once every worker is ready
   * @throws {StateError} a worker ended or did not get ready in time, named by its URL
   */
  static async start(options: PoolOptions): Promise<Pool> {
    const { threads } = options;
    if (!Number.isInteger(threads) || threads < 1 || threads > MAX_THREADS)
      throw new RangeError(
        `pool: threads must be an integer from 1 to ${MAX_THREADS}, got ${threads}`,
      );
    const pool = new Pool(options);
    try {
      await pool.#ready(options);
    } catch (error) {
      pool.dispose();
      throw error;
    }
    return pool;
  }

  /** null while all is well, else how a worker was lost. */
  get lost(): string | null {
    return this.#lost;
  }

  /**
   * Runs a kernel over [0, range), cut into chunks, and returns when all of it is done.
   *
   * @param kernel  index into the pool's kernel names
   * @param args    the kernel's parameters before begin and end, at most 24
   * @param chunk   units a chunk; the cut does not show in the result
   * @throws Error a kernel threw: names it, and carries the kernel's own error as its cause
   * @throws {StateError} a worker was lost, now or earlier, or the pool is disposed
   */
  run(kernel: number, args: readonly number[], range: number, chunk: number): void {
    if (this.#lost !== null) throw lostError(this.#lost);
    if (this.#disposed) throw new StateError("pool: must not be disposed when it runs a kernel");
    const call = this.#kernels[kernel];
    if (!call || args.length > MAX_ARGUMENTS)
      throw new TypeError(
        `pool: a job must be a known kernel with at most ${MAX_ARGUMENTS} arguments, got kernel ${kernel} with ${args.length}`,
      );

    const numbers = [...args, 0, range];
    const chunks = Math.ceil(range / chunk);
    if (chunks <= 1 || this.#workers.length === 0) {
      try {
        call(...numbers);
      } catch (error) {
        throw kernelError(this.#names[kernel], error);
      }
      return;
    }

    const started = performance.now();
    const { words } = this.#control;
    this.#publish(kernel, args, range, chunk, chunks);

    // 4. the caller's share
    let failure: Error | null = null;
    let own = 0;
    try {
      for (let index = 0; index < chunks; index = Atomics.add(words, NEXT, 1)) {
        const begin = index * chunk;
        numbers[args.length] = begin;
        numbers[args.length + 1] = Math.min(begin + chunk, range);
        call(...numbers);
        own++;
      }
    } catch (error) {
      failure = kernelError(this.#names[kernel], error);
      Atomics.store(words, NEXT, chunks);
    }

    // 5. and 6.
    Atomics.and(words, GATE, ~OPEN);
    if (Atomics.load(words, GATE) !== 0) this.#join(started, Math.max(own, 1));
    if (failure) throw failure;
    if (words[FAULT] !== 0) throw this.#fault();
  }

  /** Ends the workers. May be called twice. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#end();
  }

  #publish(
    kernel: number,
    args: readonly number[],
    range: number,
    chunk: number,
    chunks: number,
  ): void {
    const { words, arguments: slots } = this.#control;
    words[KERNEL] = kernel;
    words[COUNT] = args.length;
    words[RANGE] = range;
    words[CHUNK] = chunk;
    words[CHUNKS] = chunks;
    words[FAULT] = 0;
    words[NEXT] = 1;
    for (let i = 0; i < args.length; i++) slots[i] = args[i] as number;
    Atomics.store(words, GATE, OPEN);
    Atomics.add(words, EPOCH, 1);
    if (Atomics.load(words, SLEEP) > 0) Atomics.notify(words, EPOCH, chunks - 1);
  }

  /** Waits until nobody is inside: spins, then watches for progress in slices. */
  #join(started: number, own: number): void {
    const { words } = this.#control;
    if (spinUntilLeft(words, this.#spin)) return;

    let last = performance.now();
    const patience = this.#patience + (PATIENCE_CHUNKS * (last - started)) / own;
    let places = this.#places();
    let still = 0;
    for (;;) {
      if (this.#mayWait) {
        const inside = Atomics.load(words, GATE);
        if (inside === 0) return;
        Atomics.wait(words, GATE, inside, SLICE);
      }
      if (spinUntilLeft(words, this.#mayWait ? 0 : SLICE)) return;

      const ended = this.#workers.findIndex((worker) => worker.ended());
      if (ended >= 0) throw this.#lose(ended, "its thread has ended");
      const now = performance.now();
      const moved = this.#places();
      if (moved.every((place, index) => place === places[index]))
        still += Math.min(now - last, 2 * SLICE);
      else still = 0;
      places = moved;
      last = now;
      if (still > patience) {
        const index = Math.max(
          moved.findIndex((place) => place !== OUTSIDE),
          0,
        );
        throw this.#lose(index, `${this.#describe(moved[index])} for ${Math.round(still)} ms`);
      }
    }
  }

  /** Where each worker is: what a living one changes with every chunk. */
  #places(): number[] {
    const { words } = this.#control;
    return this.#workers.map((_, index) => Atomics.load(words, workerLine(index) + PLACE));
  }

  #describe(place = OUTSIDE): string {
    const { words } = this.#control;
    const name = this.#names[words[KERNEL] ?? -1];
    if (place < FIRST_CHUNK) return `it has stood beside ${name}`;
    const begin = (place - FIRST_CHUNK) * (words[CHUNK] ?? 0);
    return `it has stood in ${name} at ${begin}`;
  }

  #lose(index: number, reason: string): StateError {
    this.#lost ??= `worker ${index + 1} of ${this.#workers.length} was lost: ${reason}`;
    this.#end();
    return lostError(this.#lost);
  }

  #end(): void {
    const { words } = this.#control;
    Atomics.store(words, SHUTDOWN, 1);
    Atomics.add(words, EPOCH, 1);
    Atomics.notify(words, EPOCH);
    for (const worker of this.#workers) worker.terminate();
  }

  #fault(): Error {
    const { words, text } = this.#control;
    // A copy: TextDecoder refuses shared memory.
    const message = new TextDecoder().decode(text.slice(0, words[FAULT_LENGTH]));
    const name = this.#names[words[KERNEL] ?? -1];
    const where = `in worker ${words[FAULT]}, from ${words[FAULT_BEGIN]} to ${words[FAULT_END]}`;
    const [line = "", ...stack] = message.split("\n");
    const cause = new Error(line);
    cause.stack = [line, ...stack].join("\n");
    return kernelError(name, cause, where);
  }

  async #ready(options: PoolOptions): Promise<void> {
    const { words, text } = this.#control;
    const { platform, module, memory, control, kernelNames } = options;
    const ended = new Map<PoolWorker, string>();
    for (let index = 0; index < this.threads - 1; index++) {
      const worker = platform.spawn();
      this.#workers.push(worker);
      worker.onExit((reason) => {
        ended.set(worker, reason);
        if (!this.#disposed) this.#lose(index, reason);
      });
      worker.post({ module, memory, control, index, kernelNames, spin: this.#spin });
    }

    // Readiness is polled: a timer is what every platform has, and a worker that is in its loop sends no messages.
    const until = performance.now() + (options.startTimeout ?? START_TIMEOUT);
    for (const [index, worker] of this.#workers.entries()) {
      const who = `worker ${index + 1} of ${this.#workers.length} (${worker.url})`;
      for (;;) {
        const state = Atomics.load(words, workerLine(index) + STATE);
        if (state === READY && !worker.ended()) break;
        if (state === FAILED) {
          const message = new TextDecoder().decode(text.slice(0, words[FAULT_LENGTH]));
          throw new StateError(`pool: ${who} must start, but got ${message.split("\n")[0]}`);
        }
        if (ended.has(worker) || state === LEFT)
          throw new StateError(
            `pool: ${who} must start, but ${ended.get(worker) ?? "it has left"}`,
          );
        if (performance.now() > until)
          throw new StateError(
            `pool: ${who} must be ready in time, got no sign of it. Check that the file can be loaded, or pass { threads: 1 }`,
          );
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    if (this.#lost !== null) throw lostError(this.#lost);
  }
}

/** Looks until the gate is closed with nobody inside, for so many milliseconds. */
function spinUntilLeft(words: Int32Array, milliseconds: number): boolean {
  let until = 0;
  for (;;) {
    for (let i = 0; i < LOOKS; i++) if (Atomics.load(words, GATE) === 0) return true;
    const now = performance.now();
    if (until === 0) until = now + milliseconds;
    if (now >= until) return false;
  }
}

function lostError(lost: string): StateError {
  return new StateError(
    `pool: every worker must live as long as the runtime, but ${lost}. The memory cannot be trusted: init again`,
  );
}

function kernelError(name = "unknown", error: unknown, where = "on the calling thread"): Error {
  const text = error instanceof Error ? error.message : String(error);
  return new Error(`kernel ${name}: ${text} (${where})`, { cause: error });
}
