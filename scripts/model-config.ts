import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../src/platform/node-files.js";

/** Sets one field of a model folder's config.json. */
export async function setField(model: string, name: string, value: number): Promise<void> {
  const path = join(model, "config.json");
  const config = { ...JSON.parse(await readFile(path, "utf8")), [name]: value };
  await replaceFile(path, new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`));
}
