/** What the files of a model folder say twice, held against each other before any of it is used. */
import { FormatError, StateError } from "../errors.js";
import type { WeightValues } from "../io/weights.js";
import type { Module } from "../nn/module.js";
import { showShape } from "../tensor/check.js";

export type Weights = ReadonlyMap<string, WeightValues>;

/**
 * The model with the file's weights.
 *
 * @throws {FormatError} CONFIG_WEIGHTS: what does not fit is the file's fault, not the caller's
 */
export function withWeights<M extends Module>(model: M, weights: Weights, name: string): M {
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
 * Every id of the tokenizer, and the padding, has a row in the embedding.
 *
 * @param fields  sizes of embeddings by their names in config.json
 * @throws {FormatError} CONFIG_TOKENIZER
 */
export function expectVocabulary(
  fields: Readonly<Record<string, number>>,
  { vocabSize, padding }: { readonly vocabSize: number; readonly padding: number },
  name: string,
): void {
  for (const [field, size] of Object.entries(fields))
    if (size < vocabSize || padding >= size)
      throw new FormatError(
        "CONFIG_TOKENIZER",
        `${name}: ${field} must cover the tokenizer's ${vocabSize} tokens and padding ${padding}, got ${size}`,
      );
}
