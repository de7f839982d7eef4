import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { seeded } from "../support/random.js";
import { heed, temporaryFolder } from "./run.js";

const folder = temporaryFolder();
const data = join(folder, "data");
const out = join(folder, "model");

/** Paragraphs about towns and singers, and what they are about, a pair a line. */
function corpus(count: number, seed: number): string {
  const random = seeded(seed);
  const of = <T>(list: readonly T[]): T => list[random.integer(list.length)] as T;
  return Array.from({ length: count }, () => {
    const name = of(["Dolmo", "Karelo", "Mirra", "Tano", "Vesko"]);
    const [what, summary] = of([
      ["is a village by the river. It has one church", "village"],
      ["is a singer from the north. She sings every day", "singer"],
    ]);
    return `${name} ${what}. ${name} ${of(["likes", "knows"])} the sea.\t${summary}\n`;
  }).join("");
}

beforeAll(() => {
  mkdirSync(data);
  writeFileSync(join(data, "train.tsv"), corpus(120, 1));
  writeFileSync(join(data, "dev.tsv"), corpus(20, 2));
});

describe("heed train summarize", () => {
  test("trains a model that summarize takes", async () => {
    const args = [
      ...["train", "summarize", "--data", data, "--out", out, "--threads", "1", "--seed", "4"],
      ...["--tokenizer", "models/translate-en-es/tokenizer.json", "--cut", "30", "--rate", "0.03"],
      ..."--embedding 16 --hidden 16 --batch 10 --epochs 12 --dropout 0 --hiding 0.05".split(" "),
    ];
    const { code, stdout, stderr } = await heed(args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^120 pairs, 20 for validation, 1 thread\(s\)\n/);
    expect(JSON.parse(readFileSync(join(out, "config.json"), "utf8"))).toMatchObject({
      ...{ task: "summarize", architecture: "SummarizationModel", vocab: 4000 },
      ...{ embedding: 16, hidden: 16, layers: 1, bridge: "sum", padding: 0, sourceTokens: 30 },
    });
    const lines = "Tano is a village by the river.\nTano is a singer from the north.\n";
    const found = await heed(["summarize", "--model", out, "--lines"], lines);
    expect(found).toEqual({ code: 0, signal: null, stdout: "village\nsinger\n", stderr: "" });
  });

  test("learns from exercises first when it is told to", async () => {
    const args = (more: string[]): string[] => [
      ...["train", "summarize", "--data", data, "--out", join(folder, "exercised")],
      ...["--tokenizer", "models/translate-en-es/tokenizer.json", "--threads", "1"],
      ..."--embedding 4 --hidden 4 --epochs 2 --exercises 1".split(" "),
      ...more,
    ];
    const missing = await heed(args([]));
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toMatch(/must hold exercises\.tsv or exercises\.tsv\.gz, got neither/);
    writeFileSync(join(data, "exercises.tsv"), corpus(40, 3));
    const { code, stderr } = await heed(args(["--batch", "20"]));
    expect(code).toBe(0);
    expect(stderr).toMatch(/^160 pairs, 20 for validation/);
    expect(stderr).toMatch(/epoch 1: loss/);
  });

  test.each([
    ["--bridge", "max", /Allowed choices are sum, linear/],
    ["--hiding", "1", /a number from 0 to 0\.9/],
    ["--cut", "0", /a whole number from 1 to 1000/],
  ])("refuses %s %s", async (option, value, message) => {
    const args = ["train", "summarize", "--data", data, "--out", out, option, value];
    const { code, stderr } = await heed(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
