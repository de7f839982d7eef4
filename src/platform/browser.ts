import { StateError } from "../errors.js";
import type { Build, Platform, PlatformOptions, PoolWorker, WorkerStart } from "./platform.js";
import { relaxedRefused } from "./relaxed.js";

export interface BrowserOptions extends PlatformOptions {
  /** Makes a worker that runs worker.browser.mjs, for pages whose policy restricts `new Worker(url)`. */
  readonly createWorker?: () => Worker;
}

/** Pages and dedicated workers: files by URL, module workers where the page is cross-origin isolated. */
export function browserPlatform(options: BrowserOptions = {}): Platform {
  return {
    name: "browser",
    cores: navigator.hardwareConcurrency || 1,
    maximumBytes: 2 ** 28,
    mayWait: "DedicatedWorkerGlobalScope" in globalThis,
    sharingRefused,
    relaxedRefused,
    compile: (build) => compile(build, options),
    spawn: () => new BrowserWorker(options),
  };
}

/** crossOriginIsolated alone does not tell: WebKitGTK may be isolated and still refuse the message. */
function sharingRefused(): string | null {
  if (!globalThis.crossOriginIsolated)
    return "this page is not cross-origin isolated: send Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp";
  if (typeof Worker === "undefined") return "there are no workers here";
  const { port1, port2 } = new MessageChannel();
  try {
    port1.postMessage(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }));
    return null;
  } catch {
    return "this engine does not share memory between threads";
  } finally {
    port1.close();
    port2.close();
  }
}

async function compile(build: Build, options: PlatformOptions): Promise<WebAssembly.Module> {
  const { module } = options;
  if (module) return typeof module === "function" ? module(build) : module;
  const url = wasmUrl(build, options.wasmUrl);
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new StateError(`init: ${url.href} must be reachable, got ${text(error)}`, {
      cause: error,
    });
  }
  if (!response.ok)
    throw new StateError(
      `init: ${url.href} must be reachable, got status ${response.status}. Pass { wasmUrl } when the kernels stand elsewhere`,
    );
  try {
    // Streaming insists on the MIME type; servers that do not know .wasm are common.
    return response.headers.get("content-type") === "application/wasm"
      ? await WebAssembly.compileStreaming(response)
      : await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    throw new StateError(
      `init: ${url.href} must compile, got ${text(error)}. A content security policy needs 'wasm-unsafe-eval' in script-src`,
      { cause: error },
    );
  }
}

/** Written out in full, so that bundlers find the files. */
function wasmUrl(build: Build, given: PlatformOptions["wasmUrl"]): URL {
  if (typeof given === "function") return new URL(given(build), location.href);
  if (given !== undefined) {
    const folder = new URL(given, location.href).href.replace(/\/?$/, "/");
    return new URL(`heed.${build}.wasm`, folder);
  }
  switch (build) {
    case "simd":
      return new URL("./heed.simd.wasm", import.meta.url);
    case "threads":
      return new URL("./heed.threads.wasm", import.meta.url);
    case "relaxed":
      return new URL("./heed.relaxed.wasm", import.meta.url);
    case "relaxed-threads":
      return new URL("./heed.relaxed-threads.wasm", import.meta.url);
    case "debug":
      throw new StateError("init: the debug build must be given on a page. Pass { wasmUrl }");
  }
}

class BrowserWorker implements PoolWorker {
  readonly url: string;
  readonly #worker: Worker;
  #ended: string | null = null;
  #listener: ((reason: string) => void) | null = null;

  constructor({ createWorker, workerUrl }: BrowserOptions) {
    this.url = String(workerUrl ?? new URL("./worker.browser.mjs", import.meta.url));
    if (createWorker) this.#worker = createWorker();
    else if (workerUrl) this.#worker = new Worker(workerUrl, { type: "module", name: "heed" });
    else
      this.#worker = new Worker(new URL("./worker.browser.mjs", import.meta.url), {
        type: "module",
        name: "heed",
      });
    // A worker that cannot be loaded (404, policy, headers) gives an event without a message.
    this.#worker.addEventListener("error", (event) =>
      this.#end(
        event.message
          ? `it threw ${event.message}`
          : "it could not be loaded. Check the address, the page's worker-src policy, and that the file is sent with Cross-Origin-Embedder-Policy: require-corp",
      ),
    );
  }

  post(message: WorkerStart): void {
    this.#worker.postMessage(message);
  }

  onExit(listener: (reason: string) => void): void {
    this.#listener = listener;
    if (this.#ended !== null) listener(this.#ended);
  }

  ended(): boolean {
    return this.#ended !== null;
  }

  terminate(): void {
    this.#worker.terminate();
  }

  #end(reason: string): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    this.#listener?.(reason);
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
