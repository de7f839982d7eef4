import { FormatError } from "../errors.js";
import type { TrainingState } from "../train/trainer.js";
import { integer, nullable, optional, readFields, real, text } from "./fields.js";
import { parseSafetensors, serializeSafetensors, type TensorData } from "./safetensors.js";
import { parseJson } from "./strict-json.js";
import { firstNotFinite, toFloat32 } from "./weights.js";

const COUNT = integer(0, Number.MAX_SAFE_INTEGER);
const FIELDS = {
  about: optional(text(0, 1000), ""),
  epoch: COUNT,
  batch: COUNT,
  step: COUNT,
  skipped: optional(COUNT, 0),
  seedState: integer(0, 2 ** 32 - 1),
  loss: nullable(real(-Number.MAX_VALUE, Number.MAX_VALUE)),
  best: nullable(real(-Number.MAX_VALUE, Number.MAX_VALUE)),
  stale: COUNT,
} as const;

/** A training state as one safetensors file: tensors in f32, the rest as JSON in its metadata. */
export function serializeCheckpoint(state: TrainingState): Uint8Array {
  const { tensors, ...place } = state;
  const data = new Map<string, TensorData>(
    [...tensors].map(([name, values]) => [
      name,
      { dtype: "F32", shape: [values.length], data: values },
    ]),
  );
  return serializeSafetensors(data, new Map([["training", JSON.stringify(place)]]));
}

/** @throws {FormatError} the bytes are no checkpoint */
export function parseCheckpoint(bytes: Uint8Array, name: string): TrainingState {
  const { metadata, tensors } = parseSafetensors(bytes, name);
  const json = metadata.get("training");
  if (json === undefined)
    throw new FormatError(
      "CHECKPOINT",
      `${name}: a checkpoint must hold "training" in its metadata, got none`,
    );
  const place = readFields(
    parseJson(new TextEncoder().encode(json), { who: `${name}: training` }),
    FIELDS,
    `${name}: training`,
    "CHECKPOINT",
  );
  const values = new Map([...tensors].map(([key, entry]) => [key, toFloat32(entry)]));
  for (const [key, numbers] of values) {
    const at = firstNotFinite(numbers);
    if (at >= 0)
      throw new FormatError(
        "CHECKPOINT",
        `${name}: "${key}" must hold finite numbers, got ${numbers[at]} at ${at}`,
      );
  }
  return { ...place, tensors: values };
}
