/** Commands as they are used: from the start of the process to the answer. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bench } from "./harness/bench.js";

const PROGRAM = file("dist/cli.mjs");

interface Command {
  readonly model: string;
  readonly args: readonly string[];
  /** What standard output has once the answer is there. */
  readonly answer: RegExp;
}

const COMMANDS: readonly Command[] = [
  {
    model: "translate-en-es",
    args: ["translate", "--plain", "The black cat sleeps."],
    answer: /\S\n/,
  },
  {
    model: "summarize-en",
    args: ["summarize", "Kishleyevo is a rural locality in Sobinsky District, Russia."],
    answer: /\S\n/,
  },
  {
    model: "answer-en",
    args: [
      ...["answer", "--question", "Who built the bridge?"],
      ...["--context", "The bridge was built by two brothers in 1742."],
    ],
    answer: /\S\n/,
  },
  {
    model: "disambiguate-en",
    args: ["disambiguate", "--word", "bank", "We sat by the river bank."],
    answer: /river \d/,
  },
  {
    model: "long-range-en",
    args: ["long-range", "The cat that slept by the window jumped."],
    answer: /\n\d+ .*\d\n/,
  },
];

export const benches: readonly Bench[] = COMMANDS.map(({ model, args, answer }) => ({
  name: `heed ${args[0]}, process start to its answer`,
  threads: [1],
  ownScope: true,
  warmRuns: 1,
  missing: () => {
    if (!existsSync(PROGRAM)) return "dist/cli.mjs must be built. npm run build";
    return existsSync(file(`models/${model}/model.safetensors`))
      ? null
      : `models/${model} must be there`;
  },
  setup: () => async () => {
    await answered(args, answer);
    return [];
  },
  bars: { milliseconds: [1000, 300] },
}));

async function answered(args: readonly string[], answer: RegExp): Promise<void> {
  const program = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  await new Promise<void>((resolve, reject) => {
    program.on("error", reject);
    program.on("exit", (code) => reject(new Error(`heed ${args[0]} ended with ${code}`)));
    program.stdout.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (answer.test(text)) resolve();
    });
  });
  program.kill();
}

function file(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}
