import type { Heed } from "../../src/heed.js";
import { init } from "../../src/node.js";
import { Tensor } from "../../src/tensor/tensor.js";
import type { Bench, Run } from "../harness/bench.js";
import type { Engine, Prepared } from "../harness/engine.js";

const MEMORY = 128 * 2 ** 20;

/** heed itself, from the sources, with the kernels of dist/. A bench gets a runtime of its own. */
export async function start(threads: number): Promise<Engine> {
  return {
    version: "",
    async prepare(bench) {
      const heed = await init({ threads, initialBytes: MEMORY });
      touch(heed);
      const run = await bench.setup(heed);
      return [{ ...timed(heed, bench, run), release: () => heed.dispose() }];
    },
  };
}

function timed(heed: Heed, bench: Bench, run: Run): Pick<Prepared, "run" | "values"> {
  const values = (result: Tensor | readonly number[]): ArrayLike<number> =>
    result instanceof Tensor ? result.read() : result;
  if (bench.ownScope) return { run, values: async () => values(await run()) };
  return {
    run: () => heed.scope(() => void run()),
    values: () => heed.scope(() => values(run() as Tensor)),
  };
}

/** Writes to all memory that is not in use: pages that were never written look a fifth slower. */
function touch(heed: Heed): void {
  const { memory } = heed;
  const first = memory.allocate(64);
  memory.u8(first, memory.capacityBytes - first).fill(1);
  memory.free(first);
}
