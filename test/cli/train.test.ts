import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { parseCheckpoint, serializeCheckpoint } from "../../src/io/checkpoint.js";
import { seeded } from "../support/random.js";
import { heed, type Outcome, start, temporaryFolder } from "./run.js";

const folder = temporaryFolder();
const data = join(folder, "data");
const SIZES = "--embedding 8 --hidden 8 --batch 10 --threads 1 --seed 4".split(" ");

/** Sentences of a toy language and their translations, a pair a line. */
function corpus(count: number, seed: number): string {
  const random = seeded(seed);
  const words = { cat: "gato", dog: "perro", sees: "ve", hears: "oye", big: "grande" };
  return Array.from({ length: count }, () => {
    const chosen = Array.from(
      { length: 2 + random.integer(4) },
      () => Object.entries(words)[random.integer(5)] as [string, string],
    );
    return `${chosen.map(([word]) => word).join(" ")}\t${chosen.map(([, word]) => word).join(" ")}\n`;
  }).join("");
}

const args = (out: string, ...more: string[]): string[] => [
  ...["train", "translate", "--data", data, "--out", out],
  ...SIZES,
  ...more,
];

function train(out: string, ...more: string[]): Promise<Outcome> {
  return heed(args(out, ...more));
}

beforeAll(() => {
  mkdirSync(data);
  writeFileSync(join(data, "train.tsv.gz"), gzipSync(corpus(200, 1)));
  writeFileSync(join(data, "dev.tsv"), corpus(20, 2));
});

