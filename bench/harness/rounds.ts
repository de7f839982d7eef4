import { cpus } from "node:os";
import type { Bench } from "./bench.js";
import type { Answer, SampledValues } from "./engine.js";
import type { EngineClient, EngineName } from "./engine-client.js";

/** How much time a run takes for a bench. */
export interface Pace {
  /** Milliseconds that an engine warms up. */
  readonly warm: number;
  /** Milliseconds of a burst. */
  readonly burst: number;
  /** Milliseconds after which no further round begins. */
  readonly budget: number;
  readonly leastRounds: number;
  readonly mostRounds: number;
}

/** What one engine did in one bench. */
export interface Timing {
  readonly engine: EngineName;
  readonly threads: number;
  readonly variant: string | null;
  /** Flops or bytes of one run. */
  readonly work: number | null;
  readonly values: SampledValues | null;
  /** Milliseconds a run, round by round. */
  readonly rounds: number[][];
  /** Processor milliseconds that it used between its bursts. */
  resting: number;
  /** A sentence when it could not. */
  error: string | null;
}

export interface BenchResult {
  readonly bench: Bench;
  readonly timings: Timing[];
  /** Processor time that no engine used while they were timed, cores. */
  readonly others: number;
  /** Processor time that engines used while they were not the ones that were timed, cores. */
  readonly resting: number;
}

/**
 * Times a bench in all engines: in rounds, in each of which every engine has one short burst, in
 * another order every time; the next one begins when the last one's threads sleep. So a slow phase of the machine falls on all of them, and the ratios of
 * one round are those of one moment.
 */
export async function timeBench(
  bench: Bench,
  clients: readonly EngineClient[],
  pace: Pace,
): Promise<BenchResult> {
  const timings: Timing[] = [];
  const running: { client: EngineClient; timing: Timing }[] = [];
  for (const client of clients.filter((one) => takesPart(one, bench))) {
    const timing = await prepare(client, bench, pace);
    timings.push(timing);
    if (timing.error === null) running.push({ client, timing });
  }

  const start = performance.now();
  const before = machineTime();
  let busy = process.cpuUsage();
  let engines = 0;
  const hear = (timing: Timing, { samples = [], busy = 0, resting = 0 }: Answer): void => {
    engines += busy;
    // Before the first burst it was warming up.
    if (timing.rounds.length > 0) timing.resting += resting;
    timing.rounds.push([...samples]);
  };
  for (let round = 0; round < pace.mostRounds; round++) {
    if (round >= pace.leastRounds && performance.now() - start > pace.budget) break;
    for (let i = 0; i < running.length; i++) {
      const { client, timing } = running[(i + round) % running.length] as (typeof running)[0];
      if (timing.error !== null) continue;
      try {
        hear(timing, await client.ask({ ask: "burst", milliseconds: pace.burst }));
      } catch (error) {
        timing.error = messageOf(error);
      }
    }
  }
  busy = process.cpuUsage(busy);
  const elapsed = performance.now() - start;
  const rest = timings.reduce((sum, { resting }) => sum + resting, 0);
  const others = machineTime() - before - engines - rest - (busy.user + busy.system) / 1000;

  for (const { client, timing } of running)
    if (timing.error === null) await client.ask({ ask: "release" });
  return { bench, timings, others: Math.max(0, others / elapsed), resting: rest / elapsed };
}

function takesPart({ engine, threads }: EngineClient, bench: Bench): boolean {
  if (!(bench.threads ?? [1, 2]).includes(threads)) return false;
  if (engine === "heed") return true;
  if (engine === "limit") return bench.work !== undefined;
  return bench.peers?.[engine] !== undefined;
}

async function prepare(client: EngineClient, bench: Bench, pace: Pace): Promise<Timing> {
  const { engine, threads } = client;
  const own = bench.work && ("flops" in bench.work ? bench.work.flops : bench.work.bytes);
  const none = {
    engine,
    threads,
    variant: null,
    values: null,
    rounds: [],
    resting: 0,
    error: null,
  };
  try {
    const { variant, work, values } = await client.ask({
      ask: "prepare",
      bench: bench.name,
      warm: pace.warm,
      ...(engine === "pytorch" && { spec: bench.peers?.pytorch }),
    });
    return { ...none, variant: variant ?? null, work: work ?? own ?? null, values: values ?? null };
  } catch (error) {
    return { ...none, work: null, error: messageOf(error) };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Milliseconds that the machine's cores were busy. */
function machineTime(): number {
  return cpus().reduce(
    (sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq,
    0,
  );
}
