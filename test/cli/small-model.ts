import { readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type ModelToSave, writeModelFolder } from "../../src/io/save.js";
import { packWeights } from "../../src/io/weights.js";
import { QuestionAnsweringModel } from "../../src/models/question-answering-model.js";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import type { Module } from "../../src/nn/module.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { MARK_ROWS } from "../../src/tasks/question-reader.js";
import { withRuntime } from "../support/runtime.js";

const TRANSLATOR = "models/translate-en-es";
const SIZES = { embedding: 4, hidden: 4, layers: 1, padding: 0 };

/** Writes a translator whose weights are drawn: what it says is babble, but it is quick. */
export async function writeSmallModel(folder: string): Promise<void> {
  const { sourceVocab, targetVocab } = JSON.parse(
    readFileSync(`${TRANSLATOR}/config.json`, "utf8"),
  );
  const config = { sourceVocab, targetVocab, ...SIZES };
  const about = { task: "translate", architecture: "Seq2Seq", ...config };
  await write(folder, about, (runtime) => new Seq2Seq(runtime, config));
}

/** The same for a summarizer. */
export async function writeSmallSummarizer(folder: string): Promise<void> {
  const { sourceVocab: vocab } = JSON.parse(readFileSync(`${TRANSLATOR}/config.json`, "utf8"));
  const config = { vocab, ...SIZES };
  const about = { task: "summarize", architecture: "SummarizationModel", ...config };
  await write(
    folder,
    { ...about, sourceTokens: 40 },
    (runtime) => new SummarizationModel(runtime, config),
  );
}

/** The same for a model that answers questions. */
export async function writeSmallAnswerer(folder: string): Promise<void> {
  const { sourceVocab } = JSON.parse(readFileSync(`${TRANSLATOR}/config.json`, "utf8"));
  const config = { ...SIZES, vocab: sourceVocab + MARK_ROWS, heads: 2, window: 64, noAnswer: 2 };
  const about = { task: "answer", architecture: "QuestionAnsweringModel", ...config };
  await write(folder, about, (runtime) => new QuestionAnsweringModel(runtime, config));
}

async function write(
  folder: string,
  config: ModelToSave["config"],
  build: (runtime: Runtime) => Module,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await withRuntime({ splitting: false, poison: false }, async (runtime) => {
    runtime.seed(3);
    const weights = new Map(
      [...build(runtime).stateDict()].map(([name, weight]) => [
        name,
        { shape: weight.shape, values: weight.read() as Float32Array },
      ]),
    );
    const write = async (files: ReadonlyMap<string, Uint8Array>): Promise<void> => {
      for (const [file, bytes] of files) writeFileSync(join(folder, file), bytes);
    };
    await writeModelFolder(write, {
      config,
      tensors: packWeights(weights, "f16"),
      tokenizer: readFileSync(`${TRANSLATOR}/tokenizer.json`),
    });
  });
}
