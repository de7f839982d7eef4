import { init } from "../node.js";
import {
  compareParallel,
  type ParallelComparison,
  type ParallelSizes,
  type ParallelTiming,
} from "../tasks/parallel.js";
import { Progress } from "./progress.js";
import { table } from "./table.js";

export interface ParallelCommandOptions extends ParallelSizes {
  readonly runs: number;
  readonly threads: readonly number[];
  readonly json?: boolean;
}

/** `heed parallel`: one table for each number of threads, as soon as it is known; or JSON at the end. */
export async function parallelCommand(
  options: ParallelCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const { threads, json, ...rest } = options;
  const progress = new Progress(process.stderr);
  const comparisons: ParallelComparison[] = [];
  if (!json) process.stdout.write(`${heading(options)}\n`);
  for (const count of threads) {
    const heed = await init({ threads: count });
    try {
      heed.seed(1);
      const found = await compareParallel(heed, {
        ...rest,
        signal,
        onProgress: (done, total) => progress.status(`${count} thread(s): ${done} of ${total}`),
      });
      progress.status("");
      comparisons.push(found);
      if (!json) process.stdout.write(`\n${comparisonTable(found)}\n`);
    } finally {
      progress.status("");
      heed.dispose();
    }
  }
  if (json) process.stdout.write(`${JSON.stringify({ comparisons })}\n`);
  else process.stdout.write(`\n${remark(comparisons[0] as ParallelComparison)}\n`);
}

function heading({ batch, length, width, heads, runs }: ParallelCommandOptions): string {
  return `${batch} sequences of ${length} positions, width ${width}, ${heads} heads; ${runs} runs of each`;
}

function comparisonTable({ length, threads, timings }: ParallelComparison): string {
  const names: Record<ParallelTiming["what"], string> = {
    oneCall: "one call",
    singleCalls: `${length} calls of one position`,
    lstm: `LSTM, ${length} steps`,
  };
  const one = timings[0] as ParallelTiming;
  return table(
    [
      `${threads} thread${threads === 1 ? "" : "s"}`,
      "best",
      "median",
      "slowest",
      "against one call",
    ],
    timings.map(({ what, best, median, slowest }) => [
      names[what],
      milliseconds(best),
      milliseconds(median),
      milliseconds(slowest),
      `${(best / one.best).toFixed(2)} ×`,
    ]),
  );
}

function remark({ difference, length, timings }: ParallelComparison): string {
  const weights = (what: ParallelTiming["what"]): string =>
    (timings.find((timing) => timing.what === what)?.weights ?? 0).toLocaleString("en-US");
  return `A position that is called alone attends to itself only: the ${length} calls are another
function, with results up to ${difference.toFixed(2)} off. The LSTM has as wide a state and takes
its steps one after the other; ${weights("lstm")} weights, the attention ${weights("oneCall")}.`;
}

/** Three digits, more where they stand before the point. */
function milliseconds(time: number): string {
  const places = [10, 100].filter((bound) => time < bound).length;
  return `${time.toFixed(places)} ms`;
}
