/** What every task's loader must refuse, tried on every model that comes along. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { FormatError } from "../../src/errors.js";
import {
  parseSafetensors,
  serializeSafetensors,
  type TensorEntry,
} from "../../src/io/safetensors.js";
import { bytesSource } from "../../src/io/sources.js";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { loadTask, type TaskName } from "../../src/tasks/load.js";
import { withRuntime } from "../support/runtime.js";
import { senseModel } from "../support/sense-model.js";

type Files = Record<string, Uint8Array>;

const models: [name: string, files: Files][] = readdirSync("models", { recursive: true })
  .map(String)
  .filter((path) => path.endsWith("config.json"))
  .map((path) => {
    const folder = join("models", dirname(path));
    const names = ["config.json", "model.safetensors", "tokenizer.json"];
    return [folder, Object.fromEntries(names.map((name) => [name, bytesOf(folder, name)]))];
  });
models.push(["a small model", senseModel()]);

function bytesOf(folder: string, name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(folder, name)));
}

function configOf(files: Files): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(files["config.json"]));
}

/** Loads a model that must be refused, and leaves no memory behind. */
async function refusal(files: Files): Promise<FormatError> {
  return withRuntime({ splitting: false, poison: false }, async (runtime) => {
    const task = configOf(files).task as TaskName;
    const error = await loadTask(runtime, bytesSource(files, "folder"), task).catch(
      (error: unknown) => error,
    );
    expect(error).toBeInstanceOf(FormatError);
    expect(runtime.memory.usedBytes).toBe(0);
    return error as FormatError;
  });
}

/** The bits of what is not finite, by dtype. */
const BROKEN = {
  F32: [0x7fc00000, 0x7f800000, 0xff800000],
  F16: [0x7e00, 0x7c00, 0xfc00],
} as const;

describe.each(models)("%s", (_, files) => {
  const file = parseSafetensors(files["model.safetensors"] as Uint8Array);
  const floats = [...file.tensors].flatMap(([name, { dtype, data }]) =>
    dtype === "F32" || dtype === "F16" ? [{ name, dtype, size: data.byteLength }] : [],
  );

  test("is refused with a weight that is no finite number, at any place of any tensor", async () => {
    expect(floats.length).toBeGreaterThan(0);
    for (const [index, { name, dtype, size }] of floats.entries()) {
      const bits = BROKEN[dtype][index % 3] as number;
      const width = dtype === "F32" ? 4 : 2;
      const at = [0, size - width, Math.floor(size / width / 2) * width][index % 3] as number;
      const entry = file.tensors.get(name) as TensorEntry;
      const data = entry.data.slice();
      const view = new DataView(data.buffer);
      if (dtype === "F32") view.setUint32(at, bits, true);
      else view.setUint16(at, bits, true);
      const tensors = new Map(file.tensors).set(name, { ...entry, data });
      const { code, message } = await refusal({
        ...files,
        "model.safetensors": serializeSafetensors(tensors, file.metadata),
      });
      expect(code).toBe("WEIGHT_RANGE");
      expect(message).toMatch(
        /^folder: model\.safetensors: ".+" must hold finite weights, got (NaN|-?Infinity) at \d+$/,
      );
      expect(message).toContain(`"${name.replace(/\.scale$/, "")}"`);
    }
  });

  const config = configOf(files);
  // A model without padding has nothing to be refused.
  if ("padding" in config)
    test("is refused with a padding that means something else", async () => {
      const tokenizer = loadTokenizer(files["tokenizer.json"] as Uint8Array);
      const taken = ["<s>", "</s>", "<unk>"].flatMap((token) => tokenizer.idOf(token) ?? []);
      for (const padding of [...taken, 7, tokenizer.vocabSize, tokenizer.vocabSize + 3, 999_999]) {
        const changed = new TextEncoder().encode(JSON.stringify({ ...config, padding }));
        const { code, message } = await refusal({ ...files, "config.json": changed });
        expect(code).toBe("CONFIG_TOKENIZER");
        expect(message).toBe(
          `folder: config.json: "padding" must be that of <pad>, 0, got ${padding}`,
        );
      }
    });
});

test("a tokenizer without <pad> leaves the padding to config.json, but for tokens in use", async () => {
  const files = senseModel();
  const text = new TextDecoder().decode(files["tokenizer.json"]).replaceAll("<pad>", "nothing");
  const withPadding = (padding: number): Files => ({
    ...files,
    "tokenizer.json": new TextEncoder().encode(text),
    "config.json": new TextEncoder().encode(JSON.stringify({ ...configOf(files), padding })),
  });
  await withRuntime({}, async (runtime) => {
    const source = bytesSource(withPadding(0));
    (await loadTask(runtime, source, "disambiguate")).dispose();
  });
  for (const padding of [1, 10]) {
    const { message } = await refusal(withPadding(padding));
    expect(message).toBe(
      `folder: config.json: "padding" must be that of a token without a meaning, got ${padding}`,
    );
  }
});
