import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Heed, type HeedOptions, start } from "./heed.js";
import { quote } from "./io/quote.js";
import { nodePlatform } from "./platform/node.js";
import { folderSource } from "./platform/node-files.js";

export * from "./index.js";
export * from "./inspect.js";

/**
 * Starts heed in Node, Deno or Bun.
 *
 * @throws {StateError} the kernels are not where they should be, or memory cannot be reserved
 * @example
 * const heed = await init({ threads: 2 });
 */
export async function init(options: HeedOptions = {}): Promise<Heed> {
  const heed = await start(nodePlatform(options), options);
  heed.openFolder = (location) =>
    folderSource(/^file:/i.test(location) ? pathOf(location) : resolve(location));
  return heed;
}

function pathOf(address: string): string {
  try {
    return fileURLToPath(address);
  } catch (error) {
    throw new RangeError(
      `load: a file: address must be that of a folder here, as file:///folder, got ${quote(address)}`,
      { cause: error },
    );
  }
}
