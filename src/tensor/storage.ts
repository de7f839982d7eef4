import type { Releasable, Runtime } from "../runtime/runtime.js";

/** Something derived from a storage's values and kept beside it, such as packed weights. */
export interface Cache {
  readonly address: number;
  readonly version: number;
}

/** One block of memory, shared by a tensor and its reshaped views. */
export class Storage implements Releasable {
  readonly address: number;
  readonly caches = new Map<string, Cache>();
  version = 0;
  released = false;
  readonly #runtime: Runtime;

  constructor(runtime: Runtime, bytes: number) {
    this.#runtime = runtime;
    this.address = runtime.memory.allocate(bytes);
    runtime.track(this);
  }

  /** Frees the block and its caches. May be called twice. */
  release(): void {
    if (this.released) return;
    this.released = true;
    const { memory } = this.#runtime;
    memory.free(this.address);
    for (const cache of this.caches.values()) memory.free(cache.address);
    this.caches.clear();
    this.#runtime.untrack(this);
  }
}
