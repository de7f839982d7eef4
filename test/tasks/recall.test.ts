import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { RecurrentModel } from "../../src/models/recurrent-model.js";
import type { Module } from "../../src/nn/module.js";
import { init } from "../../src/node.js";
import { noGrad } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import {
  Recall,
  type RecallConfig,
  type RecallModel,
  recallBatch,
  recallLogits,
  recallModel,
} from "../../src/tasks/recall.js";
import { recallSequence, recallSequences, recallWords } from "../../src/tasks/recall-sequences.js";
import { recallLesson } from "../../src/tasks/recall-training.js";
import { trainLesson } from "../../src/tasks/training.js";
import { tensor } from "../../src/tensor/create.js";
import { expectSameBits } from "../support/compare.js";
import { withRuntime } from "../support/runtime.js";

const tokenizer = loadTokenizer(readFileSync("models/recall/attention/tokenizer.json"));
const words = recallWords(tokenizer);
const SIZES = { vocab: tokenizer.vocabSize, width: 8, heads: 2 };
const CONFIGS: readonly RecallConfig[] = [
  { ...SIZES, architecture: "LongRangeDependencyModel" },
  { ...SIZES, architecture: "RecurrentModel" },
];

function make(runtime: Runtime, config: RecallConfig): RecallModel {
  runtime.seed(3);
  return recallModel(runtime, config);
}

describe("recallSequence()", () => {
  test("puts the marked word so many positions before the question", () => {
    for (const distance of [1, 5, 500]) {
      const { ids, answer } = recallSequence(words, distance, 7);
      expect(ids.at(-1)).toBe(words.question);
      expect(ids[ids.length - 1 - distance]).toBe(answer);
      expect(words.marked).toContain(answer);
      const others = ids.slice(0, -1).filter((_, at) => at !== ids.length - 1 - distance);
      expect(others.every((id) => words.plain.includes(id))).toBe(true);
      expect(ids.length - distance).toBeLessThanOrEqual(11);
    }
  });

  test("is the same for the same seed, and another for another", () => {
    expect(recallSequence(words, 20, 5)).toEqual(recallSequence(words, 20, 5));
    expect(recallSequence(words, 20, 5)).not.toEqual(recallSequence(words, 20, 6));
  });
});

describe("recallSequences()", () => {
  test("covers distances from 5 to 500, those of every scale as often", () => {
    const distances = recallSequences(words, 7000, 1).map(({ distance }) => distance);
    expect(Math.min(...distances)).toBe(5);
    expect(Math.max(...distances)).toBe(500);
    const steps = [5, 10, 20, 40, 80, 160, 320, 501];
    steps.slice(1).forEach((next, index) => {
      const inside = distances.filter((d) => d >= (steps[index] as number) && d < next);
      expect(inside).toHaveLength(1000);
    });
  });

  test("asks for every marked word", () => {
    const answers = new Set(recallSequences(words, 2000, 1).map(({ answer }) => answer));
    expect(answers.size).toBe(words.marked.length);
  });
});

describe("recallWords()", () => {
  test("finds words in both cases", () => {
    expect(words.marked).toHaveLength(64);
    expect(words.marked.map((id) => tokenizer.tokenOf(id).toLowerCase())).toEqual(
      words.plain.map((id) => tokenizer.tokenOf(id)),
    );
  });

  test("refuses a vocabulary without them", () => {
    const other = loadTokenizer(readFileSync("test/fixtures/io/wordpiece.tokenizer.json"));
    expect(() => recallWords(other)).toThrow("the tokenizer must know words in lower and in upper");
  });
});

