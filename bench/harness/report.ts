import type { Bench } from "./bench.js";
import { type Comparison, compareTimings, wrongResults } from "./compare.js";
import type { BenchResult } from "./rounds.js";
import { median, smallest } from "./statistics.js";

/** Everything one run of the benches found out. */
export interface Report {
  readonly date: string;
  readonly command: string;
  readonly machine: string;
  readonly node: string;
  /** Versions of the peers that ran, by name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly seconds: number;
  /** Median over the benches: processor time that others used meanwhile, cores. */
  readonly others: number;
  readonly results: readonly BenchResult[];
  /** Sentences: what was not run, and why. */
  readonly notes: readonly string[];
}

const WORDS = { aim: "aim", met: "met", below: "BELOW" } as const;
/** Above this share of a core, what others did may have changed the figures. */
const DISTURBED = 0.1;

/** The table for a terminal, at most 80 columns wide. */
export function terminalTable(report: Report): string {
  const head = ["threads", "heed best / median", "against", "ratio", "quartiles", "bars"];
  const lines = report.results.flatMap((result) => [
    "",
    `${result.bench.name}${rates(result)}`,
    ...compareTimings(result).map((row) =>
      line([
        String(row.threads),
        `${time(row.best)} / ${time(row.median)}`,
        row.against ?? "",
        row.ratio === null ? "" : ratio(row.ratio),
        row.low === null || row.high === null ? "" : `${ratio(row.low)}–${ratio(row.high)}`,
        row.bar ? `${bars(row)} ${WORDS[row.verdict ?? "below"]}` : "",
      ]),
    ),
  ]);
  return [line(head), ...lines, "", ...remarks(report)].join("\n");
}

/** docs/benchmarks.md. */
export function markdownPage(report: Report): string {
  const rows = report.results.flatMap((result) =>
    compareTimings(result).map(
      (row, index) =>
        `| ${[
          index === 0 ? `${result.bench.name}${rates(result)}` : "",
          row.threads,
          `${time(row.best)} / ${time(row.median)}`,
          row.against ?? "",
          row.otherBest === null ? "" : time(row.otherBest),
          row.ratio === null ? "" : ratio(row.ratio),
          row.low === null || row.high === null ? "" : `${ratio(row.low)}–${ratio(row.high)}`,
          row.bar ? bars(row) : "",
          row.verdict ? WORDS[row.verdict] : "",
        ].join(" | ")} |`,
    ),
  );
  return `# Benchmarks

Made by \`${report.command}\` on ${report.date.slice(0, 10)}: do not edit.

- ${[report.machine, `Node ${report.node}`, ...versions(report)].join(", ")}.
- One process for each engine and number of threads. All of them have a short burst of runs in every round,
  in another order each time, so a ratio compares one moment; the ratio is the other's time over heed's, its
  median and quartiles over the rounds, taken from the shortest run of each burst. Above 1 heed is faster.
- "limit" is the same number of flops as f32x4 multiplications and additions in registers, or the same number of
  bytes read, by a WebAssembly loop that does nothing else: the ratio is the share of it that is reached.
- Results stay in each engine's own memory; inputs are there before, but for onnxruntime-web, which copies them
  at every call. Where a peer has several ways, the fastest one counts. Every peer's result is compared with heed's.
- Bars: at least, and the aim. "1 thread" is heed itself on one thread. The rates after the names are heed's best
  on the fewest threads.
${remarks(report)
  .map((remark) => `- ${remark}\n`)
  .join("")}
| what | threads | heed: best / median | against | its best | ratio | quartiles | bars | |
| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |
${rows.join("\n")}
`;
}

/** What is kept of a run: the report, with all comparisons and every burst in milliseconds. */
export function jsonReport(report: Report): string {
  const results = report.results.map((result) => ({
    name: result.bench.name,
    work: result.bench.work,
    others: result.others,
    resting: result.resting,
    comparisons: compareTimings(result),
    wrong: wrongResults(result),
    timings: result.timings.map(({ values, rounds, ...timing }) => ({
      ...timing,
      bursts: rounds.map((runs) => ({
        runs: runs.length,
        shortest: smallest(runs),
        median: median(runs),
      })),
    })),
  }));
  return `${JSON.stringify({ ...report, results }, null, 1)}\n`;
}

/** Sentences under the table: what was wrong, was not run, or disturbed the figures. */
export function remarks({ results, notes, others }: Report): string[] {
  const busy = `Other programs used ${others.toFixed(2)} cores meanwhile`;
  const resting = Math.max(0, ...results.map((result) => result.resting));
  return [
    ...results.flatMap(wrongResults),
    ...results.flatMap(({ bench, timings }) =>
      timings.flatMap(({ threads, error }) =>
        error === null ? [] : [`${bench.name}, ${threads} threads: ${error}`],
      ),
    ),
    ...notes,
    `${busy}${others > DISTURBED ? ": take no figure from this run" : ""}.`,
    ...(resting > DISTURBED
      ? [`Engines used ${resting.toFixed(2)} cores while others were timed.`]
      : []),
  ];
}

/** ", 51.2 GFLOP/s": heed's best on the fewest threads. */
function rates({ bench, timings }: BenchResult): string {
  const ours = timings.find(({ engine, rounds }) => engine === "heed" && rounds.length > 0);
  if (!ours || !bench.work) return "";
  const best = smallest(ours.rounds.map(smallest));
  const [amount, unit] = amountOf(bench.work);
  return `, ${digits(amount / best / 1e6)} ${unit}`;
}

function amountOf(work: NonNullable<Bench["work"]>): [number, string] {
  return "flops" in work ? [work.flops, "GFLOP/s"] : [work.bytes, "GB/s"];
}

function versions({ versions: all }: Report): string[] {
  return Object.entries(all).map(([name, version]) => `${name} ${version}`);
}

const WIDTHS = [7, 19, 15, 5, 9, 16] as const;

function line(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0))
    .join(" ")
    .trimEnd();
}

function bars({ bar, against }: Comparison): string {
  if (!bar) return "";
  return against === null ? `${time(bar[0])}, ${time(bar[1])}` : `${bar[0]}, ${bar[1]}`;
}

/** Milliseconds as a reader wants them. */
function time(milliseconds: number): string {
  if (milliseconds < 0.1) return `${digits(milliseconds * 1000)} µs`;
  return milliseconds < 1000 ? `${digits(milliseconds)} ms` : `${digits(milliseconds / 1000)} s`;
}

function ratio(value: number): string {
  return value < 10 ? value.toFixed(2) : digits(value);
}

/** Three digits. */
function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

export function medianOthers(results: readonly BenchResult[]): number {
  return results.length ? median(results.map(({ others }) => others)) : 0;
}
