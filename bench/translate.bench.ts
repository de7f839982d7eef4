import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Bench } from "./harness/bench.js";

const SENTENCE = "The black cat sleeps.";
const MODEL = file("models/translate-en-es");

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

function missing(...files: string[]): string | null {
  const absent = files.find((name) => !existsSync(`${MODEL}/${name}`));
  return absent ? `models/translate-en-es must be whole, but ${absent} is not there` : null;
}

function file(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

export const benches: readonly Bench[] = [loaded];
