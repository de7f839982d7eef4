// Times heed against the machine's limit and against others, in one run: npm run bench.
//   --filter TEXT   only benches whose name holds it
//   --quick         shorter bursts and fewer rounds
//   --peers LIST    of onnxruntime-web, tfjs-wasm, pytorch; "none" for none; default all that are there
//   --write         also docs/benchmarks.md, after a whole run
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { allBenches } from "./harness/benches.js";
import { wrongResults } from "./harness/compare.js";
import { EngineClient, type EngineName, PEERS, type PeerName } from "./harness/engine-client.js";
import {
  jsonReport,
  markdownPage,
  medianOthers,
  type Report,
  terminalTable,
} from "./harness/report.js";
import { type BenchResult, type Pace, timeBench } from "./harness/rounds.js";

const PACE: Pace = { warm: 250, burst: 25, budget: 8000, leastRounds: 5, mostRounds: 24 };
const QUICK: Pace = { warm: 80, burst: 8, budget: 800, leastRounds: 3, mostRounds: 6 };

const options = readOptions();
const begun = performance.now();
const notes: string[] = [];
const benches = await wantedBenches();
const clients = await startEngines();
const results: BenchResult[] = [];
for (const bench of benches) {
  process.stderr.write(`bench: ${bench.name}\n`);
  results.push(await timeBench(bench, clients, options.quick ? QUICK : PACE));
}
for (const client of clients) client.end();

const report: Report = {
  date: new Date().toISOString(),
  command: ["npm run bench", ...(options.given.length ? ["--"] : []), ...options.given].join(" "),
  machine: `${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores`,
  node: process.versions.node,
  versions: Object.fromEntries(
    clients.filter(({ version }) => version).map(({ engine, version }) => [engine, version]),
  ),
  seconds: Math.round((performance.now() - begun) / 1000),
  others: medianOthers(results),
  results,
  notes,
};
const file = `results/${report.date.slice(0, 19).replaceAll(":", "-")}.json`;
mkdirSync(here("results"), { recursive: true });
writeFileSync(here(file), jsonReport(report));
if (options.write) writeFileSync(here("../docs/benchmarks.md"), markdownPage(report));
console.log(`${terminalTable(report)}\n${report.seconds} s; every burst is in bench/${file}`);
process.exitCode = results.flatMap(wrongResults).length ? 1 : 0;

function readOptions(): {
  readonly filter: string;
  readonly quick: boolean;
  readonly write: boolean;
  readonly peers: readonly PeerName[];
  readonly given: readonly string[];
} {
  const values = parsed();
  const names = values.peers.split(",").filter((name) => name !== "none");
  const unknown = names.find((name) => !PEERS.some((peer) => peer === name));
  if (unknown !== undefined) stop(`--peers must be of ${PEERS.join(", ")}, got "${unknown}"`);
  const given = process.argv.slice(2);
  if (values.write && given.length > 1) stop(`--write needs a whole run, got ${given.join(" ")}`);
  return { ...values, peers: PEERS.filter((peer) => names.includes(peer)), given };
}

function parsed() {
  const options = {
    filter: { type: "string", default: "" },
    quick: { type: "boolean", default: false },
    peers: { type: "string", default: PEERS.join(",") },
    write: { type: "boolean", default: false },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return stop(error instanceof Error ? error.message : String(error));
  }
}

async function wantedBenches() {
  const wanted = (await allBenches()).filter(({ name }) =>
    name.toLowerCase().includes(options.filter.toLowerCase()),
  );
  if (wanted.length === 0) stop(`--filter must be part of a bench's name, got "${options.filter}"`);
  return wanted.filter((bench) => {
    const missing = bench.missing?.() ?? null;
    if (missing !== null) notes.push(`${bench.name} was not run: ${missing}`);
    return missing === null;
  });
}

/** Starts what the benches take part in; a peer that is not there becomes a note. */
async function startEngines(): Promise<EngineClient[]> {
  const uses = (name: EngineName): boolean =>
    name === "heed" || benches.some(({ work, peers }) => (name === "limit" ? work : peers?.[name]));
  const inNode = options.peers.filter((peer) => peer !== "pytorch" && uses(peer));
  if (inNode.length) install();
  const names: EngineName[] = ["heed", "limit", ...options.peers];
  const wanted = names
    .filter(uses)
    .flatMap((name) => (name === "pytorch" ? [2] : [1, 2]).map((threads) => ({ name, threads })));
  const starts = await Promise.allSettled(
    wanted.map(({ name, threads }) => EngineClient.start(name, threads)),
  );
  return starts.flatMap((start, index) => {
    if (start.status === "fulfilled") return [start.value];
    const { name, threads } = wanted[index] as (typeof wanted)[0];
    if (name === "heed" || name === "limit") throw start.reason;
    notes.push(`${name} on ${threads} was not run: ${(start.reason as Error).message}`);
    return [];
  });
}

/** The peers, once; their install scripts would only fetch what is not used. */
function install(): void {
  if (existsSync(here("thirdparty/node_modules"))) return;
  process.stderr.write("bench: installing the peers, once\n");
  const command = "npm ci --ignore-scripts --no-audit --no-fund";
  spawnSync(command, { cwd: here("thirdparty"), stdio: "inherit", shell: true });
}

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

function stop(problem: string): never {
  console.error(`bench: ${problem}`);
  process.exit(2);
}
