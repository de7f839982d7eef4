import { join } from "node:path";
import { HeedError } from "../errors.js";
import { readModelFolder } from "../io/model-folder.js";
import type { ModelToSave } from "../io/save.js";
import {
  type JsonObject,
  JsonReal,
  type JsonValue,
  parseJson,
  showJson,
} from "../io/strict-json.js";
import { unpackWeights } from "../io/weights.js";
import type { Module } from "../nn/module.js";
import { folderSource } from "../platform/node-files.js";
import { withWeights } from "../tasks/model-file.js";
import { fingerprint, type Lesson } from "../tasks/training.js";

/** Fields of config.json that weights do not depend on: how a model is trained, read or shown. */
const FREE = new Set(
  "dropout window sourceTokens temperature noAnswer familiarity forms examples".split(" "),
);

/** The model folder that training begins with. */
export interface Beginning {
  readonly tokenizer: { readonly bytes: Uint8Array; readonly file: string };
  /**
   * The lesson, begun with the folder's weights.
   *
   * @param config  of the model to be trained
   * @throws {HeedError} the folder's model is another one
   */
  lesson<M extends Module, Item>(
    lesson: Lesson<M, Item>,
    config: ModelToSave["config"],
  ): Lesson<M, Item>;
}

/**
 * @param task  what config.json must say
 * @throws {HeedError} it says something else
 * @throws {FormatError} a file is missing or broken
 */
export async function readBeginning(folder: string, task: string): Promise<Beginning> {
  const { config, tensors, tokenizer } = await readModelFolder(folderSource(folder));
  const held = config.get("task");
  if (held !== task)
    throw new HeedError(
      `train: ${folder} must hold a model for ${JSON.stringify(task)}, got one for ${showJson(held)}. Give another with --from`,
    );
  const weights = unpackWeights(tensors, `${folder}: model.safetensors`);
  return {
    tokenizer: { bytes: tokenizer, file: join(folder, "tokenizer.json") },
    lesson: (lesson, wanted) => {
      expectSame(folder, config, wanted);
      return {
        ...lesson,
        about: `${lesson.about} from ${fingerprint([...weights.values()].map(({ values }) => bitsOf(values)))}`,
        build: (runtime) => withWeights(lesson.build(runtime), weights, folder),
      };
    },
  };
}

function bitsOf({ buffer, byteOffset, length }: Float32Array): Int32Array {
  return new Int32Array(buffer, byteOffset, length);
}

/** Sizes that no weight's shape tells, such as heads, and what the rows of a table stand for. */
function expectSame(folder: string, held: JsonObject, config: ModelToSave["config"]): void {
  const bytes = new TextEncoder().encode(JSON.stringify(config));
  for (const [field, wanted] of parseJson(bytes, { who: "config.json" }) as JsonObject) {
    const came = held.get(field);
    if (FREE.has(field) || came === undefined || canonical(came) === canonical(wanted)) continue;
    throw new HeedError(
      `train: ${folder} must hold a model whose "${field}" is ${showJson(wanted)}, as in this training, got ${
        Array.isArray(came) ? "other ones" : showJson(came)
      }. Train with the options and data of that model`,
    );
  }
}

/** The same text for the same fields, without those that weights do not depend on. */
function canonical(json: JsonValue): string {
  if (json instanceof JsonReal) return String(json.value);
  if (Array.isArray(json)) return `[${json.map(canonical)}]`;
  if (!(json instanceof Map)) return JSON.stringify(json);
  const fields = [...json].filter(([name]) => !FREE.has(name));
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`)}}`;
}
