import { FormatError } from "../errors.js";
import { MODEL_FILES } from "./model-folder.js";
import { quote } from "./quote.js";
import { serializeSafetensors, type TensorData } from "./safetensors.js";

export type ConfigValue =
  | null
  | boolean
  | string
  | number
  | readonly ConfigValue[]
  | { readonly [key: string]: ConfigValue };

export interface ModelToSave {
  readonly config: { readonly [key: string]: ConfigValue };
  readonly tensors: ReadonlyMap<string, TensorData>;
  readonly metadata?: ReadonlyMap<string, string>;
  /** The bytes of tokenizer.json. */
  readonly tokenizer: Uint8Array;
}

/**
 * Writes a model folder; equal models give equal bytes.
 *
 * @param writeFiles  replaces files of the folder by name, all of them or none
 * @throws {FormatError} a value cannot be written; whatever writeFiles throws
 */
export async function writeModelFolder(
  writeFiles: (files: ReadonlyMap<string, Uint8Array>) => Promise<void>,
  model: ModelToSave,
): Promise<void> {
  const files = new Map<keyof typeof MODEL_FILES, Uint8Array>([
    ["tokenizer.json", model.tokenizer],
    ["model.safetensors", serializeSafetensors(model.tensors, model.metadata)],
    ["config.json", new TextEncoder().encode(formatConfig(model.config))],
  ]);
  for (const [name, bytes] of files)
    if (bytes.length > MODEL_FILES[name])
      throw new FormatError(
        "MODEL_FILE_SIZE",
        `save: ${name} must have at most ${MODEL_FILES[name]} bytes, got ${bytes.length}`,
      );
  await writeFiles(files);
}

/** JSON on several lines, for people and version control. */
function formatConfig(config: ModelToSave["config"]): string {
  const checked = (key: string, value: unknown): unknown => {
    if (typeof value === "number" && !Number.isFinite(value))
      throw new FormatError("CONFIG", `save: ${quote(key)} must be finite, got ${value}`);
    return value;
  };
  return `${JSON.stringify(config, checked, 2)}\n`;
}
