import type { Heed } from "../../src/heed.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import type { OnnxVariant } from "../thirdparty/onnx.js";
import type { Tfjs, TfTensor } from "../thirdparty/tfjs.js";

/** At least, and better: a ratio that must be met and one to aim at; of times, the smaller is better. */
export type Bar = readonly [atLeast: number, aim: number];

/** What a bench's ratios must reach. A ratio is the other's time over ours: above 1 we are faster. */
export interface Bars {
  /** Share of the machine's limit, one thread. */
  readonly limit?: Bar;
  /** Against one peer, one thread each. */
  readonly "onnxruntime-web"?: Bar;
  readonly "tfjs-wasm"?: Bar;
  /** Against whichever WebAssembly peer is the faster one, one thread each. */
  readonly "best wasm peer"?: Bar;
  /** Two threads each. */
  readonly pytorch?: Bar;
  /** Two threads against one of ours. */
  readonly "1 thread"?: Bar;
  /** The median time itself, any number of threads. */
  readonly milliseconds?: Bar;
}

/** The same computation by others. Variants are timed against each other first; the fastest one stays. */
export interface Peers {
  readonly "onnxruntime-web"?: () => readonly OnnxVariant[];
  readonly "tfjs-wasm"?: (tf: Tfjs) => readonly (() => TfTensor)[];
  /** What thirdparty/train_step.py is told. */
  readonly pytorch?: Readonly<Record<string, number>>;
}

/** Does the work once. What it returns is the result that peers are checked against. */
export type Run = () => Tensor | readonly number[] | Promise<readonly number[]>;

/** One computation: how heed does it, what it costs, who else does it, and what must come out. */
export interface Bench {
  readonly name: string;
  /** What one run takes at least; without it there is no limit to compare with. */
  readonly work?: { readonly flops: number } | { readonly bytes: number };
  /** Makes the inputs, which stay; the function returned is what is timed. */
  setup(heed: Heed): Run | Promise<Run>;
  /** The run frees what it makes, and may be asynchronous; otherwise it runs in a scope. */
  readonly ownScope?: boolean;
  /** Thread counts that heed runs with; default 1 and 2. */
  readonly threads?: readonly number[];
  /** Milliseconds of rest before every single run. */
  readonly rest?: number;
  /** Runs before timing starts, when a few are enough: a process has nothing to warm up. */
  readonly warmRuns?: number;
  readonly peers?: Peers;
  /** Largest |Δ| of a peer's result, relative to max(1, max |y|); default 1e-4. */
  readonly tolerance?: number;
  readonly bars?: Bars;
  /** A sentence when something that must be there is not. */
  missing?(): string | null;
}
