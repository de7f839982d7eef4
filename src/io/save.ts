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
 * Everything is made before the first file is written. Each file is whole or as it was; config.json
 * comes last.
 *
 * @param writeFile  replaces one file of the folder, wholly or not at all
 * @throws {FormatError} a value cannot be written; whatever writeFile throws
 */
export async function writeModelFolder(
  writeFile: (name: string, bytes: Uint8Array) => Promise<void>,
  model: ModelToSave,
): Promise<void> {
  const files: [keyof typeof MODEL_FILES, Uint8Array][] = [
    ["tokenizer.json", model.tokenizer],
    ["model.safetensors", serializeSafetensors(model.tensors, model.metadata)],
    ["config.json", new TextEncoder().encode(formatConfig(model.config))],
  ];
  for (const [name, bytes] of files)
    if (bytes.length > MODEL_FILES[name])
      throw new FormatError(
        "MODEL_FILE_SIZE",
        `save: ${name} must have at most ${MODEL_FILES[name]} bytes, got ${bytes.length}`,
      );
  for (const [name, bytes] of files) await writeFile(name, bytes);
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
