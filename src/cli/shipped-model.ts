import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { HeedError } from "../errors.js";

/** The folder of a model in the package, seen from dist/. */
export function shippedModel(name: string): string {
  return fileURLToPath(new URL(`../models/${name}`, import.meta.url));
}

/**
 * The folder that an option names; without it, that of the model that comes with heed.
 *
 * @param option  its name
 * @throws {HeedError} nothing is said, and this heed came without the model
 */
export function modelFolder(given: string | undefined, name: string, option = "--model"): string {
  const folder = given ?? shippedModel(name);
  if (given === undefined && !existsSync(folder))
    throw new HeedError(
      `load: the model "${name}" must come with heed, got none. Give a model folder with ${option}`,
    );
  return folder;
}
