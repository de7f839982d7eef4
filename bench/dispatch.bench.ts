import type { Heed } from "../src/heed.js";
import type { Bench, Run } from "./harness/bench.js";

/** As in src/kernels/kernels.ts: work below it stays on the calling thread. */
const THRESHOLD = 100_000;
/** Milliseconds after which every worker sleeps: twenty times what it spins. */
const ASLEEP = 2;

/** A job that scales `size` numbers, handed out as if it were as much work as `cost` says. */
function job(heed: Heed, size: number, cost: number): Run {
  const x = heed.tensor(new Float32Array(size));
  return () => {
    heed.run("scaleF32", [x.ptr, x.ptr, 1], size, cost);
    return x;
  };
}

/** The price of a kernel call, alone and over the pool; SPIN and THRESHOLD of src/kernels rest on it. */
export const benches: readonly Bench[] = [
  {
    name: "dispatch: a call on the calling thread",
    threads: [1],
    ownScope: true,
    setup: (heed) => job(heed, 2, 1),
  },
  {
    name: "dispatch: an empty job, workers spinning",
    threads: [2],
    ownScope: true,
    setup: (heed) => job(heed, 2, THRESHOLD),
  },
  {
    name: "dispatch: an empty job, workers asleep",
    threads: [2],
    ownScope: true,
    rest: ASLEEP,
    setup: (heed) => job(heed, 2, THRESHOLD),
  },
  {
    // One step of arithmetic an element: what just reaches the threshold must gain by two threads.
    ownScope: true,
    name: "dispatch: a job at the threshold",
    setup: (heed) => job(heed, THRESHOLD, 1),
  },
];
