import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { compileAssembly } from "../harness/compile.js";
import type { Engine } from "../harness/engine.js";

/** About a tenth of a millisecond of arithmetic. */
const TURNS = 50_000;
const FLOPS_PER_TURN = 96;
const MOST_BYTES = 64 * 2 ** 20;

// Words that caller and worker share: job and last job done, kind of job and its size.
const [EPOCH, DONE, KIND, SIZE] = [0, 1, 2, 3] as const;

interface LimitKernels {
  multiplyAdd(turns: number, factor: number, summand: number): number;
  read(bytes: number): number;
  readonly memory: WebAssembly.Memory;
}

/** What WebAssembly on this machine can do at most: the same work as arithmetic or reading alone. */
export async function start(threads: number): Promise<Engine> {
  const source = await readFile(new URL("limit-kernels.ts", import.meta.url), "utf8");
  const module = await compileAssembly(source);
  const kernels = (await WebAssembly.instantiate(module)).exports as unknown as LimitKernels;
  kernels.memory.grow(MOST_BYTES / 65_536);
  new Uint8Array(kernels.memory.buffer).fill(1);
  const words = new Int32Array(new SharedArrayBuffer(16));
  if (threads === 2) {
    const workerData = { module, words, bytes: MOST_BYTES };
    new Worker(new URL("limit-worker.mjs", import.meta.url), { workerData, execArgv: [] }).unref();
  } else if (threads !== 1) throw new RangeError(`limit: threads must be 1 or 2, got ${threads}`);

  const both = (kind: number, size: number, own: () => void): void => {
    if (threads === 2) {
      words[KIND] = kind;
      words[SIZE] = size;
      Atomics.add(words, EPOCH, 1);
      Atomics.notify(words, EPOCH);
    }
    own();
    while (Atomics.load(words, DONE) !== Atomics.load(words, EPOCH));
  };
  return {
    version: "",
    async prepare({ name, work }) {
      if (!work) throw new Error(`limit: "${name}" must say what it works, got nothing`);
      const nothing = { values: () => [], release: () => {} };
      if ("flops" in work) {
        const run = (): void =>
          both(0, TURNS, () => void kernels.multiplyAdd(TURNS, 0.9999999, 1e-7));
        return [{ ...nothing, run, work: threads * TURNS * FLOPS_PER_TURN }];
      }
      // As much memory as the bench touches, so that it lies in the same cache.
      const bytes = Math.floor(Math.min(work.bytes, MOST_BYTES) / threads / 128) * 128;
      const run = (): void => both(1, bytes, () => void kernels.read(bytes));
      return [{ ...nothing, run, work: threads * bytes }];
    },
  };
}
