import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import stringWidth from "string-width";
import { beforeAll, describe, expect, test } from "vitest";
import { seeded } from "../support/random.js";
import { heed, start, temporaryFolder } from "./run.js";

const folder = temporaryFolder();
const data = join(folder, "data");
const model = join(folder, "model");
const recall = join(folder, "recall");
const tokenizer = "models/translate-en-es/tokenizer.json";
const withModel = (...args: string[]): string[] => ["long-range", "--model", model, ...args];
const withRecall = (...args: string[]): string[] => [
  ..."long-range --recall --count 3 --distances 5,9 --recall-models".split(" "),
  recall,
  ...args,
];

/** Sentences of a toy language, a passage a line. */
function corpus(count: number, seed: number): string {
  const random = seeded(seed);
  const pick = (words: string): string => words.split(" ")[random.integer(3)] as string;
  return Array.from(
    { length: count },
    () => `The ${pick("cat dog bird")} ${pick("sees hears likes")} the ${pick("cat dog bird")}.\n`,
  ).join("");
}

const training = (out: string, ...more: string[]): string[] => [
  ...["train", "long-range", "--data", data, "--tokenizer", tokenizer, "--out", out],
  ..."--width 8 --heads 2 --positions 32 --threads 1 --rate 0.02 --batch 1".split(" "),
  ...more,
];
const recallTraining = (name: string, ...more: string[]): string[] => [
  ...["train", "recall", "--architecture", name, "--out", join(recall, name)],
  ..."--width 8 --sequences 14 --batch 7 --epochs 1 --threads 1".split(" "),
  ...["--tokenizer", "models/recall/attention/tokenizer.json"],
  ...more,
];

beforeAll(async () => {
  mkdirSync(data);
  mkdirSync(recall);
  writeFileSync(join(data, "train.txt"), corpus(300, 1));
  writeFileSync(join(data, "dev.txt"), corpus(30, 2));
  expect((await heed(training(model, "--epochs", "3"))).code).toBe(0);
  for (const name of ["attention", "lstm"]) expect((await heed(recallTraining(name))).code).toBe(0);
});

