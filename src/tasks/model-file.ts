/** What the files of a model folder say twice, held against each other before any of it is used. */
import { FormatError, StateError } from "../errors.js";
import { quote } from "../io/quote.js";
import type { Tokenizer } from "../io/tokenizer.js";
import { firstNotFinite, type WeightValues } from "../io/weights.js";
import type { Module } from "../nn/module.js";
import { showShape } from "../tensor/check.js";

export type Weights = ReadonlyMap<string, WeightValues>;

/**
 * The model with the file's weights.
 *
 * @throws {FormatError} CONFIG_WEIGHTS: what does not fit is the file's fault, not the caller's;
 *   WEIGHT_RANGE a weight is not finite, and with it nothing that the model would say
 */
export function withWeights<M extends Module>(model: M, weights: Weights, name: string): M {
  for (const [key, { values }] of weights) expectFinite(values, key, name);
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

/**
 * Sizes that config.json and the weights both tell: for some weights, the shape that config.json
 * gives them.
 *
 * @throws {FormatError} CONFIG_WEIGHTS
 */
export function expectShapes(
  shapes: Readonly<Record<string, readonly number[]>>,
  weights: Weights,
  name: string,
): void {
  for (const [weight, shape] of Object.entries(shapes)) {
    const came = weights.get(weight)?.shape;
    if (!came || showShape(came) !== showShape(shape))
      throw new FormatError(
        "CONFIG_WEIGHTS",
        `${name}: "${weight}" must be ${showShape(shape)} as config.json says, got ${
          came ? showShape(came) : "no such tensor"
        }`,
      );
  }
}

/**
 * Every id of the tokenizer has a row in the embedding, and the padding is an id that stands for
 * nothing else.
 *
 * @param fields   sizes of embeddings by their names in config.json
 * @param further  rows that stand behind those of the tokens; default 0
 * @throws {FormatError} CONFIG_TOKENIZER
 */
export function expectVocabulary(
  fields: Readonly<Record<string, number>>,
  tokenizer: Tokenizer,
  padding: number,
  name: string,
  further = 0,
): void {
  const rows = tokenizer.vocabSize + further;
  for (const [field, size] of Object.entries(fields))
    if (size < rows)
      throw new FormatError(
        "CONFIG_TOKENIZER",
        `${name}: config.json: "${field}" must be at least ${rows} for this tokenizer, got ${size}`,
      );
  const own = tokenizer.idOf("<pad>");
  const taken = ["<s>", "</s>", "<unk>"].some((token) => tokenizer.idOf(token) === padding);
  if (padding >= tokenizer.vocabSize || taken || (own !== undefined && padding !== own)) {
    const rule = own === undefined ? "that of a token without a meaning" : `that of <pad>, ${own}`;
    throw new FormatError(
      "CONFIG_TOKENIZER",
      `${name}: config.json: "padding" must be ${rule}, got ${padding}`,
    );
  }
}

function expectFinite(values: Float32Array, key: string, name: string): void {
  const at = firstNotFinite(values);
  if (at >= 0)
    throw new FormatError(
      "WEIGHT_RANGE",
      `${name}: model.safetensors: ${quote(key)} must hold finite weights, got ${values[at]} at ${at}`,
    );
}
