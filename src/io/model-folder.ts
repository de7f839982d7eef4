import { FormatError } from "../errors.js";
import { parseSafetensors, type SafetensorsFile } from "./safetensors.js";
import { type JsonObject, parseJson, showJson } from "./strict-json.js";

/** Where a model's files come from. */
export interface ModelSource {
  /** A path or an address, for errors. */
  readonly name: string;
  /**
   * The bytes of one file, or undefined when there is none of that name.
   *
   * @param maxBytes  a longer file must be refused, if possible before it is read
   */
  read(file: string, maxBytes: number): Promise<Uint8Array | undefined>;
}

export interface ModelFolder extends SafetensorsFile {
  readonly config: JsonObject;
  /** The bytes of tokenizer.json, for loadTokenizer. */
  readonly tokenizer: Uint8Array;
}

/** The files of a model folder, and the most bytes each may have. */
export const MODEL_FILES = {
  "config.json": 2 ** 20,
  "model.safetensors": 2 ** 30,
  "tokenizer.json": 2 ** 26,
} as const;

/**
 * Reads a model folder: config.json, model.safetensors and tokenizer.json.
 *
 * @throws {FormatError} MODEL_FILE_MISSING; the codes of parseJson and parseSafetensors; CONFIG
 */
export async function readModelFolder(source: ModelSource): Promise<ModelFolder> {
  const names = Object.keys(MODEL_FILES) as (keyof typeof MODEL_FILES)[];
  const read = await Promise.all(names.map((name) => source.read(name, MODEL_FILES[name])));
  const files = new Map(names.map((name, i) => [name, read[i]]));
  const missing = names.filter((name) => !files.get(name));

  const take = (name: keyof typeof MODEL_FILES): Uint8Array => {
    const bytes = files.get(name);
    if (!bytes)
      throw new FormatError(
        "MODEL_FILE_MISSING",
        `${source.name}: a model folder must hold ${names.join(", ")}, got ${
          missing.length === names.length ? "none of them" : `no ${missing.join(" and no ")}`
        }. Check the path`,
      );
    if (bytes.length > MODEL_FILES[name])
      throw new FormatError(
        "MODEL_FILE_SIZE",
        `${source.name}: ${name} must have at most ${MODEL_FILES[name]} bytes, got ${bytes.length}`,
      );
    return bytes;
  };

  const config = parseJson(take("config.json"), { who: `${source.name}: config.json` });
  if (!(config instanceof Map))
    throw new FormatError(
      "CONFIG",
      `${source.name}: config.json: must hold an object, got ${showJson(config)}`,
    );
  const tokenizer = take("tokenizer.json");
  return {
    config,
    tokenizer,
    ...parseSafetensors(take("model.safetensors"), `${source.name}: model.safetensors`),
  };
}
