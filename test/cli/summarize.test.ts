import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Summary } from "../../src/tasks/summary.js";
import { heed, start, temporaryFolder } from "./run.js";
import { writeSmallSummarizer } from "./small-model.js";

const folder = temporaryFolder();
const small = join(folder, "small");
const withSmall = (...args: string[]): string[] => ["summarize", "--model", small, ...args];
const TEXT = "A cat sleeps in 1850. It is black.\n\nThe dog barks! It is white.";

beforeAll(() => writeSmallSummarizer(small));

describe("heed summarize", () => {
  test("prints a description of the whole text, on one line", async () => {
    const found = await heed(withSmall(TEXT));
    expect(found).toMatchObject({ code: 0, stderr: "" });
    expect(found.stdout).toMatch(/^[^\n]+\n$/);
  });

  test("prints the sentences that it keeps, a line each, in the text's order", async () => {
    const found = await heed(withSmall("--mode", "extractive", "--sentences", "2", TEXT));
    expect(found).toMatchObject({ code: 0, stderr: "" });
    const lines = found.stdout.trimEnd().split("\n");
    const all = ["A cat sleeps in 1850.", "It is black.", "The dog barks!", "It is white."];
    expect(lines.length).toBeLessThanOrEqual(2);
    expect(lines).toEqual(all.filter((sentence) => lines.includes(sentence)));
  });

  test("reads a file and standard input as it reads its argument", async () => {
    const file = join(folder, "text.txt");
    writeFileSync(file, TEXT);
    const given = await heed(withSmall(TEXT));
    expect(await heed(withSmall("--file", file))).toEqual(given);
    expect(await heed(withSmall(), TEXT)).toEqual(given);
  });

  test("takes every line as a text with --lines", async () => {
    const lines = ["A cat.", "", "The dog barks. It is white.", "A cat."];
    const { code, stdout, stderr } = await heed(withSmall("--lines"), lines.join("\n"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const found = stdout.split("\n");
    expect(found).toHaveLength(5);
    expect(found[1]).toBe("");
    expect(found[3]).toBe(found[0]);
    const alone = await heed(withSmall(lines[2] as string));
    expect(`${found[2]}\n`).toBe(alone.stdout);
  });

  test("writes one JSON object with --json", async () => {
    const { code, stdout } = await heed(withSmall("--json", "--mode", "extractive", TEXT));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const { mode, text, description, score, sentences, ...looked }: Summary = JSON.parse(stdout);
    expect(mode).toBe("extractive");
    expect([typeof description, typeof score]).toEqual(["string", "number"]);
    expect(sentences.map(({ start, end }) => TEXT.slice(start, end))).toEqual(
      sentences.map((sentence) => sentence.text),
    );
    const kept = sentences.filter((sentence) => sentence.kept).map((sentence) => sentence.text);
    expect(text).toBe(kept.join(" "));
    const { source, target, attention, alignment } = looked;
    expect(attention).toHaveLength(target.tokens.length);
    for (const row of attention) {
      expect(row).toHaveLength(source.tokens.length);
      expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
    }
    expect(alignment).toHaveLength(target.words.length);
  });

  test("shows where it looked with --grid, and writes pictures", async () => {
    const svg = join(folder, "a.svg");
    const html = join(folder, "a.html");
    const drawn = await heed(withSmall("--grid", "--svg", svg, "--html", html, TEXT));
    expect(drawn).toMatchObject({ code: 0, stderr: "" });
    expect(drawn.stdout.split("\n").length).toBeGreaterThan(3);
    expect(drawn.stdout).toContain("sleeps");
    expect(readFileSync(svg, "utf8")).toMatch(/^<svg.*sleeps/s);
    expect(readFileSync(html, "utf8")).toContain("sleeps");
  });

  test.each([
    ["nothing", ""],
    ["white space", " \n\n\t\n"],
  ])("prints an empty line for %s", async (_, text) => {
    expect(await heed(withSmall(), text)).toMatchObject({ code: 0, stdout: "\n", stderr: "" });
  });

  test.each([
    ["emoji", "😀 👩‍👩‍👧 ❤️"],
    ["other scripts", "日本語。中文 العربية"],
    ["control characters", "a\0b\u0007c\u001b[2J\u001b]0;title\u0007 \u009b31m \u202e"],
    ["special tokens", "<s> </s> <unk> <pad>"],
    ["one long sentence", "word ".repeat(3000)],
    ["one long word", "x".repeat(5000)],
    ["punctuation", "... ?! —"],
    ["a byte order mark", "\ufeff\u200b"],
  ])("has a line for %s", async (_, text) => {
    const { code, stdout, stderr } = await heed(withSmall("--beam", "1"), text);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^[^\n]*\n$/);
  });

  test("refuses a text that is too long, with one clear error", async () => {
    const long = await heed(withSmall("--mode", "extractive"), "word ".repeat(40_000));
    expect(long).toMatchObject({ code: 1, stdout: "" });
    expect(long.stderr).toMatch(/^heed: summarize: a document must have at most 32768 tokens/);
    const huge = await heed(withSmall(), "a".repeat(2 ** 22 + 1));
    expect(huge).toMatchObject({ code: 1, stdout: "" });
    expect(huge.stderr).toMatch(
      /^heed: standard input: a text must have at most 4194304 bytes, got more\. [^\n]+\n$/,
    );
  });

  test("ends with 130 on SIGINT, at work and waiting", async () => {
    const waiting = start(...withSmall("--lines"));
    waiting.child.stdin?.write("The cat.\n");
    await waiting.seen("stdout", "\n");
    waiting.child.kill("SIGINT");
    expect(await waiting.outcome).toMatchObject({ code: 130, stderr: "" });

    const working = start(...withSmall("--lines"));
    working.child.stdin?.write("The cat.\n");
    await working.seen("stdout", "\n");
    working.child.stdin?.write("word. ".repeat(10_000));
    working.child.stdin?.write("\n");
    await new Promise((resolve) => setTimeout(resolve, 100));
    working.child.kill("SIGINT");
    expect(await working.outcome).toMatchObject({ code: 130, stderr: "" });
  });

  test("ends quietly when its reader has seen enough", async () => {
    const { child, outcome, seen } = start(...withSmall("--lines", "--beam", "1"));
    child.stdin?.write("The cat.\n");
    await seen("stdout", "\n");
    child.stdout?.destroy();
    child.stdin?.end("The dog.\n".repeat(500));
    expect(await outcome).toMatchObject({ code: 0, stderr: "" });
  });

  test("refuses text that is not UTF-8", async () => {
    const found = await heed(withSmall(), Uint8Array.of(0x54, 0x68, 0xe9, 0x0a));
    expect(found).toMatchObject({ code: 1, stdout: "" });
    expect(found.stderr).toMatch(/^heed: standard input: the text must be UTF-8, got other bytes/);
  });

  test("says so when the file cannot be read", async () => {
    for (const [file, message] of [
      [join(folder, "none"), /ENOENT/],
      [folder, /EISDIR/],
    ] as const) {
      const { code, stdout, stderr } = await heed(withSmall("--file", file));
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^heed: summarize: [^ ]+ must be readable, got [^\n]+\n$/);
      expect(stderr).toMatch(message);
    }
  });

  test("names the line that is too long to be summarized", async () => {
    const found = await heed(
      withSmall("--lines", "--mode", "extractive"),
      `A cat.\n${"cat. ".repeat(40_000)}\n`,
    );
    expect(found.code).toBe(1);
    expect(found.stdout.split("\n")).toHaveLength(2);
    expect(found.stderr).toMatch(
      /^heed: standard input, line 2: summarize: a document must have at most 32768 tokens, got /,
    );
  });

  test("says so when the model is of another task", async () => {
    const found = await heed(["summarize", "--model", "models/translate-en-es", "A cat."]);
    expect(found).toMatchObject({ code: 1, stdout: "" });
    expect(found.stderr).toMatch(/the model must be for "summarize", got one for "translate"/);
  });

  test.each([
    [["--mode", "loud", "A."], /Allowed choices are abstractive, extractive/],
    [["--sentences", "0", "A."], /a whole number from 1 to 1000/],
    [["--beam", "65", "A."], /a whole number from 1 to 64/],
    [["--file", "a.txt", "A."], /the text comes from the argument or from --file, got both/],
    [["--lines", "A."], /--lines is for --file and standard input/],
    [["--json", "--grid", "A."], /cannot be used with/],
    [["A.", "B."], /too many arguments/],
  ])("refuses %j", async (args, message) => {
    const { code, stdout, stderr } = await heed(withSmall(...args));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });
});
