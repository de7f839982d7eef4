import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bench } from "./harness/bench.js";

const SENTENCE = "The black cat sleeps.";
const MODEL = file("models/translate-en-es");
const PROGRAM = file("dist/cli.mjs");

const loaded: Bench = {
  name: "translate one sentence, model loaded",
  threads: [1],
  ownScope: true,
  missing: () => missing("config.json", "model.safetensors", "tokenizer.json"),
  async setup(heed) {
    const translator = await heed.load(MODEL);
    return async () => {
      const { score } = await translator.translate(SENTENCE);
      return [score];
    };
  },
  bars: { milliseconds: [30, 10] },
};

/** The whole program, from the start of its process to the line it prints. */
const fromStart: Bench = {
  name: "heed translate, process start to its line",
  threads: [1],
  ownScope: true,
  warmRuns: 1,
  missing: () =>
    existsSync(PROGRAM)
      ? (loaded.missing?.() ?? null)
      : "dist/cli.mjs must be built. npm run build",
  setup: () => async () => {
    await firstLine();
    return [];
  },
  bars: { milliseconds: [1000, 300] },
};

async function firstLine(): Promise<void> {
  const program = spawn(process.execPath, [PROGRAM, "translate", "--plain", SENTENCE], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve, reject) => {
    program.on("error", reject);
    program.on("exit", (code) => reject(new Error(`heed translate ended with ${code}`)));
    program.stdout.once("data", () => resolve());
  });
  await ended;
  program.kill();
}

function missing(...files: string[]): string | null {
  const absent = files.find((name) => !existsSync(`${MODEL}/${name}`));
  return absent ? `models/translate-en-es must be whole, but ${absent} is not there` : null;
}

function file(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

export const benches: readonly Bench[] = [loaded, fromStart];
