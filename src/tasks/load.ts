import { FormatError, StateError } from "../errors.js";
import { flag, integer, oneOf, optional, readFields, real } from "../io/fields.js";
import { type ModelSource, readModelFolder } from "../io/model-folder.js";
import { loadTokenizer } from "../io/tokenizer.js";
import { unpackWeights, type WeightValues } from "../io/weights.js";
import { Seq2Seq, type Seq2SeqConfig } from "../models/seq2seq.js";
import { withoutInit } from "../nn/init.js";
import type { Runtime } from "../runtime/runtime.js";
import { showShape } from "../tensor/check.js";
import { Translator } from "./translate.js";

/** What config.json of a translator holds. */
const FIELDS = {
  task: oneOf("translate"),
  architecture: oneOf("Seq2Seq"),
  sourceVocab: integer(1, 1_000_000),
  targetVocab: integer(1, 1_000_000),
  embedding: integer(1, 16_384),
  hidden: integer(1, 16_384),
  layers: integer(1, 64),
  dropout: optional(real(0, 1), 0),
  bidirectional: optional(flag(), false),
  padding: integer(0, 999_999),
} as const;

/**
 * The task that a model folder holds.
 *
 * @throws {FormatError} a file is missing or broken, or the files contradict each other
 */
export async function loadTask(runtime: Runtime, source: ModelSource): Promise<Translator> {
  const folder = await readModelFolder(source);
  const config = readFields(folder.config, FIELDS, `${source.name}: config.json`);
  const weights = unpackWeights(folder.tensors, `${source.name}: model.safetensors`);
  const tokenizer = loadTokenizer(folder.tokenizer);
  agree(config, weights, tokenizer.vocabSize, source.name);
  return runtime.guarded(() => {
    const model = withoutInit(() => new Seq2Seq(runtime, config));
    return new Translator(loaded(model, weights, source.name), tokenizer);
  });
}

/** The model with the file's weights; what does not fit is the file's fault, not the caller's. */
function loaded(model: Seq2Seq, weights: ReadonlyMap<string, WeightValues>, name: string): Seq2Seq {
  const known = model.stateDict();
  const fits =
    known.size === weights.size &&
    [...known].every(
      ([key, { shape }]) => showShape(weights.get(key)?.shape ?? []) === showShape(shape),
    );
  try {
    return model.load(weights);
  } catch (error) {
    if (fits || !(error instanceof StateError)) throw error;
    throw new FormatError("CONFIG_WEIGHTS", `${name}: model.safetensors: ${error.message}`);
  }
}

/** The sizes that config.json and the weights both tell, held against each other before any is used. */
function agree(
  config: Seq2SeqConfig,
  weights: ReadonlyMap<string, WeightValues>,
  vocab: number,
  name: string,
): void {
  const { sourceVocab, targetVocab, embedding, hidden, padding } = config;
  const told: [string, readonly number[]][] = [
    ["encoder.embedding.weight", [sourceVocab, embedding]],
    ["decoder.embedding.weight", [targetVocab, embedding]],
    ["encoder.rnn.weight_hh_l0", [4 * hidden, hidden]],
  ];
  for (const [weight, shape] of told) {
    const came = weights.get(weight)?.shape;
    if (came?.length !== 2 || came.some((length, axis) => length !== shape[axis]))
      throw new FormatError(
        "CONFIG_WEIGHTS",
        `${name}: "${weight}" must be [${shape.join(", ")}] as config.json says, got ${
          came ? `[${came.join(", ")}]` : "no such tensor"
        }`,
      );
  }
  for (const [field, size] of [
    ["sourceVocab", sourceVocab],
    ["targetVocab", targetVocab],
  ] as const)
    if (size < vocab || padding >= size)
      throw new FormatError(
        "CONFIG_TOKENIZER",
        `${name}: ${field} must cover the tokenizer's ${vocab} tokens and padding ${padding}, got ${size}`,
      );
}
