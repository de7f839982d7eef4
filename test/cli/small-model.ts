import { readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeModelFolder } from "../../src/io/save.js";
import { packWeights } from "../../src/io/weights.js";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { withRuntime } from "../support/runtime.js";

/** Writes a translator whose weights are drawn: what it says is babble, but it is quick. */
export async function writeSmallModel(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const tokenizer = readFileSync("models/translate-en-es/tokenizer.json");
  const { sourceVocab, targetVocab } = JSON.parse(
    readFileSync("models/translate-en-es/config.json", "utf8"),
  );
  const config = { sourceVocab, targetVocab, embedding: 4, hidden: 4, layers: 1, padding: 0 };
  await withRuntime({ splitting: false, poison: false }, async (runtime) => {
    runtime.seed(3);
    const weights = new Map(
      [...new Seq2Seq(runtime, config).stateDict()].map(([name, weight]) => [
        name,
        { shape: weight.shape, values: weight.read() as Float32Array },
      ]),
    );
    await writeModelFolder(async (file, bytes) => writeFileSync(join(folder, file), bytes), {
      config: { task: "translate", architecture: "Seq2Seq", ...config },
      tensors: packWeights(weights, "f16"),
      tokenizer,
    });
  });
}