describe("heed long-range SENTENCE", () => {
  test("lists what the last word looks at, head by head", async () => {
    const { code, stdout, stderr } = await heed(withModel("The cat sees the dog."));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^The cat sees the dog\.\n\nhead {2}what dog looks at most\n0 {5}\S+ 0\.\d\d /,
    );
    expect(stdout.trimEnd().split("\n")).toHaveLength(5);
  });

  test("tells how strongly each head connects two words", async () => {
    const args = withModel("The cat, at last, sees the dog.", "--from", "SEES", "--to", "cat");
    const { code, stdout } = await heed(args);
    expect(code).toBe(0);
    expect(stdout).toContain("\nsees looks at cat, 5 words back\n");
    expect(stdout).toMatch(/^head +weight +mean of the others +times +place$/m);
    expect(stdout.match(/^[01] +0\.\d{3} +0\.\d{3} +[\d.]+ × +\d of 8$/gm)).toHaveLength(2);
    for (const line of stdout.split("\n")) expect(stringWidth(line)).toBeLessThanOrEqual(80);
  });

  test("writes JSON, whatever is in the sentence", async () => {
    const { code, stdout } = await heed(
      withModel("--json", "a \u001b[2J \u202e 😀 cat", "--to", "a"),
    );
    expect(code).toBe(0);
    const { text, from, to, connections, seen, attention } = JSON.parse(stdout);
    expect([text.words[from], text.words[to]]).toEqual(["cat", "a"]);
    expect(connections).toHaveLength(2);
    expect(seen).toHaveLength(2);
    expect(attention.weights[0][1]).toHaveLength(text.tokens.length);
    expect(attention.weights[0][1].at(-1)).toHaveLength(text.tokens.length);
  });

  test("draws the attention on demand", async () => {
    const svg = join(folder, "attention.svg");
    const { code } = await heed(withModel("The cat sees the dog.", "--svg", svg));
    expect(code).toBe(0);
    expect(readFileSync(svg, "utf8")).toMatch(/^<svg /);
  });

  test.each([
    [["The cat sees.", "--to", "dog"], 1, /the word must be one of the text's, got "dog"/],
    [["The cat sees.", "--from", "The", "--to", "sees"], 1, /must stand before the other/],
    [[""], 1, /a text must have 1 to 31 tokens, got 0/],
    [["a,".repeat(20)], 1, /a text must have 1 to 31 tokens, got \d+/],
    [["a", "--plot", "x"], 2, /are for the recall task alone/],
    [["a", "--threads", "0"], 2, /It must be a whole number/],
  ])("says what is wrong with %j", async (args, code, message) => {
    const found = await heed(withModel(...args));
    expect(found).toMatchObject({ code, stdout: "" });
    expect(found.stderr).toMatch(message);
  });

  test("says so when the model is of another task, or broken", async () => {
    const other = await heed(["long-range", "--model", "models/translate-en-es", "a"]);
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(other.stderr).toMatch(/must be for "long-range", got one for "translate"/);
    const broken = join(folder, "broken");
    cpSync(model, broken, { recursive: true });
    for (const [change, message] of [
      [{ heads: 3 }, /"width" must be a multiple of "heads"/],
      [{ causal: false }, /"causal" true/],
      [{ positions: 16 }, /"position_encoding\.pe" must be \[16, 8\] as config\.json says/],
      [{ padding: 1e5 }, /"padding" must be that of <pad>, 0, got 100000/],
      [{ vocab: 12 }, /"embedding\.weight" must be \[12, 8\]/],
    ] as const) {
      const config = JSON.parse(readFileSync(join(model, "config.json"), "utf8"));
      writeFileSync(join(broken, "config.json"), JSON.stringify({ ...config, ...change }));
      const { code, stderr } = await heed(["long-range", "--model", broken, "a"]);
      expect(code).toBe(1);
      expect(stderr).toMatch(message);
    }
  });
});

describe("heed long-range --perplexity", () => {
  test("measures how well a text is predicted, better for the language that was learned", async () => {
    const known = join(folder, "known.txt");
    const strange = join(folder, "strange.txt");
    writeFileSync(known, corpus(20, 5));
    writeFileSync(strange, "dog the sees cat. The\n\nhears hears likes\n");
    const [own, other] = await Promise.all(
      [known, strange].map(async (file) => {
        const { code, stdout } = await heed(withModel("--perplexity", file));
        expect(code).toBe(0);
        const found = /^perplexity ([\d.]+) \([\d.]+ nats a token, [\d,]+ tokens\)\n$/.exec(stdout);
        return Number(found?.[1]);
      }),
    );
    expect(own).toBeLessThan(other as number);
    const { stdout } = await heed(withModel("--perplexity", known, "--json"));
    expect(Object.keys(JSON.parse(stdout))).toEqual(["perplexity", "nats", "tokens"]);
  });

  test.each([
    ["a missing file", "none.txt", /none.txt must be readable, got ENOENT/],
    ["an empty file", "empty.txt", /there must be a text, got none/],
  ])("says so for %s", async (_, file, message) => {
    writeFileSync(join(folder, "empty.txt"), "\n");
    const { code, stderr } = await heed(withModel("--perplexity", join(folder, file)));
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });
});

