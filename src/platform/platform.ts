/**
 * What the layers above ask of the place they run in. An entry (src/node.ts,
 * src/browser.ts) chooses one and hands it in; nothing below an entry knows which it is.
 */

/** One kernel binary: heed.<build>.wasm. The names with "threads", and "debug", want shared memory. */
export type Build = "simd" | "threads" | "relaxed" | "relaxed-threads" | "debug";

/** The one message a worker of the pool is sent; what follows goes through shared memory. */
export interface WorkerStart {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** Address of the control block in memory. */
  readonly control: number;
  /** The worker's place in the control block, from 0. */
  readonly index: number;
  /** Export names in the order that jobs count them. */
  readonly kernelNames: readonly string[];
  /** Milliseconds to look for the next job before sleeping. */
  readonly spin: number;
}

export interface PoolWorker {
  /** Where its program comes from, for errors. */
  readonly url: string;
  post(message: WorkerStart): void;
  /** Calls the listener once when the worker ends, whatever the cause; the reason is a clause. */
  onExit(listener: (reason: string) => void): void;
  /** Whether the thread is known to have ended, for a caller that cannot wait for the event; asked once when it is ready. */
  ended(): boolean;
  terminate(): void;
}

export interface Platform {
  readonly name: "node" | "browser";
  /** Threads that can run at once, as the host reports them. */
  readonly cores: number;
  /** Default maximum of a runtime's memory. */
  readonly maximumBytes: number;
  /** Whether Atomics.wait is allowed on this thread. */
  readonly mayWait: boolean;
  /** null when memory can be shared with workers, else a sentence that says why not. */
  sharingRefused(): string | null;
  /** null when this engine knows relaxed SIMD, else a sentence that says so. */
  relaxedRefused(): string | null;
  compile(build: Build): Promise<WebAssembly.Module>;
  spawn(): PoolWorker;
}

/**
 * Where the library's files are, when they do not stand beside it: bundlers that move files,
 * pages with a content security policy or Trusted Types.
 */
export interface PlatformOptions {
  /** The folder that holds heed.<build>.wasm, or a function that names the file of a build. */
  readonly wasmUrl?: string | URL | ((build: Build) => string | URL);
  /** A compiled module, or a function that gives one; wasmUrl is not used then. */
  readonly module?:
    | WebAssembly.Module
    | ((build: Build) => WebAssembly.Module | Promise<WebAssembly.Module>);
  /** The address of worker.browser.mjs or worker.node.mjs. */
  readonly workerUrl?: string | URL;
}
