import { StateError } from "../errors.js";
import type { KernelName, Kernels } from "../kernels/kernels.js";
import type { KernelSignatures } from "../kernels/signatures.js";
import type { Memory } from "../memory/memory.js";
import type { Build } from "../platform/platform.js";

/** Something a scope frees when it ends, unless it was returned. */
export interface Releasable {
  release(): void;
}

/** Marks values that hold memory, a list: a scope keeps what its result reaches through this key. */
export const held: unique symbol = Symbol("heed.held");

export interface RuntimeInfo {
  readonly build: Build;
  readonly platform: string;
  readonly threads: number;
  /** Null, or a sentence: why there are not more threads. */
  readonly threadsReason: string | null;
  readonly precision: "exact" | "fast";
  /** Bytes. */
  readonly memory: { used: number; peak: number; capacity: number; maximum: number };
}

/** What was made while it was entered, freed when it is closed. */
export class Scope {
  readonly made = new Set<Releasable>();
  readonly #stack: Scope[];

  constructor(stack: Scope[]) {
    this.#stack = stack;
  }

  run<T>(fn: () => T): T {
    this.#stack.push(this);
    try {
      return fn();
    } finally {
      this.#stack.pop();
    }
  }

  /** Hands what value reaches on to the scope around this one. */
  keep(value: unknown): void {
    const outer = this.#stack.at(-1);
    for (const item of heldBy(value)) if (this.made.delete(item)) outer?.made.add(item);
  }

  close(): void {
    for (const item of this.made) item.release();
    this.made.clear();
  }
}

/**
 * One memory, its kernels and threads, and the scopes that give memory back.
 * A tensor knows its runtime; several runtimes may live side by side.
 */
export class Runtime {
  readonly memory: Memory;
  readonly #kernels: Kernels;
  readonly #about: Pick<RuntimeInfo, "build" | "platform" | "threadsReason" | "precision">;
  readonly #scopes: Scope[] = [];
  /** What is made outside of every scope while guarded() runs. */
  #guard: Scope | null = null;
  #disposed = false;
  #seed = 0;

  constructor(
    memory: Memory,
    kernels: Kernels,
    about: Pick<RuntimeInfo, "build" | "platform" | "threadsReason" | "precision">,
  ) {
    this.memory = memory;
    this.#kernels = kernels;
    this.#about = about;
  }

  get threads(): number {
    return this.#kernels.threads;
  }

  /** Null while tensors can be trusted, else why not. */
  get lost(): string | null {
    return this.#disposed ? "the runtime is disposed" : this.#kernels.lost;
  }

  info(): RuntimeInfo {
    const { usedBytes, peakBytes, capacityBytes, maximumBytes } = this.memory;
    return {
      ...this.#about,
      threads: this.threads,
      memory: {
        used: usedBytes,
        peak: peakBytes,
        capacity: capacityBytes,
        maximum: maximumBytes,
      },
    };
  }

  /** Runs a kernel over [0, range): see Kernels.run. */
  run<K extends KernelName>(kernel: K, args: KernelSignatures[K], range: number, cost = 1): void {
    const { lost } = this;
    if (lost) throw new StateError(`${kernel}: the runtime must be alive, but ${lost}. Init again`);
    this.#kernels.run(kernel, args, range, cost);
  }

  /**
   * Runs fn and frees every tensor it made and did not return (in arrays, maps and plain objects
   * too). Must be synchronous: a promise would outlive the scope.
   */
  scope<T>(fn: () => T): T {
    const scope = new Scope(this.#scopes);
    try {
      const result = scope.run(fn);
      if (result instanceof Promise) {
        result.catch(() => {}); // it will miss what is freed here, and nobody else awaits it
        throw new TypeError("scope: fn must be synchronous, got a promise. Await outside of it");
      }
      scope.keep(result);
      return result;
    } finally {
      scope.close();
    }
  }

  /** A scope that is entered many times before it is closed: long work that yields in between. */
  openScope(): Scope {
    return new Scope(this.#scopes);
  }

  /** Runs fn outside every scope: what it makes lives until it is disposed. */
  unscoped<T>(fn: () => T): T {
    return this.#within(0, fn);
  }

  /** Runs fn, which makes something of many parts: when it throws, the parts made so far are freed. */
  guarded<T>(fn: () => T): T {
    const outer = this.#guard;
    const guard = new Scope(this.#scopes);
    this.#guard = guard;
    try {
      const result = fn();
      for (const item of guard.made) outer?.made.add(item);
      return result;
    } catch (error) {
      guard.close();
      throw error;
    } finally {
      this.#guard = outer;
    }
  }

  /** Runs fn in the scope that holds `item`, or outside of all: what it makes lives as long. */
  beside<T>(item: Releasable, fn: () => T): T {
    return this.#within(this.#scopes.findIndex((scope) => scope.made.has(item)) + 1, fn);
  }

  /** Enters something into the innermost scope. */
  track(item: Releasable): void {
    (this.#scopes.at(-1) ?? this.#guard)?.made.add(item);
  }

  /** Takes something that was freed by hand out of its scope. */
  untrack(item: Releasable): void {
    for (const scope of this.#scopes) scope.made.delete(item);
    this.#guard?.made.delete(item);
  }

  /** Sets the sequence that nextSeed() draws from; checkpoints keep it. */
  seed(value: number): void {
    this.#seed = value >>> 0;
  }

  get seedState(): number {
    return this.#seed;
  }

  /** The next u32 seed, for dropout and initialisation. */
  nextSeed(): number {
    this.#seed = (this.#seed + 0x9e3779b9) >>> 0;
    return mix32(this.#seed);
  }

  /** Gives everything back, workers included. May be called twice. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#kernels.dispose();
    this.memory.release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Runs fn in the outermost scopes only. */
  #within<T>(depth: number, fn: () => T): T {
    const inner = this.#scopes.splice(depth);
    try {
      return fn();
    } finally {
      for (const scope of inner) this.#scopes.push(scope);
    }
  }
}

/** A bijection of 32 bits whose every output bit depends on every input bit (Chris Wellons, "lowbias32"). */
export function mix32(value: number): number {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Levels of a result that a scope looks into. */
const DEPTH = 8;

/** What a value reaches through arrays, maps and objects; level by level, each object once. */
function heldBy(value: unknown): Set<Releasable> {
  const found = new Set<Releasable>();
  const seen = new Set<object>();
  let level: Iterable<unknown>[] = [[value]];
  for (let depth = 0; depth <= DEPTH && level.length > 0; depth++) {
    const next: Iterable<unknown>[] = [];
    for (const items of level)
      for (const item of items) {
        if (typeof item !== "object" || item === null || seen.has(item)) continue;
        seen.add(item);
        if (held in item) for (const each of item[held] as Releasable[]) found.add(each);
        else if (item instanceof Map || item instanceof Set) next.push(item.values());
        else if (!ArrayBuffer.isView(item)) next.push(Object.values(item));
      }
    level = next;
  }
  return found;
}