describe("heed long-range --recall", () => {
  test("prints recall by distance for both models, as numbers and bars", async () => {
    const { code, stdout, stderr } = await heed(withRecall());
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/ \? → \S+/);
    expect(stdout).toMatch(/^ +5 {2}[01]\.\d{3} [█▌·]{20} {2}[01]\.\d{3} [█▌·]{20}$/m);
    expect(stdout).toMatch(/^ +9 {2}[01]\.\d{3} /m);
    for (const line of stdout.split("\n"))
      if (!line.includes("→")) expect(stringWidth(line)).toBeLessThanOrEqual(80);
  });

  test("prints JSON, and draws the curves with --plot", async () => {
    const plot = join(folder, "recall.svg");
    const { code, stdout } = await heed(withRecall("--json", "--plot", plot));
    expect(code).toBe(0);
    const { recall } = JSON.parse(stdout);
    for (const { weights, scores } of Object.values<{ weights: number; scores: object[] }>(
      recall,
    )) {
      expect(weights).toBeGreaterThan(1000);
      expect(scores).toMatchObject([
        { distance: 5, count: 3 },
        { distance: 9, count: 3 },
      ]);
    }
    expect(readFileSync(plot, "utf8")).toMatch(/^<svg [\s\S]*attention block[\s\S]*LSTM/);
  });

  test("is the same for the same seed", async () => {
    const [one, two] = await Promise.all([heed(withRecall()), heed(withRecall())]);
    expect(one).toEqual(two);
  });

  test("ends with 130 on SIGINT", async () => {
    const { child, outcome, seen } = start(...withRecall("--count", "100000"));
    await seen("stdout", "distance");
    child.kill("SIGINT");
    expect(await outcome).toMatchObject({ code: 130, stderr: "" });
  });

  test.each([
    [["--distances", "0"], 2, /It must be a whole number from 1 to 500/],
    [["a"], 2, /exclude each other/],
    [["--model", "x"], 2, /'--recall' cannot be used with option '--model <folder>'/],
    [["--svg", "x"], 2, /'--recall' cannot be used with option '--svg <file>'/],
    [["--to", "x"], 2, /'--recall' cannot be used with option '--to <word>'/],
    [["--distances", "5,,9"], 2, /It must be a whole number from 1 to 500/],
    [["--recall-models", "/nowhere"], 1, /\/nowhere\/attention: a model folder must hold/],
  ])("says what is wrong with %j", async (args, code, message) => {
    const found = await heed(withRecall(...args));
    expect(found).toMatchObject({ code, stdout: "" });
    expect(found.stderr).toMatch(message);
  });
});

describe("heed train long-range", () => {
  test("goes on after Ctrl-C to the same bits", async () => {
    const out = join(folder, "stopped");
    const options = training(out, "--epochs", "3");
    const { child, outcome, seen } = start(...options);
    await seen("stderr", /epoch \d, \d+ of/);
    child.kill("SIGINT");
    const { code } = await outcome;
    expect([0, 130]).toContain(code);
    expect(existsSync(join(out, "checkpoint.safetensors"))).toBe(true);
    expect((await heed(options)).code).toBe(0);
    for (const file of ["model.safetensors", "config.json", "checkpoint.safetensors"])
      expect(readFileSync(join(out, file)).equals(readFileSync(join(model, file)))).toBe(true);
    expect(readdirSync(out).sort()).toEqual([
      "checkpoint.safetensors",
      "config.json",
      "model.safetensors",
      "tokenizer.json",
    ]);
  });

  test("says so when the data is missing, empty or no text", async () => {
    const empty = join(folder, "empty");
    mkdirSync(empty);
    const tell = async (): Promise<string> => {
      const args = training(join(folder, "never")).map((arg) => (arg === data ? empty : arg));
      const { code, stderr } = await heed(args);
      expect(code).toBe(1);
      return stderr;
    };
    expect(await tell()).toMatch(/must hold train\.txt or train\.txt\.gz, got neither/);
    writeFileSync(join(empty, "train.txt"), "\n \n");
    expect(await tell()).toMatch(/there must be a line of text, got none/);
    writeFileSync(join(empty, "train.txt"), Uint8Array.of(0xe9, 0x0a));
    expect(await tell()).toMatch(/the file must be UTF-8 text/);
  });
});

describe.each([
  ["long-range", (...more: string[]) => training(join(folder, "odd"), ...more)],
  ["recall", (...more: string[]) => recallTraining("attention", ...more)],
])("heed train %s", (_, withOptions) => {
  test("refuses a width that the heads do not divide", async () => {
    const { code, stderr } = await heed(withOptions("--heads", "3"));
    expect(code).toBe(1);
    expect(stderr).toMatch(/the width must be a multiple of the heads, got 8 and 3/);
  });
});
