import { fileURLToPath } from "node:url";

/** The folder of the model in the package, seen from dist/. */
export function shippedModel(): string {
  return fileURLToPath(new URL("../models/translate-en-es", import.meta.url));
}
