import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { FormatError, StateError } from "../../src/errors.js";
import { type Heed, init } from "../../src/node.js";

const FOLDER = "models/translate-en-es";
const files = Object.fromEntries(
  ["config.json", "model.safetensors", "tokenizer.json"].map((name) => [
    name,
    new Uint8Array(readFileSync(`${FOLDER}/${name}`)),
  ]),
);

async function withHeed(maximumBytes: number, use: (heed: Heed) => Promise<void>): Promise<void> {
  const heed = await init({ threads: 1, maximumBytes });
  try {
    await use(heed);
    expect(heed.info().memory.used).toBe(0);
  } finally {
    heed.dispose();
  }
}

describe("Heed.load()", () => {
  test("takes a path, a file: address, and the files themselves", async () => {
    const heed = await init({ threads: 1 });
    const address = new URL(`../../${FOLDER}/`, import.meta.url);
    const texts: string[] = [];
    for (const location of [FOLDER, address, address.href, files]) {
      using translator = await heed.load(location);
      texts.push((await translator.translate("I am reading a book.")).text);
    }
    expect(new Set(texts).size).toBe(1);
    await expect(heed.load("nowhere")).rejects.toThrow(/^\/.*nowhere: a model folder must hold/);
    heed.dispose();
  });

  test("names the tasks there are", async () => {
    await withHeed(2 ** 28, async (heed) => {
      await expect(heed.load(FOLDER, "sing" as "translate")).rejects.toThrow(
        /^load: the task must be one of .*translate.*, got "sing"$/,
      );
    });
  });

  test("leaves nothing behind when the model does not fit the memory", () =>
    withHeed(2 ** 22, async (heed) => {
      await expect(heed.load(FOLDER)).rejects.toThrow(StateError);
    }));

  test.each(["layers", "bidirectional", "hidden", "sourceVocab"])(
    "refuses a config whose %s is not that of the weights, and leaves nothing",
    (field) =>
      withHeed(2 ** 28, async (heed) => {
        const config = JSON.parse(new TextDecoder().decode(files["config.json"]));
        config[field] = field === "bidirectional" ? !config[field] : config[field] + 1;
        const changed = new TextEncoder().encode(JSON.stringify(config));
        const loading = heed.load({ ...files, "config.json": changed });
        await expect(loading).rejects.toThrow(FormatError);
        await expect(loading).rejects.toThrow(/model/);
      }),
  );
});
