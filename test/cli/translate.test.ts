import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import stringWidth from "string-width";
import { beforeAll, describe, expect, test } from "vitest";
import type { TranslatedSentence } from "../../src/tasks/translation.js";
import { heed, start, temporaryFolder } from "./run.js";
import { writeSmallModel } from "./small-model.js";

const folder = temporaryFolder();
const small = join(folder, "small");
const withSmall = (...args: string[]): string[] => ["translate", "--model", small, ...args];

interface JsonLine {
  readonly text: string;
  readonly score: number;
  readonly sentences: TranslatedSentence[];
}

beforeAll(() => writeSmallModel(small));

describe("heed translate", () => {
  test("translates its arguments with the model that comes along, and prints nothing else", async () => {
    const found = await heed(["translate", "The black cat sleeps.", "", "Good morning."]);
    expect(found).toMatchObject({ code: 0, stderr: "" });
    expect(found.stdout).toMatch(/^El [^\n]+\n\n[^\n]+\n$/);
  });

  test("shows the alignment with --grid, in 80 columns", async () => {
    const long = "The old man who lives in the white house near the river reads a very long book.";
    const { code, stdout } = await heed(["translate", "--grid", "The black cat sleeps.", long]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^El [^\n]+\n\n +The {2}black {2}cat {2}sleeps {2}\.\nEl /);
    for (const line of stdout.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(80);
  });

  test("writes one JSON object a line with --json", async () => {
    const input = "The cat. A dog sleeps!\n\nunbelievable \u001b[31m \u009b😀\n";
    const { code, stdout } = await heed(withSmall("--json"), input);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    const found = lines.map((line): JsonLine => JSON.parse(line));
    expect(found.map(({ sentences }) => sentences.length)).toEqual([2, 0, 1]);
    expect(found[1]).toEqual({ text: "", score: 0, sentences: [] });
    for (const { text, score, source, target, attention, alignment } of found.flatMap(
      ({ sentences }) => sentences,
    )) {
      expect([typeof text, typeof score]).toEqual(["string", "number"]);
      for (const { tokens, words, wordOf } of [source, target]) {
        expect(wordOf).toHaveLength(tokens.length);
        expect([...new Set(wordOf)].filter((word) => word >= 0)).toEqual([...words.keys()]);
      }
      expect(source.tokens.at(0)).toBe("<s>");
      expect(source.tokens.at(-1)).toBe("</s>");
      expect(attention).toHaveLength(target.tokens.length);
      expect(alignment).toHaveLength(target.words.length);
      for (const row of attention) {
        expect(row).toHaveLength(source.tokens.length);
        expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
      }
      for (const row of alignment) expect(row).toHaveLength(source.words.length);
    }
  });

  test("gives a line for each line, whatever is on it", async () => {
    const lines = [
      "The cat.",
      "",
      "   ",
      "😀 👩‍👩‍👧 ❤️",
      "日本語 中文 العربية",
      "a\0b\u0007c\u001b[2J\u001b]0;title\u0007 \u009b31m \u202e",
      "<s> </s> <unk> <pad>",
      "word ".repeat(4000),
      "x".repeat(5000),
      "... ?! —",
      "\ufffd \ufeff \u200b",
      "last",
    ];
    const { code, stdout, stderr } = await heed(withSmall("--beam", "1"), lines.join("\n"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const found = stdout.split("\n");
    expect(found.pop()).toBe("");
    expect(found).toHaveLength(lines.length);
    expect(found.map((line) => line !== "")).toEqual(lines.map((line) => line.trim() !== ""));
  });

  test("reads a file as it reads standard input", async () => {
    const text = "The cat.\r\n\r\nThe dog.";
    const file = join(folder, "sentences.txt");
    writeFileSync(file, text);
    const fromFile = await heed(withSmall("--file", file));
    expect(fromFile.code).toBe(0);
    expect(fromFile.stdout.split("\n")).toHaveLength(4);
    expect(await heed(withSmall(), text)).toEqual(fromFile);
  });

  test("prints nothing for no input", async () => {
    expect(await heed(withSmall())).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });

  test("answers each line as it comes", async () => {
    const { child, outcome, seen } = start(...withSmall());
    child.stdin?.write("The cat.\n");
    await seen("stdout", /^.+\n$/);
    child.stdin?.write("The dog.\n");
    await seen("stdout", /^.+\n.+\n$/);
    child.stdin?.end();
    expect(await outcome).toMatchObject({ code: 0, stderr: "" });
  });

  test("ends quietly when its reader has seen enough", async () => {
    const { child, outcome, seen } = start(...withSmall("--beam", "1"));
    child.stdin?.write("The cat.\n");
    await seen("stdout", "\n");
    child.stdout?.destroy();
    child.stdin?.end("The dog.\n".repeat(1000));
    expect(await outcome).toMatchObject({ code: 0, stderr: "" });
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "ends with 130 on %s, at work and waiting",
    async (signal) => {
      const working = start(...withSmall());
      working.child.stdin?.write("The cat.\n");
      await working.seen("stdout", "\n");
      working.child.stdin?.write(`${"word ".repeat(20_000)}\n`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      working.child.kill(signal);
      expect(await working.outcome).toMatchObject({ code: 130, stderr: "" });

      const waiting = start(...withSmall());
      waiting.child.stdin?.write("The cat.\n");
      await waiting.seen("stdout", "\n");
      waiting.child.kill(signal);
      expect(await waiting.outcome).toMatchObject({ code: 130, stderr: "" });
    },
  );

  test("refuses text that is not UTF-8", async () => {
    const bytes = Uint8Array.of(0x54, 0x68, 0xe9, 0x0a);
    const told = /^heed: .*: the text must be UTF-8, got other bytes\. Convert it[^\n]*\n$/;
    const piped = await heed(withSmall(), bytes);
    expect(piped).toMatchObject({ code: 1, stdout: "" });
    expect(piped.stderr).toMatch(told);
    const file = join(folder, "latin1.txt");
    writeFileSync(file, bytes);
    const read = await heed(withSmall("--file", file));
    expect(read.stderr).toMatch(told);
    expect(read.stderr).toContain(file);
  });

  test.each([
    ["a missing file", () => join(folder, "none\u001b[31m.txt"), /ENOENT.*none\\u001b\[31m\.txt/],
    ["a folder", () => folder, /EISDIR/],
  ])("says so when --file is %s", async (_, file, message) => {
    const { code, stdout, stderr } = await heed(withSmall("--file", file()));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^heed: translate: [^ ]+ must be readable, got [^\n]+\n$/);
    expect(stderr).toMatch(message);
  });

  test.each<[string, (broken: string) => void, RegExp]>([
    ["is missing", (broken) => rmSync(broken, { recursive: true }), /got none of them/],
    [
      "is a file",
      (broken) => {
        rmSync(broken, { recursive: true });
        writeFileSync(broken, "");
      },
      /got none of them/,
    ],
    [
      "lacks its tokenizer",
      (broken) => rmSync(join(broken, "tokenizer.json")),
      /got no tokenizer\.json/,
    ],
    [
      "has a folder for a file",
      (broken) => {
        rmSync(join(broken, "config.json"));
        mkdirSync(join(broken, "config.json"));
      },
      /config\.json.*not a regular file/,
    ],
    [
      "has cut weights",
      (broken) => truncateSync(join(broken, "model.safetensors"), 1000),
      /model\.safetensors/,
    ],
    [
      "has a wrong field",
      (broken) => edit(broken, { hidden: "four" }),
      /"hidden" must be a whole number/,
    ],
    [
      "is of another task",
      (broken) => edit(broken, { task: "fly" }),
      /"task" must be "translate", got "fly"/,
    ],
    [
      "contradicts itself",
      (broken) => edit(broken, { hidden: 5 }),
      /must be \[20, 5\] as config\.json says/,
    ],
    ["is no JSON", (broken) => writeFileSync(join(broken, "config.json"), "{"), /config\.json/],
  ])("says so when the model folder %s", async (_, breakIt, message) => {
    const broken = join(folder, "broken");
    cpSync(small, broken, { recursive: true });
    breakIt(broken);
    const { code, stdout, stderr } = await heed(["translate", "--model", broken, "a"]);
    rmSync(broken, { recursive: true, force: true });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^heed: [^\n]+\n$/);
    expect(stderr).toMatch(message);
  });
});

function edit(model: string, change: object): void {
  const path = join(model, "config.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
}
