import type { Bar, Bars, Bench } from "./bench.js";
import type { SampledValues } from "./engine.js";
import type { BenchResult, Timing } from "./rounds.js";
import { median, quantile, smallest } from "./statistics.js";

export type Verdict = "aim" | "met" | "below";

/** One of heed's times, and how it stands to another's. */
export interface Comparison {
  readonly threads: number;
  /** heed's milliseconds a run: the best of all, and the median of the rounds' best. */
  readonly best: number;
  readonly median: number;
  /** What it is compared with; null where the time itself is judged, or nothing is. */
  readonly against: string | null;
  /** The other's milliseconds: the best of all. For the limit, the time it would need at least. */
  readonly otherBest: number | null;
  /** Median and quartiles over the rounds of the other's time / ours. */
  readonly ratio: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly bar: Bar | null;
  readonly verdict: Verdict | null;
}

const PEERS_IN_WASM = ["onnxruntime-web", "tfjs-wasm"];
const TOLERANCE = 1e-4;

/** All comparisons that a bench's timings allow, heed's threads one by one. */
export function compareTimings({ bench, timings }: BenchResult): Comparison[] {
  const timed = timings.filter(({ rounds }) => rounds.length > 0);
  const find = (engine: string, threads: number): Timing | undefined =>
    timed.find((one) => one.engine === engine && one.threads === threads);
  const bestPeer = (threads: number): number[] | null =>
    shortest(PEERS_IN_WASM.map((engine) => bests(find(engine, threads))));
  return timed
    .filter(({ engine }) => engine === "heed")
    .flatMap((ours) => {
      const { threads } = ours;
      const others: [string, number[] | null][] = [
        ["limit", limitBests(find("limit", threads), ours)],
        ...["onnxruntime-web", "tfjs-wasm", "pytorch"].map((engine): [string, number[] | null] => [
          engine,
          bests(find(engine, threads)),
        ]),
        ["best wasm peer", bench.bars?.["best wasm peer"] ? bestPeer(threads) : null],
        ["1 thread", threads > 1 ? bests(find("heed", 1)) : null],
      ];
      const rows = others.flatMap(([against, theirs]) =>
        theirs ? [compare(bench, ours, against, theirs)] : [],
      );
      return rows.length ? rows : [alone(bench, ours)];
    });
}

/** What is wrong with the results: peers' against ours, two threads' against one's. */
export function wrongResults({ bench, timings }: BenchResult): string[] {
  const ours = timings.find(({ engine, error }) => engine === "heed" && error === null);
  if (!ours?.values) return [];
  return timings.flatMap(({ engine, threads, values }) => {
    if (!values || values.length === 0 || engine === "limit" || !ours.values) return [];
    const allowed = engine === "heed" ? 0 : (bench.tolerance ?? TOLERANCE);
    const off = difference(values, ours.values);
    return off <= allowed
      ? []
      : [
          `${bench.name}: ${engine} on ${threads} must give heed's result within ${allowed}, got ${off.toExponential(1)}`,
        ];
  });
}

function compare(bench: Bench, ours: Timing, against: string, theirs: number[]): Comparison {
  const own = bests(ours) ?? [];
  const rounds = Math.min(own.length, theirs.length);
  const ratios = Array.from(
    { length: rounds },
    (_, i) => (theirs[i] as number) / (own[i] as number),
  );
  const ratio = median(ratios);
  const bar = barOf(bench.bars ?? {}, against, ours.threads);
  return {
    ...timesOf(ours),
    against,
    otherBest: smallest(theirs),
    ratio,
    low: quantile(ratios, 0.25),
    high: quantile(ratios, 0.75),
    bar,
    verdict: bar && judge(ratio, bar),
  };
}

function alone(bench: Bench, ours: Timing): Comparison {
  const times = timesOf(ours);
  const bar = bench.bars?.milliseconds ?? null;
  // The smaller the better: judged as ratios of the bar to the time.
  const verdict = bar && judge(1 / times.median, [1 / bar[0], 1 / bar[1]]);
  const nothing = { against: null, otherBest: null, ratio: null, low: null, high: null };
  return { ...times, ...nothing, bar, verdict };
}

function timesOf(ours: Timing): Pick<Comparison, "threads" | "best" | "median"> {
  const own = bests(ours) ?? [];
  return { threads: ours.threads, best: smallest(own), median: median(own) };
}

/** Bars hold for one thread each, but for those that say otherwise. */
function barOf(bars: Bars, against: string, threads: number): Bar | null {
  const wanted = against === "pytorch" || against === "1 thread" ? 2 : 1;
  return threads === wanted ? (bars[against as keyof Bars] ?? null) : null;
}

function judge(ratio: number, [atLeast, aim]: Bar): Verdict {
  if (ratio >= aim) return "aim";
  return ratio >= atLeast ? "met" : "below";
}

/** The shortest run of every round. */
function bests(timing: Timing | undefined): number[] | null {
  return timing ? timing.rounds.map(smallest) : null;
}

/** How long the limit would need for our work, round by round. */
function limitBests(limit: Timing | undefined, ours: Timing): number[] | null {
  if (!limit?.work || !ours.work) return null;
  const scale = ours.work / limit.work;
  return limit.rounds.map((samples) => smallest(samples) * scale);
}

/** The shortest of several, round by round. */
function shortest(peers: readonly (number[] | null)[]): number[] | null {
  const there = peers.filter((rounds) => rounds !== null);
  if (there.length === 0) return null;
  const rounds = Math.min(...there.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, i) => smallest(there.map((one) => one[i] as number)));
}

/** Largest |Δ| over max(1, max |wanted|). */
function difference(got: SampledValues, wanted: SampledValues): number {
  if (got.length !== wanted.length) return Infinity;
  let worst = 0;
  let scale = 1;
  wanted.at.forEach((value, index) => {
    scale = Math.max(scale, Math.abs(value));
    // null stands for NaN in JSON.
    const off = Math.abs((got.at[index] ?? Number.NaN) - (value ?? Number.NaN));
    worst = Math.max(worst, Number.isNaN(off) ? Infinity : off);
  });
  return worst / scale;
}
