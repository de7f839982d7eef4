import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { readPairs } from "../../src/cli/pairs.js";
import { HeedError } from "../../src/errors.js";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { temporaryFolder } from "./run.js";

const tokenizer = loadTokenizer(readFileSync("models/translate-en-es/tokenizer.json"));
const folder = temporaryFolder();

/** A folder that holds these files. */
function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const path = mkdtempSync(join(folder, "data-"));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
  return path;
}

describe("readPairs()", () => {
  test("gives each line's ids, framed by start and end", async () => {
    const data = folderOf({ "train.tsv": "\ufeffThe cat\tEl gato\n\nThe dog\tEl perro\r\n" });
    const framed = (text: string): number[] => [2, ...tokenizer.ids(text), 3];
    expect(await readPairs(data, "train", tokenizer)).toEqual([
      { source: framed("The cat"), target: framed("El gato") },
      { source: framed("The dog"), target: framed("El perro") },
    ]);
  });

  test("reads gzip, and prefers the plain file", async () => {
    const packed = { "train.tsv.gz": gzipSync("a\tb\n") };
    expect(await readPairs(folderOf(packed), "train", tokenizer)).toHaveLength(1);
    const both = folderOf({ ...packed, "train.tsv": "a\tb\nc\td\n" });
    expect(await readPairs(both, "train", tokenizer)).toHaveLength(2);
  });

  test("leaves out long sentences, and what is beyond the limit", async () => {
    const data = folderOf({ "train.tsv": `${"a ".repeat(70)}\tb\nc\td\ne\tf\ng\th\n` });
    const pairs = await readPairs(data, "train", tokenizer, { limit: 2 });
    expect(pairs.map(({ source }) => tokenizer.decode(source))).toEqual(["c", "e"]);
  });

  test("cuts long sources when it is told to; long targets are left out", async () => {
    const data = folderOf({ "train.tsv": `${"a ".repeat(90)}\tb\nc\t${"d ".repeat(90)}\n` });
    const pairs = await readPairs(data, "train", tokenizer, { cut: 70 });
    expect(pairs.map(({ source }) => source.length)).toEqual([72]);
    expect([pairs[0]?.source[0], pairs[0]?.source.at(-1)]).toEqual([2, 3]);
  });

  test("reads links, counted from the first token, and adds that the end comes from the end", async () => {
    const data = folderOf({
      "train.tsv": "black cat\tgato negro\t0-1 0-2 1-0 0-1\nThe cat\tEl gato\na\tb\t\n",
    });
    const [linked, plain, blank] = await readPairs(data, "train", tokenizer, { linked: true });
    // start, ▁black, ▁cat, end → start, ▁gato, ▁neg, ro, end
    expect(linked?.source).toHaveLength(4);
    expect(linked?.target).toHaveLength(5);
    expect(linked?.links).toEqual([
      { source: 1, target: 2 },
      { source: 1, target: 3 },
      { source: 2, target: 1 },
      { source: 3, target: 4 },
    ]);
    for (const pair of [plain, blank]) {
      expect(pair).toBeDefined();
      expect(pair?.links).toBeUndefined();
    }
  });

  test.each([
    [" ", '""'],
    ["0-0 ", '""'],
    ["00-0", '"00-0"'],
    ["0", '"0"'],
    ["0-0  1-1", '""'],
    ["0-0 1", '"1"'],
    ["-1-0", '"-1-0"'],
    ["2-0", '"2-0"'],
    ["0-3", '"0-3"'],
    ["0-9999", '"0-9999"'],
    ["a-b", '"a-b"'],
  ])("refuses the links %j", async (links, got) => {
    const data = folderOf({ "train.tsv": `black cat\tgato negro\t${links}\n` });
    await expect(readPairs(data, "train", tokenizer, { linked: true })).rejects.toThrow(
      `train.tsv: line 1: links must be S-T, below 2-3, got ${got}`,
    );
  });

  test("stops at a signal", async () => {
    const data = folderOf({ "train.tsv": "a\tb\n" });
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(readPairs(data, "train", tokenizer, { signal })).rejects.toThrow("enough");
  });

  test.each<[string, Record<string, string | Uint8Array>, RegExp]>([
    ["no file", { "dev.tsv": "a\tb" }, /must hold train\.tsv or train\.tsv\.gz, got neither/],
    ["no tab", { "train.tsv": "a\tb\n\nab\n" }, /SOURCE<TAB>TARGET, got "ab" in line 3$/],
    ["two tabs", { "train.tsv": "a\tb\tc\u001b[0m\n" }, /got "a\\tb\\tc\\u001b\[0m" in line 1$/],
    ["an empty side", { "train.tsv": "a\t\n" }, /every line must be SOURCE<TAB>TARGET/],
    ["an empty file", { "train.tsv": "" }, /there must be a pair .*, got none in 1 lines$/],
    ["long sentences only", { "train.tsv": `${"a ".repeat(99)}\tb` }, /of at most 60 tokens/],
    ["other bytes", { "train.tsv": Uint8Array.of(0xff, 9, 0x61) }, /the file must be UTF-8 text/],
    ["cut gzip", { "train.tsv.gz": gzipSync("a\tb").subarray(0, 15) }, /must be whole gzip/],
  ])("refuses data with %s", async (_, files, message) => {
    const reading = readPairs(folderOf(files), "train", tokenizer);
    await expect(reading).rejects.toThrow(HeedError);
    await expect(reading).rejects.toThrow(message);
  });

  test("refuses a folder in the file's place", async () => {
    const data = folderOf({});
    mkdirSync(join(data, "train.tsv"));
    await expect(readPairs(data, "train", tokenizer)).rejects.toThrow("not a regular file");
  });
});
