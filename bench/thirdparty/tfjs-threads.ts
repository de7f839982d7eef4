import { createRequire } from "node:module";

/**
 * Lets TensorFlow.js run its threaded WebAssembly in Node, which it is built for but switches off
 * there (tensorflow/tfjs issue 3830): its workers start from blob addresses, which Node refuses, and
 * it takes at most half of the cores. The program itself is left as it is.
 *
 * To be called before it is loaded.
 *
 * @param script  the backend's own script, which its workers load
 */
export function allowThreads(threads: number, script: string): void {
  const require = createRequire(import.meta.url);
  const sources = rememberBlobs();

  const os = require("node:os") as typeof import("node:os");
  const [core] = os.cpus();
  if (core) os.cpus = () => Array.from({ length: 2 * threads }, () => core);

  const workers = require("node:worker_threads") as typeof import("node:worker_threads");
  const { Worker } = workers;
  class BlobWorker extends Worker {
    constructor(address: string | URL, options: import("node:worker_threads").WorkerOptions = {}) {
      const source = sources.get(String(address));
      // No preloaded modules: they would run again in every worker.
      if (source === undefined) super(address, { ...options, execArgv: [] });
      else super(source, { ...options, eval: true, execArgv: [] });
      this.unref();
    }

    override postMessage(
      message: unknown,
      transfer?: readonly import("node:worker_threads").Transferable[],
    ): void {
      const loading =
        typeof message === "object" && message && "cmd" in message && message.cmd === "load";
      super.postMessage(loading ? { ...message, urlOrBlob: script } : message, transfer);
    }
  }
  workers.Worker = BlobWorker;
}

/** The text of every blob that was given an address, by address. */
function rememberBlobs(): ReadonlyMap<string, string> {
  const texts = new WeakMap<Blob, string>();
  const sources = new Map<string, string>();
  const { Blob: NodeBlob } = globalThis;
  globalThis.Blob = class extends NodeBlob {
    constructor(parts: BlobPart[] = [], options?: BlobPropertyBag) {
      super(parts, options);
      texts.set(this, parts.map(String).join(""));
    }
  };
  const create = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => {
    const address = create(blob);
    const text = texts.get(blob as Blob);
    if (text !== undefined) sources.set(address, text);
    return address;
  };
  return sources;
}
