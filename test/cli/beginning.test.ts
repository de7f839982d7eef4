import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readBeginning } from "../../src/cli/beginning.js";
import { parseSafetensors } from "../../src/io/safetensors.js";
import { unpackWeights } from "../../src/io/weights.js";
import { QuestionAnsweringModel } from "../../src/models/question-answering-model.js";
import type { Module } from "../../src/nn/module.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import type { Lesson } from "../../src/tasks/training.js";
import { withRuntime } from "../support/runtime.js";
import { heed, temporaryFolder } from "./run.js";

/** The config.json of a model that comes with heed, changed. */
function configOf(name: string, change: (config: Record<string, unknown>) => void = () => {}) {
  const config = JSON.parse(readFileSync(`models/${name}/config.json`, "utf8"));
  change(config);
  return config;
}

const lesson = { about: "nothing" } as Lesson<Module, unknown>;

describe("readBeginning()", () => {
  test.each<[string, string, (config: Record<string, unknown>) => void]>([
    ["answer-en", "answer", () => {}],
    ["answer-en", "answer", (config) => Object.assign(config, { window: 8, dropout: 0.5 })],
    ["disambiguate-en", "disambiguate", (config) => Object.assign(config, { temperature: 0.25 })],
    ["recall/lstm", "recall", () => {}],
    [
      "disambiguate-en",
      "disambiguate",
      ({ words }) => {
        for (const { senses } of words as { senses: { examples: string[] }[] }[])
          for (const sense of senses) sense.examples = [];
      },
    ],
  ])(
    "takes %s where only what its weights do not depend on differs",
    async (name, task, change) => {
      const from = await readBeginning(`models/${name}`, task);
      expect(from.lesson(lesson, configOf(name, change)).about).toMatch(
        /^nothing from [0-9a-f]{8}$/,
      );
    },
  );

  test.each<[string, string, (config: Record<string, unknown>) => void, string]>([
    [
      "answer-en",
      "answer",
      (config) => Object.assign(config, { heads: 8 }),
      'whose "heads" is 8, as in this training, got 4. Train with the options and data of that model',
    ],
    [
      "recall/lstm",
      "recall",
      (config) => Object.assign(config, { architecture: "LongRangeDependencyModel" }),
      'whose "architecture" is "LongRangeDependencyModel", as in this training, got "RecurrentModel"',
    ],
    [
      "disambiguate-en",
      "disambiguate",
      ({ words }) => (words as { senses: unknown[] }[])[0]?.senses.reverse(),
      'whose "words" is an array of 18, as in this training, got other ones',
    ],
    [
      "disambiguate-en",
      "disambiguate",
      (config) => Object.assign(config, { project: true }),
      'whose "project" is true, as in this training, got false',
    ],
  ])("refuses %s for another model", async (name, task, change, message) => {
    const from = await readBeginning(`models/${name}`, task);
    expect(() => from.lesson(lesson, configOf(name, change))).toThrow(message);
  });

  test("gives the model the folder's weights", () =>
    withRuntime({}, async (runtime) => {
      const config = configOf("answer-en");
      const build = (of: Runtime) => new QuestionAnsweringModel(of, config);
      const from = await readBeginning("models/answer-en", "answer");
      const begun = from.lesson(
        { about: "", build } as Lesson<QuestionAnsweringModel, unknown>,
        config,
      );
      const weight = begun.build(runtime).stateDict().get("embedding.weight");
      const file = parseSafetensors(readFileSync("models/answer-en/model.safetensors"), "file");
      const stored = unpackWeights(file.tensors, "file").get("embedding.weight")?.values;
      expect(weight?.read()).toEqual(stored);
    }));
});

test("heed train long-range begins with the model that comes with heed, and its tokenizer", async () => {
  const data = temporaryFolder();
  for (const part of ["train", "dev"])
    writeFileSync(join(data, `${part}.txt`), "The king who lived in the castle laughed.\n");
  const args = (heads: string) => [
    ...["train", "long-range", "--data", data, "--from", "models/long-range-en"],
    ...["--heads", heads, "--epochs", "1", "--rate", "0", "--threads", "1"],
  ];
  const refused = await heed([...args("6"), "--out", join(data, "refused")]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('whose "heads" is 6, as in this training, got 12');
  const { code, stderr } = await heed([...args("12"), "--out", join(data, "out")]);
  expect(code).toBe(0);
  // ln 4000 = 8.3 nats is a guess among all tokens, the model's own figure is 4.3
  const [, validation] = /validation (\d+\.\d+)/.exec(stderr) as RegExpExecArray;
  expect(Number(validation)).toBeLessThan(6);
});