describe("heed train translate", () => {
  const whole = join(folder, "whole");

  test("trains a model that translate takes, and tells how the loss falls", async () => {
    const { code, stdout, stderr } = await train(whole, "--epochs", "4", "--rate", "0.05");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(readdirSync(whole).sort()).toEqual([
      "checkpoint.safetensors",
      "config.json",
      "model.safetensors",
      "tokenizer.json",
    ]);
    expect(stderr).toMatch(/^200 pairs, 20 for validation, 1 thread\(s\)\n/);
    expect(stderr).toMatch(/the best model is in [^\n]+\n$/);
    const losses = [...stderr.matchAll(/validation (\d+\.\d+)/g)].map(([, loss]) => Number(loss));
    expect(losses).toHaveLength(4);
    // ln 4000 = 8.3 is a guess among all tokens
    expect(losses[0]).toBeLessThan(8.3);
    expect(losses[3]).toBeLessThan(0.8 * (losses[0] as number));
    const translated = await heed(["translate", "--model", whole, "cat sees dog"]);
    expect(translated).toMatchObject({ code: 0, stderr: "" });
  });

  test("goes on after Ctrl-C to the same bits", async () => {
    const out = join(folder, "stopped");
    const options = args(out, "--epochs", "4", "--rate", "0.05");
    let code: number | null = null;
    let stops = 0;
    for (; code !== 0 && stops < 3; stops++) {
      const { child, outcome, seen } = start(...options);
      await seen("stderr", /epoch \d, \d+ of 20/);
      child.kill("SIGINT");
      const found = await outcome;
      code = found.code;
      if (code === 0) break;
      expect(code).toBe(130);
      expect(found.stderr).toContain("stopping; once more to stop at once\n");
      expect(found.stderr).toContain("stopped; the same command goes on from here\n");
      expect(existsSync(join(out, "checkpoint.safetensors"))).toBe(true);
    }
    expect(stops).toBeGreaterThan(0);
    const last = await heed(options);
    expect(last.code).toBe(0);
    expect(last.stderr).toMatch(/going on after \d+ steps/);
    for (const file of ["checkpoint.safetensors", "model.safetensors", "config.json"])
      expect(readFileSync(join(out, file)).equals(readFileSync(join(whole, file)))).toBe(true);
  });

  test("says so, and leaves the model as it is, when it is trained already", async () => {
    const before = readFileSync(join(whole, "model.safetensors"));
    const { code, stderr } = await train(whole, "--epochs", "4", "--rate", "0.05");
    expect(code).toBe(0);
    expect(stderr).toContain("going on after 80 steps");
    expect(stderr).toMatch(/the model in [^\n]+ is still the best\n$/);
    expect(readFileSync(join(whole, "model.safetensors")).equals(before)).toBe(true);
  });

  test("learns to look where links say", async () => {
    const linked = join(folder, "linked");
    mkdirSync(linked);
    // every token from the first, where no learning without links would look
    const lines = corpus(200, 1)
      .trimEnd()
      .split("\n")
      .map(
        (line) =>
          `${line}\t${(line.split("\t")[1] as string)
            .split(" ")
            .map((_, at) => `0-${at}`)
            .join(" ")}`,
      );
    writeFileSync(join(linked, "train.tsv"), lines.join("\n"));
    writeFileSync(join(linked, "dev.tsv"), corpus(20, 2));
    const out = join(folder, "looking");
    const options = ["--data", linked, "--epochs", "2", "--rate", "0.05", "--guide", "2"];
    expect(await train(out, ...options)).toMatchObject({ code: 0 });
    const { stdout } = await heed(["translate", "--json", "--model", out, "cat sees dog"]);
    const [{ attention }] = JSON.parse(stdout).sentences as [{ attention: number[][] }];
    expect(attention.length).toBeGreaterThan(1);
    // tokens: start, the first, …
    for (const row of attention) expect(row[1]).toBeGreaterThan(0.8);
  });

  test("begins with the weights of a model", async () => {
    const out = join(folder, "from");
    // at a rate of 0 it ends with them too
    const options = ["--from", whole, "--epochs", "1", "--rate", "0", "--limit", "20"];
    expect(await train(out, ...options)).toMatchObject({ code: 0 });
    for (const file of ["model.safetensors", "tokenizer.json"])
      expect(readFileSync(join(out, file)).equals(readFileSync(join(whole, file)))).toBe(true);
  });

  test("begins with int8 weights, and learns on", async () => {
    const out = join(folder, "from-int8");
    const packed = join(folder, "int8-whole");
    const short = ["--limit", "20", "--epochs", "1"];
    await train(packed, "--from", whole, "--rate", "0", "--storage", "int8", ...short);
    const { code, stderr } = await train(out, "--from", packed, "--rate", "0.01", ...short);
    expect(code).toBe(0);
    const [, first] = /loss (\d+\.\d+),/.exec(stderr) as RegExpExecArray;
    // ln 4000 = 8.3 is a guess among all tokens
    expect(Number(first)).toBeLessThan(5);
  });

  test.each<[string, (options: string[]) => string[], RegExp]>([
    [
      "of other sizes",
      (options) => [...options, "--from", whole, "--hidden", "9"],
      /whole must hold a model whose "hidden" is 9, as in this training, got 8\. /,
    ],
    [
      "and another tokenizer",
      (options) => [...options, "--from", whole, "--tokenizer", "models/recall/tokenizer.json"],
      /train: --from must come without --tokenizer, got both/,
    ],
    [
      "for another task",
      (options) => [...options, "--from", "models/recall/attention"],
      /recall\/attention must hold a model for "translate", got one for "recall"\. /,
    ],
    [
      "that is none",
      (options) => [...options, "--from", data],
      /a model folder must hold config\.json, .* got none of them/,
    ],
  ])("does not begin with a model %s", async (_, options, message) => {
    const { code, stderr } = await heed(options(args(join(folder, "not-begun"))));
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr.split("\n").at(-2)).toMatch(/^heed: /);
  });

  test("does not go on from where another beginning was", async () => {
    const out = join(folder, "from");
    const { code, stderr } = await train(out, "--epochs", "2", "--rate", "0", "--limit", "20");
    expect(code).toBe(1);
    expect(stderr).toMatch(/same run, got one of 20 pairs \(\w+\) from \w+ in batches of 10 /);
  });

  test("writes int8 weights on demand", async () => {
    const out = join(folder, "int8");
    expect(await train(out, "--epochs", "1", "--limit", "20", "--storage", "int8")).toMatchObject({
      code: 0,
    });
    const [large, small] = [whole, out].map((path) =>
      readFileSync(join(path, "model.safetensors")),
    );
    expect(small?.includes('"I8"')).toBe(true);
    expect(small?.length).toBeLessThan(0.7 * (large?.length as number));
  });

  test.each<[string, string[], RegExp]>([
    [
      "other sizes",
      ["--hidden", "9"],
      /same model, got 256 values for "encoder\.rnn\.weight_ih_l0" \[36, 8\] and \d+ more/,
    ],
    [
      "other pairs",
      ["--limit", "100"],
      /same run, got one of 200 pairs \(\w+\) in batches of 10 by seed 4 for 100 pairs/,
    ],
    ["another seed", ["--seed", "5"], /same run, got one of .* by seed 4 for .* by seed 5/],
  ])("does not go on with %s", async (_, change, message) => {
    const before = readFileSync(join(whole, "checkpoint.safetensors"));
    const { code, stderr } = await train(whole, "--epochs", "4", ...change);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /heed: train: [^\n]*\. Train with the options and data of that run, or begin anew in an empty folder\n$/,
    );
    expect(stderr).toMatch(message);
    expect(readFileSync(join(whole, "checkpoint.safetensors")).equals(before)).toBe(true);
  });

  test.each<[string, (checkpoint: string) => void, RegExp]>([
    ["cut", (path) => truncateSync(path, 5000), /checkpoint\.safetensors/],
    [
      "a model's weights",
      (path) => copyFileSync(join(whole, "model.safetensors"), path),
      /must hold "training"/,
    ],
    ["text", (path) => writeFileSync(path, "hello"), /checkpoint\.safetensors/],
  ])("says what to do with a checkpoint that is %s", async (_, breakIt, message) => {
    const out = join(folder, "broken");
    mkdirSync(out);
    const checkpoint = join(out, "checkpoint.safetensors");
    copyFileSync(join(whole, "checkpoint.safetensors"), checkpoint);
    breakIt(checkpoint);
    const before = readFileSync(checkpoint);
    const { code, stderr } = await train(out);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^heed: [^\n]+\. Remove the file to begin anew\n$/);
    expect(stderr).toMatch(message);
    expect(readFileSync(checkpoint).equals(before)).toBe(true);
    rmSync(out, { recursive: true });
  });

  test.each<[string, () => string[], RegExp]>([
    [
      "the tokenizer is missing",
      () => args(join(folder, "x"), "--tokenizer", "none.json"),
      /a tokenizer at none\.json, got no such file/,
    ],
    [
      "the tokenizer is broken",
      () => args(join(folder, "x"), "--tokenizer", join(data, "dev.tsv")),
      /dev\.tsv/,
    ],
    [
      "the data is not there",
      () => ["train", "translate", "--data", join(folder, "none"), "--out", join(folder, "x")],
      /must hold train\.tsv or train\.tsv\.gz, got neither\. Give the folder with --data/,
    ],
    ["OUT cannot be made", () => args(join(data, "dev.tsv", "out")), /ENOTDIR/],
    ["OUT is a file", () => args(join(data, "dev.tsv")), /which is no folder/],
  ])("says so when %s", async (_, options, message) => {
    const { code, stderr } = await heed(options());
    expect(code).toBe(1);
    expect(stderr).toMatch(/^heed: [^\n]+\n$/);
    expect(stderr).toMatch(message);
  });

  test("says so when the model cannot be written, and leaves the old files", async () => {
    const out = join(folder, "unwritable");
    mkdirSync(join(out, "tokenizer.json"), { recursive: true });
    const { code, stderr } = await train(out, "--epochs", "1", "--limit", "20");
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^heed: [^\n]*tokenizer\.json: the file must be writable, got [^\n]+\n$/,
    );
    expect(readdirSync(out).filter((file) => file.endsWith(".tmp"))).toEqual([]);
  });

  test.each(["config.json", "model.safetensors"])(
    "does not write over a model without a checkpoint: %s",
    async (file) => {
      const out = join(folder, `finished-${file}`);
      mkdirSync(out);
      cpSync(join(whole, file), join(out, file));
      const { code, stderr } = await train(out, "--epochs", "1", "--limit", "20");
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^heed: train: \S+ must hold a checkpoint to go on from, or no model, got a model without one \(\S+\)\. [^\n]+\n$/,
      );
      expect(readdirSync(out)).toEqual([file]);
      expect(readFileSync(join(out, file)).equals(readFileSync(join(whole, file)))).toBe(true);
    },
  );

  test("does not speak of a model that is gone", async () => {
    const out = join(folder, "gone");
    cpSync(whole, out, { recursive: true });
    for (const file of ["config.json", "model.safetensors", "tokenizer.json"])
      rmSync(join(out, file));
    const { code, stderr } = await train(out, "--epochs", "4", "--rate", "0.05");
    expect(code).toBe(1);
    expect(stderr).toMatch(/heed: train: \S+ must hold the best model of this run, got none, /);
  });

  test.runIf(existsSync("/proc/self"))("ends at once where no folder can be made", async () => {
    const { code, stderr } = await train("/proc/none/out", "--epochs", "1");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^heed: \/proc\/none\/out: the folder must be there or be made, got /);
  });

  test("goes on from no checkpoint with numbers that are not finite", async () => {
    const out = join(folder, "poisoned");
    cpSync(whole, out, { recursive: true });
    const path = join(out, "checkpoint.safetensors");
    for (const prefix of ["model.", "optimizer.mean.", "optimizer.variance."]) {
      const state = parseCheckpoint(readFileSync(join(whole, "checkpoint.safetensors")), "whole");
      const key = [...state.tensors.keys()].find((name) => name.startsWith(prefix)) as string;
      const values = (state.tensors.get(key) as Float32Array).slice();
      values[1] = Number.NaN;
      const tensors = new Map([...state.tensors, [key, values]]);
      writeFileSync(path, serializeCheckpoint({ ...state, tensors }));
      const { code, stderr } = await train(out, "--epochs", "5", "--rate", "0.05");
      expect(code).toBe(1);
      expect(stderr).toContain(`"${key}" must hold finite numbers, got NaN at 1. Remove the file`);
    }
    const model = "model.safetensors";
    expect(readFileSync(join(out, model)).equals(readFileSync(join(whole, model)))).toBe(true);
  });

  test("keeps the place of a checkpoint in plain fields", () => {
    const path = join(whole, "checkpoint.safetensors");
    const { about, epoch, batch, step, skipped, stale } = parseCheckpoint(readFileSync(path), path);
    expect({ epoch, batch, step, skipped, stale }).toEqual({
      epoch: 4,
      batch: 0,
      step: 80,
      skipped: 0,
      stale: 0,
    });
    expect(about).toMatch(/^200 pairs \([0-9a-f]{8}\) in batches of 10 by seed 4$/);
  });
});
