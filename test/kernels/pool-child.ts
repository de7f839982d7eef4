/**
 * A process with a pool, to see how it ends: argv gives the worker's URL, the kernels' file and what
 * to do. It prints "<what>" when it is done, and nothing else keeps it alive.
 */
import { readFileSync } from "node:fs";
import { CONTROL_BYTES, Pool } from "../../src/kernels/pool.js";
import { nodePlatform } from "../../src/platform/node.js";

const [workerUrl = "", kernels = "", what = ""] = process.argv.slice(2);
const memory = new WebAssembly.Memory({ initial: 2, maximum: 16, shared: true });
const module = new WebAssembly.Module(readFileSync(kernels));
const { exports } = new WebAssembly.Instance(module, { env: { memory } });
const kernelNames = Object.keys(exports).sort();
const control = 64;
const data = control + CONTROL_BYTES;
const platform = nodePlatform({ workerUrl });

const pool = await Pool.start({
  platform,
  module,
  memory,
  control,
  kernelNames,
  kernels: exports,
  threads: 4,
  patience: 200,
});
if (what !== "idle") pool.run(kernelNames.indexOf("index"), [data, 2], 1000, 10);
if (what === "dispose") pool.dispose();
if (what === "hang") {
  try {
    pool.run(kernelNames.indexOf("hang"), [data], 2, 1);
  } catch {
    // The workers that hang must not keep the process either.
  }
}
if (what === "throw") throw new Error("an error of the program");
console.log(what);
