import type { Pool } from "./pool.js";
import type { KernelSignatures } from "./signatures.js";

export type KernelName = keyof KernelSignatures;
export type KernelExports = Record<string, (...args: number[]) => void>;

/**
 * Work below this many steps stays on the calling thread: about 10 µs of arithmetic, ten times the
 * price of handing a job to a spinning worker (bench/dispatch.bench.ts).
 */
const THRESHOLD = 100_000;
/** Chunks a thread: enough to even out a late worker, few enough that claiming costs nothing. */
const CHUNKS_PER_THREAD = 4;

/** Calls across the border: one kernel over a range, here or over the pool. */
export class Kernels {
  #exports: KernelExports;
  readonly #index: ReadonlyMap<string, number>;
  #pool: Pool | null = null;

  constructor(exports: WebAssembly.Exports) {
    this.#exports = exports as KernelExports;
    this.#index = new Map(kernelNames(this.#exports).map((name, index) => [name, index]));
  }

  get names(): string[] {
    return [...this.#index.keys()];
  }

  get exports(): KernelExports {
    return this.#exports;
  }

  get threads(): number {
    return this.#pool ? this.#pool.threads : 1;
  }

  /** Null while all is well, else the reason why the memory cannot be trusted any more. */
  get lost(): string | null {
    return this.#pool?.lost ?? null;
  }

  attach(pool: Pool): void {
    this.#pool = pool;
  }

  /**
   * Runs one kernel over [0, range).
   *
   * @param args   the kernel's parameters before begin and end
   * @param range  units of work; the kernel says what a unit is
   * @param cost   steps of arithmetic a unit takes, roughly: decides whether threads are worth waking
   * @throws the kernel's own error, with its name; StateError when a worker was lost
   */
  run<K extends KernelName>(
    kernel: K,
    args: KernelSignatures[K],
    range: number,
    cost: number,
  ): void {
    if (range <= 0) return;
    const pool = this.#pool;
    if (pool && range > 1 && range * cost >= THRESHOLD) {
      const chunk = Math.ceil(range / (pool.threads * CHUNKS_PER_THREAD));
      pool.run(this.#index.get(kernel) ?? -1, args, range, chunk);
      return;
    }
    const call = this.#exports[kernel];
    if (!call) throw new TypeError(`run: kernel "${kernel}" must be an export of this build`);
    try {
      call(...args, 0, range);
    } catch (error) {
      throw new Error(`kernel ${kernel}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  }

  /** Ends the threads and lets go of the instance, which holds the memory. */
  dispose(): void {
    this.#pool?.dispose();
    this.#pool = null;
    this.#exports = {};
  }
}

/** The order of kernels that caller and workers agree on. */
export function kernelNames(exports: KernelExports): string[] {
  return Object.keys(exports)
    .filter((name) => typeof exports[name] === "function")
    .sort();
}
