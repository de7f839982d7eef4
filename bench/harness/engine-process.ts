// One engine in a process of its own: answers the questions of engine.ts, a line of JSON each.
// node … engine-process.ts <engine> <threads>
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.js";
import { allBenches } from "./benches.js";
import { type Answer, type Engine, type Prepared, type Question, sampleValues } from "./engine.js";
import { burst, fastest } from "./timing.js";

const ENGINES: Readonly<Record<string, string>> = {
  heed: "../engines/heed.js",
  limit: "../engines/limit.js",
  "onnxruntime-web": "../thirdparty/onnxruntime-web.js",
  "tfjs-wasm": "../thirdparty/tfjs-wasm.js",
};
/** Runs before timing starts, where a bench does not say. */
const WARM_RUNS = 4;
/** Milliseconds of one look at the processor time, and how many looks there are at most. */
const LOOK = 3;
const MOST_LOOKS = 30;
/** The share of a core that a process of sleeping threads stays below. */
const ASLEEP = 0.25;

const [name = "", threads = ""] = process.argv.slice(2);
quieten();
const benches = await allBenches();
let engine: Engine | null = null;
let ready: { bench: Bench; way: Prepared; expected: number } | null = null;
let left = process.cpuUsage();

await reply(async () => {
  const module = (await import(ENGINES[name] ?? name)) as {
    start(threads: number): Promise<Engine>;
  };
  engine = await module.start(Number(threads));
  return { version: engine.version };
});
for await (const line of createInterface({ input: process.stdin }))
  await reply(() => answer(JSON.parse(line) as Question));
process.exit(0);

async function reply(work: () => Promise<Answer>): Promise<void> {
  let result: Answer;
  try {
    result = await work();
  } catch (error) {
    result = { error: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
  left = process.cpuUsage();
}

async function answer(question: Question): Promise<Answer> {
  if (question.ask === "prepare") return prepare(question.bench, question.warm);
  if (!ready) throw new Error(`bench: ${name} must be prepared first, got "${question.ask}"`);
  if (question.ask === "burst") return time(ready, question.milliseconds);
  await ready.way.release();
  ready = null;
  return {};
}

async function prepare(wanted: string, milliseconds: number): Promise<Answer> {
  const bench = benches.find((one) => one.name === wanted);
  if (!bench || !engine) throw new Error(`bench: there must be a bench "${wanted}", got none`);
  const ways = await engine.prepare(bench);
  const results = new Map<Prepared, Answer["values"]>();
  // Before anything else: a training step must be the first one.
  for (const way of ways) results.set(way, sampleValues(await way.values()));
  const runs = bench.warmRuns ?? WARM_RUNS;
  const { way, expected } = await fastest(ways, { milliseconds, runs });
  for (const other of ways) if (other !== way) await other.release();
  ready = { bench, way, expected };
  const values = results.get(way);
  return {
    ...(way.variant !== undefined && { variant: way.variant }),
    ...(way.work !== undefined && { work: way.work }),
    ...(values && { values }),
  };
}

async function time(
  { bench, way, expected }: { bench: Bench; way: Prepared; expected: number },
  milliseconds: number,
): Promise<Answer> {
  const resting = processorTime(process.cpuUsage(left));
  const before = process.cpuUsage();
  const samples = await burst(() => way.run(), expected, milliseconds, bench.rest ?? 0);
  await threadsAsleep();
  const busy = processorTime(process.cpuUsage(before));
  return { samples, busy, resting };
}

/** Threads look for more work for a while, some for 20 ms: the next engine must not meet them. */
async function threadsAsleep(): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const before = process.cpuUsage();
    await sleep(LOOK);
    if (processorTime(process.cpuUsage(before)) < LOOK * ASLEEP) return;
  }
}

/** Milliseconds over all threads. */
function processorTime({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

/** Standard output belongs to the answers: what engines tell goes to the other stream. */
function quieten(): void {
  console.log = console.error;
  console.info = console.error;
  console.warn = () => {};
}