describe.each(CONFIGS)("Recall with $architecture", (config) => {
  test("gives each sequence of a batch the logits it gets alone", async () => {
    await withRuntime({}, (runtime) => {
      const model = make(runtime, config);
      const sequences = [3, 9, 5].map((distance) => recallSequence(words, distance, distance));
      runtime.scope(() =>
        noGrad(runtime, () => {
          const together = recallLogits(model, recallBatch(runtime, sequences, words.padding));
          sequences.forEach((sequence, row) => {
            const alone = recallLogits(model, recallBatch(runtime, [sequence], words.padding));
            const mine = together.read().slice(row * config.vocab, (row + 1) * config.vocab);
            expectSameBits(mine, alone.read(), `sequence ${row}`);
          });
        }),
      );
      model.dispose();
    });
  });

  test("tells a score for each distance, the same on two threads", async () => {
    const score = (runtime: Runtime) => {
      const recall = new Recall(make(runtime, config), tokenizer);
      return recall.scores({ distances: [5, 40], count: 20 });
    };
    const one = await withRuntime({ splitting: false }, score);
    expect(one.map(({ distance, count }) => [distance, count])).toEqual([
      [5, 20],
      [40, 20],
    ]);
    expect(await withRuntime({ threads: 2 }, score)).toEqual(one);
    for (const { weight } of one)
      if (config.architecture === "RecurrentModel") expect(weight).toBeNull();
      else expect(weight).toBeGreaterThan(0);
  });

  test("tells what the question gives to the marked word, the mean of the heads", async () => {
    await withRuntime({ splitting: false }, async (runtime) => {
      const model = make(runtime, config);
      const recall = new Recall(model, tokenizer);
      const [score] = await recall.scores({ distances: [7], count: 1 });
      if (model instanceof RecurrentModel) return expect(score?.weight).toBeNull();
      const ids = recall.example(7).words.map((word) => tokenizer.idOf(word) as number);
      const seen = runtime.scope(() => {
        const { weights } = model.withWeights(tensor(runtime, ids, [1, ids.length], "i32"));
        const last = [0, 1].map((head) => (head + 1) * ids.length * ids.length - ids.length);
        return last.map((row) => weights.read()[row + ids.length - 8] as number);
      });
      expect(score?.weight).toBeCloseTo(((seen[0] as number) + (seen[1] as number)) / 2, 6);
    });
  });

  test("counts the right answers", async () => {
    await withRuntime({ splitting: false }, async (runtime) => {
      const recall = new Recall(make(runtime, config), tokenizer);
      const { words: shown, wanted, answer } = recall.example(5);
      expect(shown.at(-1)).toBe("?");
      expect(shown.at(-6)).toBe(wanted);
      const [{ right } = { right: -1 }] = await recall.scores({ distances: [5], count: 1 });
      expect(right).toBe(answer === wanted ? 1 : 0);
    });
  });

  test("stops at a signal, and gives all memory back", async () => {
    await withRuntime({ splitting: false }, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const recall = new Recall(make(runtime, config), tokenizer);
      const controller = new AbortController();
      const reason = new Error("enough");
      const scoring = recall.scores({
        distances: [5, 6, 7],
        count: 2,
        signal: controller.signal,
        onScore: () => controller.abort(reason),
      });
      await expect(scoring).rejects.toBe(reason);
      recall.dispose();
      recall.dispose();
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });
});

describe("Recall", () => {
  test("refuses distances and counts out of range", async () => {
    await withRuntime({}, async (runtime) => {
      const recall = new Recall(make(runtime, CONFIGS[0] as RecallConfig), tokenizer);
      for (const distance of [0, 501, 2.5])
        await expect(recall.scores({ distances: [distance] })).rejects.toThrow(
          `recall: a distance must be a whole number from 1 to 500, got ${distance}`,
        );
      await expect(recall.scores({ count: 0 })).rejects.toThrow(RangeError);
      expect(() => recall.example(501)).toThrow(RangeError);
    });
  });

  test("learns to find the marked word over short distances", async () => {
    await withRuntime({ splitting: false, poison: false }, async (runtime) => {
      const config = { ...SIZES, width: 32, heads: 1, architecture: "LongRangeDependencyModel" };
      const lesson = recallLesson({
        config: config as RecallConfig,
        words,
        sequences: 1500,
        validation: 30,
        seed: 1,
      });
      const short = lesson.items.filter(({ distance }) => distance < 20);
      let best = Number.NaN;
      let state: Map<string, Float32Array> | null = null;
      await trainLesson(
        { ...lesson, items: short, validation: short.slice(0, 30) },
        {
          runtime,
          epochs: 8,
          batch: 8,
          rate: 0.01,
          warmup: 20,
          weightDecay: 0.01,
          seed: 1,
          patience: 9,
          resume: null,
          checkpointEvery: 1e9,
          checkpoint: async () => {},
          onEvent: () => {},
          onBest: async (model: Module, loss: number) => {
            best = loss;
            state = new Map(
              [...model.stateDict()].map(([name, x]) => [name, x.read() as Float32Array]),
            );
          },
        },
      );
      // ln 64 = 4.2 is a guess among the marked words
      expect(best).toBeLessThan(1);
      expect(state).not.toBeNull();
    });
  });
});

describe("Recall, with the models that come with heed", () => {
  test.each(["attention", "lstm"])("finds the marked word 500 words back: %s", async (name) => {
    const runtime = await init({ threads: 1 });
    const recall = await runtime.load(`models/recall/${name}`, "recall");
    const [near, far] = await recall.scores({ distances: [5, 500], count: 48 });
    expect(near?.right).toBe(48);
    expect(far?.right).toBe(48);
    if (name === "attention") expect(far?.weight).toBeGreaterThan(0.9);
    runtime.dispose();
  });
});
