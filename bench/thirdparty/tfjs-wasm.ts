import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import type { Bench } from "../harness/bench.js";
import type { Engine, Prepared } from "../harness/engine.js";
import type { Tfjs, TfTensor, TfWasmBackend } from "./tfjs.js";
import { allowThreads } from "./tfjs-threads.js";

const require = createRequire(import.meta.url);

/** TensorFlow.js with its WebAssembly backend. */
export async function start(threads: number): Promise<Engine> {
  const backend = "@tensorflow/tfjs-backend-wasm";
  const folder = join(dirname(require.resolve(`${backend}/package.json`)), "wasm-out") + sep;
  if (threads > 1) allowThreads(threads, `${folder}tfjs-backend-wasm-threaded-simd.js`);
  const tf = require("@tensorflow/tfjs") as Tfjs;
  const wasm = require(backend) as TfWasmBackend;
  wasm.setWasmPaths(folder);
  if (threads > 1) {
    tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", true);
    wasm.setThreadsCount(threads);
  }
  if (!(await tf.setBackend("wasm"))) throw new Error("tfjs-wasm: the backend did not start");
  await tf.ready();
  const got = wasm.getThreadsCount();
  if (got !== threads) throw new Error(`tfjs-wasm: must run on ${threads} threads, got ${got}`);
  return {
    version: tf.version["tfjs-backend-wasm"] ?? tf.version["tfjs-core"] ?? "",
    async prepare(bench: Bench) {
      tf.engine().startScope();
      const variants = bench.peers?.["tfjs-wasm"]?.(tf) ?? [];
      let held = variants.length;
      const release = (): void => {
        if (--held === 0) tf.engine().endScope();
      };
      return variants.map((make): Prepared => ({ ...timed(tf, make), release }));
    },
  };
}

/** Results stay in the backend: reading them is no part of a run. */
function timed(tf: Tfjs, make: () => TfTensor): Pick<Prepared, "run" | "values"> {
  return {
    run: () => tf.tidy(make).dispose(),
    values() {
      const y = tf.tidy(make);
      const values = y.dataSync().slice();
      y.dispose();
      return values;
    },
  };
}
