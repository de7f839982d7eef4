import { describe, expect, test } from "vitest";
import { FormatError } from "../../src/errors.js";
import { parseCheckpoint, serializeCheckpoint } from "../../src/io/checkpoint.js";
import { parseSafetensors, serializeSafetensors } from "../../src/io/safetensors.js";
import type { TrainingState } from "../../src/train/trainer.js";

const STATE: TrainingState = {
  about: "200 pairs (0123abcd) in batches of 10 by seed 4",
  epoch: 3,
  batch: 17,
  step: 1234,
  skipped: 2,
  seedState: 2 ** 32 - 1,
  loss: 2.345678901234567,
  best: 0.1 + 0.2,
  stale: 1,
  tensors: new Map([
    ["model.weight", Float32Array.of(1.5, -0, 3.4e38, 1e-45)],
    ["optimizer.steps.weight", Float32Array.of(1234)],
    ["model.empty", new Float32Array()],
  ]),
};

/** The bytes of STATE, with the JSON of its place changed. */
function withPlace(change: (place: Record<string, unknown>) => unknown): Uint8Array {
  const { metadata, tensors } = parseSafetensors(serializeCheckpoint(STATE));
  const place = change(JSON.parse(metadata.get("training") as string));
  return serializeSafetensors(tensors, new Map([["training", JSON.stringify(place)]]));
}

function withWeight(x: number): Uint8Array {
  const tensors = new Map([["model.weight", Float32Array.of(1, x)]]);
  return serializeCheckpoint({ ...STATE, tensors });
}

describe("parseCheckpoint()", () => {
  test("gives back what was serialized, to the bit", () => {
    expect(parseCheckpoint(serializeCheckpoint(STATE), "c")).toEqual(STATE);
    const fresh = { ...STATE, loss: null, best: null };
    expect(parseCheckpoint(serializeCheckpoint(fresh), "c")).toEqual(fresh);
  });

  test("takes files that say less", () => {
    const older = withPlace(({ about, skipped, loss, ...place }) => place);
    expect(parseCheckpoint(older, "c")).toEqual({ ...STATE, about: "", skipped: 0, loss: null });
  });

  test.each<[string, () => Uint8Array, string]>([
    ["no place", () => serializeSafetensors(new Map()), 'c: a checkpoint must hold "training"'],
    ["an array for a place", () => withPlace(() => []), "c: training: the value must be an object"],
    ["a missing field", () => withPlace(({ epoch, ...place }) => place), '"epoch" must be'],
    ["a negative step", () => withPlace((place) => ({ ...place, step: -1 })), '"step" must be'],
    ["half a batch", () => withPlace((place) => ({ ...place, batch: 1.5 })), '"batch" must be'],
    ["a large seed", () => withPlace((place) => ({ ...place, seedState: 2 ** 32 })), '"seedState"'],
    ["a text for a loss", () => withPlace((place) => ({ ...place, loss: "2" })), '"loss" must be'],
    ["a weight that is none", () => withWeight(Number.NaN), '"model.weight" must hold finite'],
    ["an endless weight", () => withWeight(-Infinity), "got -Infinity at 1"],
    ["an end too soon", () => serializeCheckpoint(STATE).subarray(0, -1), "c: "],
    ["nothing", () => new Uint8Array(), "c: "],
  ])("refuses a file with %s", (_, bytes, message) => {
    expect(() => parseCheckpoint(bytes(), "c")).toThrow(FormatError);
    expect(() => parseCheckpoint(bytes(), "c")).toThrow(message);
  });
});
