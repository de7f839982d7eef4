import { ParallelAttention } from "../models/parallel-attention.js";
import { uniformStep } from "../nn/init.js";
import { LSTM } from "../nn/lstm.js";
import { reshape, slice } from "../ops/shape.js";
import { noGrad } from "../ops/tape.js";
import { turn } from "../runtime/event-loop.js";
import type { Runtime } from "../runtime/runtime.js";
import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { expectOptions } from "./arguments.js";

export interface ParallelSizes {
  /** Sequences side by side. */
  readonly batch: number;
  /** Positions of a sequence. */
  readonly length: number;
  /** Width of a position, in and out. */
  readonly width: number;
  readonly heads: number;
}

export interface CompareParallelOptions extends Partial<ParallelSizes> {
  /** Times that each is run, after one that does not count; default 5. */
  readonly runs?: number;
  /** Called after every run. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** What was run, and how long it took: milliseconds. */
export interface ParallelTiming {
  /** "oneCall" over the whole sequence, "singleCalls" of one position each, or an "lstm" over it. */
  readonly what: "oneCall" | "singleCalls" | "lstm";
  readonly best: number;
  readonly median: number;
  readonly slowest: number;
  /** All of them, in order. */
  readonly times: readonly number[];
  /** Of the layer, biases included. */
  readonly weights: number;
}

export interface ParallelComparison extends ParallelSizes {
  readonly threads: number;
  readonly runs: number;
  readonly timings: readonly ParallelTiming[];
  /**
   * By how much the single calls' results differ from the one call's at most: a position that is
   * called alone attends to itself only, which is another function.
   */
  readonly difference: number;
}

/** The textbook's sizes. */
const SIZES: ParallelSizes = { batch: 32, length: 100, width: 256, heads: 8 };

/**
 * Self-attention over a whole sequence in one call, against one call a position, and against a
 * recurrent layer, which must take the positions one by one.
 *
 * The three take turns, so that a slow moment of the machine meets all of them.
 *
 * @throws {RangeError} a size is no whole number from 1 up, or the width is no multiple of the heads
 * @throws the signal's reason
 */
export async function compareParallel(
  runtime: Runtime,
  options: CompareParallelOptions = {},
): Promise<ParallelComparison> {
  expectOptions("parallel", options);
  const { batch, length, width, heads } = { ...SIZES, ...options };
  const { runs = 5, onProgress, signal } = options;
  for (const [name, value] of Object.entries({ batch, length, width, heads, runs }))
    if (!(Number.isInteger(value) && value >= 1))
      throw new RangeError(`parallel: ${name} must be a whole number from 1 up, got ${value}`);

  const scope = runtime.openScope();
  const layers: { dispose(): void }[] = [];
  try {
    const attention = new ParallelAttention(runtime, width, heads);
    layers.push(attention);
    const lstm = new LSTM(runtime, width, width);
    layers.push(lstm);
    const { x, positions } = scope.run(() => inputs(runtime, { batch, length, width, heads }));
    const tasks = {
      oneCall: (): void => void attention.forward(x),
      singleCalls: (): void => {
        for (const position of positions) runtime.scope(() => void attention.forward(position));
      },
      lstm: (): void => void lstm.forward(x),
    } as const;
    const names = Object.keys(tasks) as (keyof typeof tasks)[];
    const times = { oneCall: [], singleCalls: [], lstm: [] } as Record<
      keyof typeof tasks,
      number[]
    >;
    for (let run = 0; run <= runs; run++)
      for (const [index, name] of names.entries()) {
        await turn(signal);
        const taken = timed(runtime, tasks[name]);
        if (run > 0) times[name].push(taken);
        onProgress?.(run * names.length + index + 1, (runs + 1) * names.length);
      }
    const difference = runtime.scope(() =>
      noGrad(runtime, () => largestDifference(attention, x, positions)),
    );
    const timings = names.map((what) => ({
      what,
      ...summary(times[what]),
      weights: weightsOf(what === "lstm" ? lstm : attention),
    }));
    return { batch, length, width, heads, threads: runtime.threads, runs, timings, difference };
  } finally {
    scope.close();
    for (const layer of layers) layer.dispose();
  }
}

/** A batch of sequences, and each position of it alone: f32[B, L, E] and L of f32[B, 1, E]. */
function inputs(
  runtime: Runtime,
  { batch, length, width }: ParallelSizes,
): { x: Tensor; positions: Tensor[] } {
  const x = uniformStep(empty(runtime, [batch, length, width]), Math.sqrt(3));
  const positions = Array.from({ length }, (_, t) => slice(x, 1, t, t + 1));
  return { x, positions };
}

function timed(runtime: Runtime, work: () => void): number {
  const begun = performance.now();
  runtime.scope(() => noGrad(runtime, work));
  return performance.now() - begun;
}

function largestDifference(
  attention: ParallelAttention,
  x: Tensor,
  positions: readonly Tensor[],
): number {
  const together = attention.forward(x);
  let most = 0;
  positions.forEach((position, t) => {
    const own = reshape(slice(together, 1, t, t + 1), position.shape).read();
    attention
      .forward(position)
      .read()
      .forEach((value, index) => {
        most = Math.max(most, Math.abs(value - (own[index] as number)));
      });
  });
  return most;
}

function summary(times: readonly number[]): Omit<ParallelTiming, "what" | "weights"> {
  const sorted = times.toSorted((a, b) => a - b);
  return {
    best: sorted[0] as number,
    median: sorted[Math.floor(sorted.length / 2)] as number,
    slowest: sorted.at(-1) as number,
    times,
  };
}

function weightsOf(layer: ParallelAttention | LSTM): number {
  let sum = 0;
  for (const { size } of layer.parameters().values()) sum += size;
  return sum;
}
