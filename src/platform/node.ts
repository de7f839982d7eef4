import { readFile } from "node:fs/promises";
import * as os from "node:os";
import { pathToFileURL } from "node:url";
// The namespace, not { Worker }: webpack's Node target breaks the named import.
import * as workerThreads from "node:worker_threads";
import { StateError } from "../errors.js";
import type { Build, Platform, PlatformOptions, PoolWorker, WorkerStart } from "./platform.js";
import { relaxedRefused } from "./relaxed.js";

/** Node, Deno and Bun: files beside this one, workers from node:worker_threads. */
export function nodePlatform(options: PlatformOptions = {}): Platform {
  return {
    name: "node",
    cores: os.availableParallelism(),
    maximumBytes: 2 ** 30,
    mayWait: true,
    sharingRefused: () => null,
    relaxedRefused,
    compile: (build) => compile(build, options),
    spawn: () => new NodeWorker(toUrl(options.workerUrl ?? beside("worker.node.mjs"))),
  };
}

/** The built files stand beside the bundle; seen from the sources, in dist/. */
function beside(file: string): URL {
  return new URL(
    `${import.meta.url.endsWith(".ts") ? "../../dist/" : "./"}${file}`,
    import.meta.url,
  );
}

async function compile(build: Build, options: PlatformOptions): Promise<WebAssembly.Module> {
  const { module, wasmUrl } = options;
  if (module) return typeof module === "function" ? module(build) : module;
  const file = `heed.${build}.wasm`;
  const url =
    typeof wasmUrl === "function"
      ? toUrl(wasmUrl(build))
      : wasmUrl === undefined
        ? beside(file)
        : new URL(file, folder(toUrl(wasmUrl)));
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await readFile(url);
  } catch (error) {
    throw new StateError(
      `init: the kernels must stand at ${url.href}, got ${text(error)}. Pass { wasmUrl } when they stand elsewhere`,
      { cause: error },
    );
  }
  return WebAssembly.compile(bytes);
}

class NodeWorker implements PoolWorker {
  readonly url: string;
  readonly #worker: workerThreads.Worker;
  #ended: string | null = null;
  #listener: ((reason: string) => void) | null = null;

  constructor(url: URL) {
    this.url = url.href;
    // No preloaded modules: they would run again in every worker.
    this.#worker = new workerThreads.Worker(url, { execArgv: [], name: "heed" });
    // An idle worker does not keep the process alive.
    this.#worker.unref();
    this.#worker.on("error", (error) => this.#end(`it threw ${text(error)}`));
    this.#worker.on("exit", (code) => this.#end(`it exited with code ${code}`));
  }

  post(message: WorkerStart): void {
    this.#worker.postMessage(message);
  }

  onExit(listener: (reason: string) => void): void {
    this.#listener = listener;
    if (this.#ended !== null) listener(this.#ended);
  }

  /**
   * The exit event does not arrive while this thread computes, but the idle time of a thread that has
   * ended is −1 at once, if it was asked for during its life too (Node 20 to 26). Elsewhere the
   * pool's patience runs out instead.
   */
  ended(): boolean {
    return this.#ended !== null || this.#worker.performance?.eventLoopUtilization().idle < 0;
  }

  terminate(): void {
    void this.#worker.terminate();
  }

  #end(reason: string): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    this.#listener?.(reason);
  }
}

function toUrl(location: string | URL): URL {
  if (location instanceof URL) return location;
  // Two letters at least: C:\ is a path.
  return /^[a-z][a-z0-9+.-]+:/i.test(location) ? new URL(location) : pathToFileURL(location);
}

function folder(url: URL): URL {
  return url.pathname.endsWith("/") ? url : new URL(`${url.href}/`);
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
