import { setTimeout as sleep } from "node:timers/promises";
import { smallest } from "./statistics.js";

/** Shorter runs are timed several at a time, milliseconds. */
const SHORTEST_SAMPLE = 0.25;
/** A warm-up ends here, however slow the runs are, milliseconds. */
const LONGEST_WARM_UP = 2500;
/** Milliseconds that V8 is left alone to put the optimised code in place. */
const COMPILING = 20;

export interface Warmth {
  readonly milliseconds: number;
  readonly runs: number;
}

/**
 * Runs until V8 has compiled the hot functions with its optimising compiler: that takes a few
 * calls of each, as it does not replace a function while it runs.
 *
 * @returns the shortest run, milliseconds
 */
export async function warmUp(run: () => unknown, { milliseconds, runs }: Warmth): Promise<number> {
  const start = performance.now();
  let shortest = Infinity;
  let elapsed = 0;
  for (let count = 0; count < runs || elapsed < milliseconds; count++) {
    if (elapsed > LONGEST_WARM_UP && count > 0) break;
    const before = performance.now();
    await settled(run());
    const after = performance.now();
    shortest = Math.min(shortest, after - before);
    elapsed = after - start;
  }
  await sleep(COMPILING);
  return shortest;
}

/**
 * A short series of timed runs.
 *
 * @param expected  a run's time, milliseconds
 * @param rest      milliseconds of rest before every run
 * @returns milliseconds a run
 */
export async function burst(
  run: () => unknown,
  expected: number,
  milliseconds: number,
  rest: number,
): Promise<number[]> {
  const together = rest > 0 ? 1 : Math.max(1, Math.ceil(SHORTEST_SAMPLE / expected));
  const samples: number[] = [];
  const start = performance.now();
  // The first run finds caches cold and threads asleep: it counts only where it is the whole burst.
  if (rest === 0 && expected < milliseconds / 2) await settled(run());
  do {
    if (rest > 0) await sleep(rest);
    const before = performance.now();
    for (let i = 0; i < together; i++) {
      const result = run();
      if (result instanceof Promise) await result;
    }
    samples.push((performance.now() - before) / together);
  } while (performance.now() - start < milliseconds);
  return samples;
}

/** The fastest of several warm ways to do one thing. */
export async function fastest<T extends { run(): unknown }>(
  ways: readonly T[],
  warmth: Warmth,
): Promise<{ way: T; expected: number }> {
  const times: number[] = [];
  for (const way of ways) times.push(await warmUp(() => way.run(), warmth));
  const expected = smallest(times);
  const way = ways[times.indexOf(expected)];
  if (!way) throw new Error("bench: a peer must name at least one variant, got none");
  return { way, expected };
}

async function settled(result: unknown): Promise<void> {
  if (result instanceof Promise) await result;
}
