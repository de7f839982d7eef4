import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { seeded } from "../support/random.js";
import { heed, temporaryFolder } from "./run.js";

const folder = temporaryFolder();
const data = join(folder, "data");
const out = join(folder, "model");
const SIZES = "--embedding 16 --hidden 16 --heads 2 --batch 16 --dropout 0 --threads 1".split(" ");
const train = (...args: string[]): string[] => [
  ...["train", "answer", "--data", data, "--out", out, "--seed", "4"],
  ...[...SIZES, ...args],
];

/** Who came, and where: a question on a sentence a line. */
function corpus(count: number, seed: number): string {
  const random = seeded(seed);
  const pick = (...words: string[]): string => words[random.integer(words.length)] as string;
  return Array.from({ length: count }, () => {
    const animal = pick("cat", "dog", "bird", "horse", "king");
    const place = pick("garden", "forest", "house", "river", "church");
    const context = `${pick("Now", "Then")} a ${animal} came into the ${place}.`;
    const [question, text] = random.integer(2)
      ? [`Who came into the ${place}?`, animal]
      : [`Where did the ${animal} come?`, place];
    const answers = [{ start: context.indexOf(text), text }];
    return `${JSON.stringify({ context, question, answers })}\n`;
  }).join("");
}

beforeAll(() => {
  mkdirSync(data);
  writeFileSync(join(data, "train.jsonl"), corpus(160, 1));
  writeFileSync(join(data, "dev.jsonl"), corpus(30, 2));
});

describe("heed train answer", () => {
  test("trains a model that answer takes", async () => {
    const { code, stdout, stderr } = await heed(
      train("--epochs", "10", "--rate", "0.01", "--unanswerable", "0.2", "--window", "32"),
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^1\d\d questions, 3\d for validation, 1 thread\(s\)\n/);
    const config = JSON.parse(readFileSync(join(out, "config.json"), "utf8"));
    expect(config).toMatchObject({
      ...{ task: "answer", architecture: "QuestionAnsweringModel", embedding: 16, hidden: 16 },
      ...{ heads: 2, layers: 1, padding: 0, window: 32 },
    });
    const ask = (question: string): Promise<{ stdout: string }> =>
      heed([
        ...["answer", "--model", out, "--question", question],
        ...["--context", "Then a horse came into the church."],
      ]);
    expect((await ask("Who came into the church?")).stdout).toBe("horse\n");
    expect((await ask("Where did the horse come?")).stdout).toBe("church\n");
  });

  test("goes on with the same data only", async () => {
    const again = await heed(train("--epochs", "10", "--rate", "0.01", "--unanswerable", "0"));
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(
      /a checkpoint must be of the same run, got one of 1\d\d questions/,
    );
  });

  test.each<[string, string, RegExp]>([
    ["train.jsonl", "{", /train\.jsonl, line 1: every line must be an object/],
    [
      "train.jsonl",
      '{"question": "a", "context": "b"}',
      /train\.jsonl, line 1: a question must have an answer, got none/,
    ],
    ["dev.jsonl", "", /there must be data to learn from and to choose by, got no validation/],
  ])("says so when %s is %j", async (name, text, message) => {
    const broken = join(folder, "broken");
    mkdirSync(broken, { recursive: true });
    for (const file of ["train.jsonl", "dev.jsonl"])
      writeFileSync(join(broken, file), file === name ? text : corpus(5, 1));
    const args = ["train", "answer", "--data", broken, "--out", join(folder, "x"), ...SIZES];
    const { code, stderr } = await heed(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  test("says so when the data is not there", async () => {
    const none = join(folder, "none");
    const { code, stderr } = await heed(["train", "answer", "--data", none, "--out", out]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/must hold train\.jsonl or train\.jsonl\.gz, got neither/);
  });

  test("says what is wrong with its options before it reads any data", async () => {
    const none = join(folder, "none");
    const heads = [
      "train",
      "answer",
      "--data",
      none,
      "--out",
      out,
      "--hidden",
      "4",
      "--heads",
      "3",
    ];
    expect(await heed(heads)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^heed: train: twice the width must be a multiple of the heads, got 8 and 3\. Give them/,
      ),
    });
    const file = join(folder, "file");
    writeFileSync(file, "");
    const inFile = join(file, "out");
    expect(await heed(["train", "answer", "--data", none, "--out", inFile])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^heed: .*file\/out: the folder must be there or be made, got ENOTDIR: /,
      ),
    });
  });

  test.each([
    ["--heads", "0", /a whole number from 1 to 256/],
    ["--unanswerable", "2", /a number from 0 to 1/],
    ["--window", "4", /a whole number from 16 to 4096/],
  ])("refuses %s %s", async (option, value, message) => {
    const { code, stderr } = await heed(train(option, value));
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
