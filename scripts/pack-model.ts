/**
 * Stores a model folder's weights anew: tsx scripts/pack-model.ts FROM TO f16|int8
 *
 * int8 quarters a file's size (one f32 scale a row); what it costs is measured on the test file.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseSafetensors, serializeSafetensors } from "../src/io/safetensors.js";
import { packWeights, unpackWeights } from "../src/io/weights.js";
import { replaceFile } from "../src/platform/node-files.js";

const [from, to, storage] = process.argv.slice(2);
if (!from || !to || (storage !== "f16" && storage !== "int8"))
  throw new Error("pack-model: usage is FROM TO f16|int8");
const weights = unpackWeights(
  parseSafetensors(await readFile(join(from, "model.safetensors")), from).tensors,
);
await replaceFile(
  join(to, "model.safetensors"),
  serializeSafetensors(packWeights(weights, storage)),
);
for (const name of ["config.json", "tokenizer.json"])
  await replaceFile(join(to, name), await readFile(join(from, name)));
