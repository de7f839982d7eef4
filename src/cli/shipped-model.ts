import { fileURLToPath } from "node:url";

/** The folder of a model in the package, seen from dist/. */
export function shippedModel(name: string): string {
  return fileURLToPath(new URL(`../models/${name}`, import.meta.url));
}
