import type { ModelSource } from "./io/model-folder.js";
import { bytesSource, urlSource } from "./io/sources.js";
import type { Platform, PlatformOptions } from "./platform/platform.js";
import { Runtime } from "./runtime/runtime.js";
import { type RuntimeOptions, startRuntime } from "./runtime/start.js";
import { loadTask, type TaskName, type Tasks } from "./tasks/load.js";
import { tensor } from "./tensor/create.js";
import type { DType, Shape, Tensor } from "./tensor/tensor.js";

export type HeedOptions = RuntimeOptions & PlatformOptions;

/** A folder's path or address, or the files themselves by name. */
export type ModelLocation = string | URL | Readonly<Record<string, Uint8Array>>;

/** What init() returns: a runtime that makes tensors and loads models. */
export class Heed extends Runtime {
  /** How this platform opens a path or a file: address; null where there are no files. */
  openFolder: ((path: string) => ModelSource) | null = null;

  /**
   * A tensor with the given values.
   *
   * @param shape  default [values.length]
   * @param dtype  default that of a typed array, else f32
   * @throws {ShapeError} the count of values does not fit the shape
   */
  tensor(values: ArrayLike<number>, shape: Shape = [values.length], dtype?: DType): Tensor {
    return dtype ? tensor(this, values, shape, dtype) : tensor(this, values, shape);
  }

  /**
   * Loads a model folder: config.json, model.safetensors, tokenizer.json.
   *
   * @param task  what the model is for: it decides what is returned; default "translate"
   * @throws {TypeError} {RangeError} the location is none
   * @throws {FormatError} a file is missing or broken, the files contradict each other, or they are
   *   for another task
   */
  async load(location: ModelLocation): Promise<Tasks["translate"]>;
  async load<K extends TaskName>(location: ModelLocation, task: K): Promise<Tasks[K]>;
  async load(location: ModelLocation, task: TaskName = "translate"): Promise<Tasks[TaskName]> {
    return loadTask(this, this.#source(location), task);
  }

  #source(location: ModelLocation): ModelSource {
    if (typeof location !== "string" && !(location instanceof URL)) return bytesSource(location);
    const address = String(location);
    // Two letters at least: C:\ is a path.
    const isAddress = /^[a-z][a-z0-9+.-]+:/i.test(address);
    if (this.openFolder && (!isAddress || /^file:/i.test(address))) return this.openFolder(address);
    return urlSource(address);
  }
}

/** Starts a runtime on a platform: what the init() of every entry does. */
export async function start(platform: Platform, options: HeedOptions): Promise<Heed> {
  return startRuntime(
    platform,
    options,
    (memory, kernels, about) => new Heed(memory, kernels, about),
  );
}
