import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { answerCommand } from "../../src/cli/answer.js";
import type { Answering } from "../../src/tasks/answer.js";
import { heed, start, temporaryFolder } from "./run.js";
import { writeSmallAnswerer } from "./small-model.js";

const folder = temporaryFolder();
const small = join(folder, "small");
const CONTEXT =
  "The old bridge was begun in 1884 by two brothers. It was opened in 1889, and repaired after the flood of 1910.";
const QUESTION = "When was the bridge opened?";
const withSmall = (...args: string[]): string[] => ["answer", "--model", small, ...args];
const ask = (...args: string[]): string[] => withSmall("--question", QUESTION, ...args);

/** A file of questions, a line each. */
function questionFile(name: string, lines: readonly (object | string)[]): string {
  const file = join(folder, name);
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  writeFileSync(file, texts.map((text) => `${text}\n`).join(""));
  return file;
}

beforeAll(() => writeSmallAnswerer(small));

describe("heed answer", () => {
  test("answers with the model that comes along, and prints nothing else", async () => {
    const found = await heed(["answer", "--question", QUESTION, "--context", CONTEXT]);
    expect(found).toEqual({ code: 0, signal: null, stdout: "1889\n", stderr: "" });
  });

  test("reads the context from a file and from standard input as from its option", async () => {
    const file = join(folder, "context.txt");
    writeFileSync(file, CONTEXT);
    const given = await heed(ask("--context", CONTEXT));
    expect(given).toMatchObject({ code: 0, stderr: "" });
    expect(CONTEXT).toContain(given.stdout.trimEnd());
    expect(await heed(ask("--context-file", file))).toEqual(given);
    expect(await heed(ask(), CONTEXT)).toEqual(given);
  });

  test("shows several answers with their probabilities, and that of none", async () => {
    const { code, stdout } = await heed(ask("--top", "3", "--context", CONTEXT));
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    for (const line of lines.slice(0, 3)) {
      expect(line).toMatch(/^[01]\.\d\d {2}\S/);
      expect(CONTEXT).toContain(line.slice(6));
    }
    expect(lines[3]).toMatch(/^[01]\.\d\d {2}\(no answer\)$/);
  });

  test("prints an empty line when there is no answer", async () => {
    const none = await heed(ask("--threshold", "0", "--context", CONTEXT));
    expect(none).toMatchObject({ code: 0, stdout: "\n", stderr: "" });
    const some = await heed(ask("--threshold", "0", "--top", "2", "--context", CONTEXT));
    expect(some.stdout).toMatch(/^[01]\.\d\d {2}\(no answer\)\n$/);
  });

  test("says on a terminal that there is no answer", async () => {
    const terminal = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    const { isTTY } = process.stdout;
    process.stdout.isTTY = true;
    const { signal } = new AbortController();
    const asked = { question: QUESTION, context: CONTEXT, model: small };
    const how = { top: 1, longest: 20, decoding: "best", threads: 1, threshold: 0 } as const;
    try {
      await answerCommand({ ...asked, ...how } as never, signal);
      expect(terminal.mock.calls.map(([text]) => text)).toEqual(["(no answer)\n"]);
    } finally {
      process.stdout.isTTY = isTTY;
      terminal.mockRestore();
    }
  });

  test("writes one JSON object a line with --json", async () => {
    const context = `\u001b[31m "É😀" \u202e ${CONTEXT}`;
    const { code, stdout } = await heed(ask("--json", "--top", "5"), context);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const found: Answering = JSON.parse(stdout);
    expect(found.question).toBe(QUESTION);
    expect(found.answers).toHaveLength(5);
    for (const { text, start, end } of found.answers) expect(context.slice(start, end)).toBe(text);
    const { queries, keys, weights } = found.attention;
    expect(weights).toHaveLength(1);
    expect(weights[0]).toHaveLength(2);
    for (const head of weights[0] ?? []) {
      expect(head).toHaveLength(queries.length);
      for (const row of head) {
        expect(row).toHaveLength(keys.length);
        expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
      }
    }
  });

  test("answers a file of questions, a line each", async () => {
    const other = { question: "What sleeps?", context: "The black cat sleeps." };
    const file = questionFile("many.jsonl", [
      { question: QUESTION, context: CONTEXT },
      { ...other, answers: [{ start: 0, text: "The black cat" }] },
      { question: "What is it?", context: "" },
      { question: QUESTION, context: CONTEXT },
      "",
    ]);
    const { code, stdout, stderr } = await heed(withSmall("--questions", file));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines).toHaveLength(5);
    expect(`${lines[0]}\n`).toBe((await heed(ask("--context", CONTEXT))).stdout);
    expect(other.context).toContain(lines[1]);
    expect(lines.slice(2)).toEqual(["", lines[0], ""]);
  });

  test("decodes greedily, or shortly, on demand", async () => {
    const greedy = await heed(ask("--decoding", "greedy", "--context", CONTEXT));
    expect(greedy).toMatchObject({ code: 0, stderr: "" });
    expect(CONTEXT).toContain(greedy.stdout.trimEnd());
    const short = await heed(ask("--longest", "1", "--context", CONTEXT));
    expect(short.stdout).toMatch(/^\S+\n$/);
  });

  test("shows where it looked with --grid, and writes pictures", async () => {
    const [svg, html] = [join(folder, "a.svg"), join(folder, "a.html")];
    const drawn = await heed(ask("--grid", "--svg", svg, "--html", html, "--context", CONTEXT));
    expect(drawn).toMatchObject({ code: 0, stderr: "" });
    expect(drawn.stdout.split("\n").length).toBeGreaterThan(20);
    expect(readFileSync(svg, "utf8")).toMatch(/^<svg.*bridge/s);
    expect(readFileSync(html, "utf8")).toContain("bridge");
  });

  test.each([
    ["emoji", "😀 👩‍👩‍👧 ❤️"],
    ["other scripts", "日本語。中文 العربية"],
    ["control characters", "a\0b\u0007c\u001b[2J\u001b]0;title\u0007 \u009b31m \u202e"],
    ["special tokens", "<s> </s> <unk> <pad>"],
    ["lines", "one\ntwo\r\n\r\nthree\u2028four"],
    ["a long text", "word ".repeat(3000)],
    ["one long word", "x".repeat(5000)],
    ["punctuation", "... ?! —"],
    ["a byte order mark", "\ufeff\u200b."],
  ])("has a line for %s", async (_, text) => {
    for (const [question, context] of [
      [QUESTION, text],
      [text.slice(0, 100), CONTEXT],
    ] as const) {
      const { code, stdout, stderr } = await heed(
        withSmall("--question", question.replaceAll("\0", " ")),
        context,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^[^\n]+\n$/);
    }
  });

  test.each([
    ["an empty context", [], "", /the context must have text, got a blank one\. Give it/],
    ["a blank context", ["--context", " \n"], "", /the context must have text/],
    [
      "a blank question",
      ["--question", " "],
      CONTEXT,
      /the question must have 1 to 512 tokens, got 0/,
    ],
    ["a huge question", ["--question", "what ".repeat(700)], CONTEXT, /1 to 512 tokens, got 700/],
    [
      "a huge context",
      [],
      "word ".repeat(220_000),
      /the context must have at most 1048576 characters, got 1100000/,
    ],
    [
      "a context of many megabytes",
      [],
      "a".repeat(2 ** 22 + 1),
      /a text must have at most 4194304 bytes/,
    ],
    [
      "bytes that are no UTF-8",
      [],
      Uint8Array.of(0x54, 0x68, 0xe9),
      /the text must be UTF-8, got other/,
    ],
    [
      "a file that is not there",
      ["--context-file", join(folder, "none")],
      "",
      /none must be readable, got ENOENT/,
    ],
    [
      "a folder",
      ["--context-file", folder],
      "",
      new RegExp(`answer: ${folder} must be readable, got EISDIR`),
    ],
    [
      "a model of another task",
      ["--model", "models/translate-en-es"],
      CONTEXT,
      /must be for "answer", got one for "translate"/,
    ],
    ["no model", ["--model", folder], CONTEXT, /a model folder must hold/],
  ] as const)("refuses %s, with one clear error", async (_, args, input, message) => {
    const { code, stdout, stderr } = await heed(ask(...args), input);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^heed: [^\n]+\n$/);
    expect(stderr).toMatch(message);
  });

  test.each([
    ["no JSON", "{", /line 2: every line must be an object \{"question"/],
    ["no object", "[1]", /line 2: every line must be an object/],
    ["null", "null", /line 2: every line must be an object/],
    [
      "a question without a context",
      '{"question": "What?"}',
      /line 2: every line must be an object/,
    ],
    [
      "answers that are no list",
      '{"question":"a","context":"b","answers":{}}',
      /must be an object/,
    ],
    [
      "an answer that is not in the context",
      '{"question":"a","context":"b c","answers":[{"start":1,"text":"c"}]}',
      /line 2: an answer must stand in the context, at its start, got "c" at 1/,
    ],
    [
      "a blank question",
      '{"question":" ","context":"b"}',
      /line 2: the question must have 1 to 512/,
    ],
    [
      "a question without an end",
      JSON.stringify({ question: "what ".repeat(700), context: "b" }),
      /line 2: the question must have 1 to 512 tokens, got 700/,
    ],
  ])("refuses a file of questions with %s", async (_, line, message) => {
    const file = questionFile("broken.jsonl", [{ question: "What?", context: "It." }, line]);
    const { code, stdout, stderr } = await heed(withSmall("--questions", file));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^heed: [^\n]+\n$/);
    expect(stderr).toMatch(message);
    expect(stderr).toContain(`${file}, line 2: `);
  });

  test("ends with 130 on SIGINT, at work and waiting", async () => {
    const waiting = start(...ask());
    // More than a pipe holds: once it is gone, the command is reading.
    const text = "The cat. ".repeat(2 ** 17);
    await new Promise((resolve) => waiting.child.stdin?.write(text, resolve));
    waiting.child.kill("SIGINT");
    expect(await waiting.outcome).toMatchObject({ code: 130, stdout: "", stderr: "" });

    const lines = Array.from({ length: 60_000 }, () => ({ question: QUESTION, context: CONTEXT }));
    const working = start(...withSmall("--questions", questionFile("long.jsonl", lines)));
    await working.seen("stdout", "\n");
    working.child.kill("SIGINT");
    expect(await working.outcome).toMatchObject({ code: 130, stderr: "" });
  });

  test("ends quietly when its reader has seen enough", async () => {
    const lines = Array.from({ length: 20_000 }, () => ({ question: QUESTION, context: CONTEXT }));
    const { child, outcome, seen } = start(
      ...withSmall("--questions", questionFile("pipe.jsonl", lines)),
    );
    await seen("stdout", "\n");
    child.stdout?.destroy();
    expect(await outcome).toMatchObject({ code: 0, stderr: "" });
  });

  test.each([
    [["--context", "A."], /required option '--question <text>' not specified/],
    [["--question", "a", "--context", "b", "--context-file", "c"], /cannot be used with/],
    [["--question", "a", "--questions", "b"], /cannot be used with/],
    [["--question", "a", "--top", "0"], /a whole number from 1 to 100/],
    [["--question", "a", "--threshold", "x"], /a number from 0 to 2/],
    [["--question", "a", "--longest", "1.5"], /a whole number from 1 to 1000/],
    [["--question", "a", "--decoding", "beam"], /Allowed choices are best, greedy/],
    [["--question", "a", "--json", "--grid"], /cannot be used with/],
    [["what", "is", "it"], /too many arguments/],
  ])("refuses %j", async (args, message) => {
    const { code, stdout, stderr } = await heed(withSmall(...args));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });
});
