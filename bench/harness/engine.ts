import type { Bench } from "./bench.js";

/** Something that computes, alone in its process, with a fixed number of threads. */
export interface Engine {
  readonly version: string;
  /** Gets ready for a bench, in one way or several; the fastest one is kept. */
  prepare(bench: Bench): Promise<readonly Prepared[]>;
}

/** A computation that is ready to be timed. */
export interface Prepared {
  /** How, where there are several ways. */
  readonly variant?: string;
  /** Flops or bytes of one run, where they are not the bench's. */
  readonly work?: number;
  /** Leaves its result in the engine's own memory. */
  run(): unknown;
  /** The whole result, in heed's order of elements. */
  values(): ArrayLike<number> | Promise<ArrayLike<number>>;
  release(): unknown;
}

/** What an engine's process is asked, a JSON line each. */
export type Question =
  | {
      readonly ask: "prepare";
      readonly bench: string;
      readonly warm: number;
      readonly spec?: unknown;
    }
  | { readonly ask: "burst"; readonly milliseconds: number }
  | { readonly ask: "release" };

/** And what it answers, a JSON line each. */
export interface Answer {
  /** A sentence when it could not. */
  readonly error?: string;
  /** Once, when the engine has started. */
  readonly version?: string;
  /** After "prepare". */
  readonly variant?: string;
  readonly work?: number;
  readonly values?: SampledValues;
  /** After "burst": milliseconds of one run each. */
  readonly samples?: readonly number[];
  /** Processor milliseconds of this process, all threads: during the burst, and since the last answer. */
  readonly busy?: number;
  readonly resting?: number;
}

/** A result's length and its elements at places spread evenly over it. */
export interface SampledValues {
  readonly length: number;
  readonly at: readonly number[];
}

/** Prime, so that the places fall on every column of the usual widths. */
const PLACES = 4093;

export function sampleValues(values: ArrayLike<number>): SampledValues {
  const count = Math.min(values.length, PLACES);
  const at = Array.from({ length: count }, (_, i) =>
    Number(values[Math.floor((i * values.length) / count)]),
  );
  return { length: values.length, at };
}
