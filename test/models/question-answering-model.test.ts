import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import {
  type MarkedContext,
  type PaddedIds,
  type QuestionAnsweringConfig,
  QuestionAnsweringModel,
} from "../../src/models/question-answering-model.js";
import { backward, noGrad } from "../../src/ops/tape.js";
import { AdamW } from "../../src/optim/adam-w.js";
import { clipGradientNorm } from "../../src/optim/clip.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { padRows } from "../../src/train/batches.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime, withRuntime } from "../support/runtime.js";

const SIZES = { vocab: 29, embedding: 12, hidden: 10, heads: 4 };
const CONFIGS: readonly (readonly [name: string, config: QuestionAnsweringConfig])[] = [
  ["a context that attends", SIZES],
  ["two layers", { ...SIZES, layers: 2 }],
  ["the bare attended vectors", { ...SIZES, features: "bare" }],
  ["a question that attends", { ...SIZES, attends: "question" }],
  ["the textbook's form", { ...SIZES, attends: "question", features: "bare" }],
];
const QUESTIONS = [[5, 9, 16, 4, 3], [11, 7, 3], [3], [8, 5]];
const CONTEXTS = [[2, 9, 18, 4, 3, 8, 6], [12], [6, 6, 15, 10, 3, 1, 2, 9, 4], [2, 8, 27, 3]];
const MARKS = CONTEXTS.map((row) => row.map((id) => 20 + (id % 3)));

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

function batch(rows: readonly number[][], on: Runtime = runtime): PaddedIds {
  const { values, lengths, longest } = padRows(rows, 0);
  return { ids: tensor(on, values, [rows.length, longest]), lengths: tensor(on, lengths) };
}

function marked(rows: readonly number[][], marks: readonly number[][]): MarkedContext {
  return { ...batch(rows), marks: [batch(marks).ids] };
}

function make(config: QuestionAnsweringConfig, on: Runtime = runtime): QuestionAnsweringModel {
  on.seed(3);
  return new QuestionAnsweringModel(on, config);
}

/** Row `row` of a tensor [B, L, …], cut to `length`. */
function rowOf(x: Tensor, row: number, length: number): number[] {
  const [rows, longest] = x.shape as [number, number];
  const inner = x.size / (rows * longest);
  return [...x.read().slice(row * longest * inner, (row * longest + length) * inner)];
}

describe.each(CONFIGS)("QuestionAnsweringModel with %s", (_, config) => {
  const [from, to] = config.attends === "question" ? [QUESTIONS, CONTEXTS] : [CONTEXTS, QUESTIONS];

  test("gives each row of a padded batch the bits it gives alone", () => {
    const model = make(config);
    runtime.scope(() => {
      const all = model.withWeights(batch(QUESTIONS), marked(CONTEXTS, MARKS));
      const width = all.weights.shape[2] as number;
      from.forEach((row, index) => {
        const pick = (rows: readonly number[][]): number[][] => [rows[index] as number[]];
        const alone = model.withWeights(
          batch(pick(QUESTIONS)),
          marked(pick(CONTEXTS), pick(MARKS)),
        );
        const { length } = row;
        expectSameBits(rowOf(all.start, index, length), alone.start.read(), `start ${index}`);
        expectSameBits(rowOf(all.end, index, length), alone.end.read(), `end ${index}`);
        const weights = rowOf(all.weights, index, length);
        const seen = (to[index] as number[]).length;
        for (let query = 0; query < length; query++) {
          const padded = weights.slice(query * width, (query + 1) * width);
          expectSameBits(
            padded.slice(0, seen),
            rowOf(alone.weights, 0, length).slice(query * seen, (query + 1) * seen),
          );
          expect(padded.slice(seen).every((weight) => weight === 0)).toBe(true);
        }
      });
    });
    model.dispose();
  });

  test("gives padding the logit −∞, so that it can not be chosen", () => {
    const model = make(config);
    runtime.scope(() => {
      const { start, end } = model.forward(batch(QUESTIONS), batch(CONTEXTS));
      for (const logits of [start, end])
        from.forEach(({ length }, row) => {
          const [, longest] = logits.shape as [number, number];
          const values = rowOf(logits, row, longest);
          expect(values.slice(0, length).every(Number.isFinite)).toBe(true);
          expect(values.slice(length).every((value) => value === -Infinity)).toBe(true);
        });
    });
    model.dispose();
  });

  test("gives the same logits with weights, without, and in training", () => {
    const model = make(config);
    runtime.scope(() => {
      const question = batch(QUESTIONS);
      const context = marked(CONTEXTS, MARKS);
      const bare = model.forward(question, context);
      const mean = model.withWeights(question, context);
      const heads = model.withWeights(question, context, { average: false });
      model.train();
      const trained = model.forward(question, context);
      for (const other of [mean, heads, trained]) {
        expectSameBits(other.start.read(), bare.start.read(), "start");
        expectSameBits(other.end.read(), bare.end.read(), "end");
      }
      const [rows, queries, keys] = mean.weights.shape;
      expect(heads.weights.shape).toEqual([rows, config.heads, queries, keys]);
      // the mean of four weights that sum to 1 each, one f32 a key
      for (const total of sumsOf(mean.weights)) expect(Math.abs(total - 1)).toBeLessThan(1e-6);
    });
    model.dispose();
  });

  test("is trained to the same weights on one thread and two", async () => {
    const trained = [];
    for (const threads of [1, 2])
      trained.push(
        await withRuntime({ threads }, (on) =>
          trainFollowing(make({ ...config, dropout: 0.1 }, on), 10),
        ),
      );
    const [first, second] = trained as [Trained, Trained];
    for (const [name, values] of first.weights)
      expectSameBits(second.weights.get(name) ?? [], values, `${name} after 10 steps`);
  });
});

describe("QuestionAnsweringModel", () => {
  test("names its tensors as a PyTorch user does", () => {
    const model = make({ ...SIZES, layers: 2 });
    const shapes = Object.fromEntries([...model.stateDict()].map(([name, x]) => [name, x.shape]));
    const lstm = (name: string): [string, number[]][] =>
      ["l0", "l0_reverse", "l1", "l1_reverse"].flatMap((suffix): [string, number[]][] => [
        [`${name}.weight_ih_${suffix}`, [40, suffix.startsWith("l0") ? 12 : 20]],
        [`${name}.weight_hh_${suffix}`, [40, 10]],
        [`${name}.bias_ih_${suffix}`, [40]],
        [`${name}.bias_hh_${suffix}`, [40]],
      ]);
    expect(shapes).toEqual({
      "embedding.weight": [29, 12],
      ...Object.fromEntries([...lstm("question_encoder"), ...lstm("context_encoder")]),
      "attention.in_proj_weight": [60, 20],
      "attention.in_proj_bias": [60],
      "attention.out_proj.weight": [20, 20],
      "attention.out_proj.bias": [20],
      "start_predictor.weight": [1, 20],
      "start_predictor.bias": [1],
      "end_predictor.weight": [1, 20],
      "end_predictor.bias": [1],
    });
    model.dispose();
  });

  test("learns to point at what follows the word that is asked for", async () => {
    await withRuntime({}, (on) => {
      const { losses } = trainFollowing(make({ ...SIZES, hidden: 16 }, on), 120);
      const mean = (values: number[]): number =>
        values.reduce((sum, value) => sum + value, 0) / values.length;
      // ln 8 = 2.08 is a guess among the eight tokens of a context
      expect(mean(losses.slice(0, 10))).toBeGreaterThan(1.8);
      expect(mean(losses.slice(-10))).toBeLessThan(0.5);
    });
  });

  test("adds the embeddings of marks to the context's", () => {
    const model = make(SIZES);
    runtime.scope(() => {
      const question = batch(QUESTIONS);
      const [plain, one, other] = [
        batch(CONTEXTS),
        marked(CONTEXTS, MARKS),
        marked(
          CONTEXTS,
          MARKS.map((row) => row.map(() => 25)),
        ),
      ].map((context) => model.forward(question, context).start.read());
      expect(one).not.toEqual(plain);
      expect(other).not.toEqual(one);
      // An embedding of zeros is no mark.
      const table = model.stateDict().get("embedding.weight") as Tensor;
      const values = table.read();
      values.fill(0, 25 * SIZES.embedding, 26 * SIZES.embedding);
      table.write(values);
      const nought = marked(
        CONTEXTS,
        MARKS.map((row) => row.map(() => 25)),
      );
      expectSameBits(model.forward(question, nought).start.read(), plain as Float32Array);
    });
    model.dispose();
  });

  test("drops elements in training only, by the runtime's seed", () => {
    const model = make({ ...SIZES, dropout: 0.3 });
    const start = (): Float32Array =>
      runtime.scope(
        () => model.forward(batch(QUESTIONS), batch(CONTEXTS)).start.read() as Float32Array,
      );
    expectSameBits(start(), start());
    model.train();
    runtime.seed(9);
    const first = start();
    expect(start(), "the next masks").not.toEqual(first);
    runtime.seed(9);
    expectSameBits(start(), first);
    model.dispose();
  });

  test("drops what the predictors see: all of it with probability 1", () => {
    const model = make({ ...SIZES, dropout: 1 }).train();
    const state = model.stateDict();
    const set = (name: string, value: number): void => {
      const weight = state.get(name) as Tensor;
      weight.write(new Float32Array(weight.size).fill(value));
    };
    set("attention.out_proj.bias", 3);
    set("start_predictor.bias", 0.5);
    runtime.scope(() => {
      const { start } = model.forward(batch([[5, 9]]), batch([[2, 9, 18]]));
      expect([...start.read()]).toEqual([0.5, 0.5, 0.5]);
    });
    model.dispose();
  });

  test("loss() is the mean cross-entropy of first and last tokens", () => {
    const model = make(SIZES);
    runtime.scope(() => {
      const start = tensor(runtime, [0, Math.log(3), -Infinity, 0], [2, 2]);
      const end = tensor(runtime, [0, 0, 0, Math.log(7)], [2, 2]);
      const starts = tensor(runtime, [1, 1], [2], "i32");
      const ends = tensor(runtime, [0, 1], [2], "i32");
      // −ln of 3/4, 1, 1/2 and 7/8, averaged
      const expected = -Math.log((3 / 4) * (1 / 2) * (7 / 8)) / 4;
      expect(model.loss({ start, end }, starts, ends).item()).toBeCloseTo(expected, 6);
    });
    model.dispose();
  });

  test("refuses what does not fit, with one clear error each", () => {
    const model = make(SIZES);
    runtime.scope(() => {
      const question = batch(QUESTIONS);
      const context = batch(CONTEXTS);
      const floats = tensor(runtime, new Float32Array(context.ids.size), context.ids.shape);
      const run = (change: Partial<MarkedContext>) => () =>
        model.forward(question, { ...context, ...change });
      expect(run({ ids: floats })).toThrow(DTypeError);
      expect(run({ ids: context.lengths })).toThrow("context.ids must be [any, any], got [4]");
      expect(run({ lengths: batch([[1, 2]]).ids })).toThrow(ShapeError);
      expect(run({ lengths: tensor(runtime, [7, 1, 10, 4], [4], "i32") })).toThrow(IndexError);
      expect(run({ ids: tensor(runtime, context.ids.read().fill(29), context.ids.shape) })).toThrow(
        IndexError,
      );
      expect(run({ marks: [question.ids] })).toThrow("context.marks must be [4, 9], got [4, 5]");
      expect(() => model.forward(batch(QUESTIONS.slice(1)), context)).toThrow(ShapeError);
    });
    model.dispose();
    expect(() => make({ ...SIZES, heads: 3 })).toThrow("width must be a multiple of heads");
    expect(() => make({ ...SIZES, attends: "both" as "context" })).toThrow(
      "QuestionAnsweringModel: attends must be context or question, got both",
    );
    expect(() => make({ ...SIZES, features: "all" as "bare" })).toThrow(
      "QuestionAnsweringModel: features must be joined or bare, got all",
    );
  });

  test("leaves no memory behind, and asks for no more in a steady loop", () => {
    const { memory } = runtime;
    const before = memory.usedBytes;
    const model = make(SIZES);
    const step = (): void =>
      runtime.scope(() =>
        noGrad(runtime, () => {
          model.withWeights(batch(QUESTIONS), marked(CONTEXTS, MARKS));
        }),
      );
    step();
    const { capacityBytes, peakBytes, usedBytes } = memory;
    for (let i = 0; i < 30; i++) step();
    expect(memory.capacityBytes).toBe(capacityBytes);
    expect(memory.peakBytes).toBe(peakBytes);
    expect(memory.usedBytes, "packed weights stay, nothing else").toBe(usedBytes);
    model.dispose();
    expect(memory.usedBytes).toBe(before);
  });
});

function sumsOf(weights: Tensor): number[] {
  const width = weights.shape.at(-1) as number;
  const values = weights.read() as Float32Array;
  return Array.from({ length: values.length / width }, (_, row) =>
    values.slice(row * width, (row + 1) * width).reduce((sum, value) => sum + value, 0),
  );
}

interface Trained {
  readonly losses: number[];
  readonly weights: Map<string, Float32Array>;
}

/**
 * The question is one word of the context, the answer the two words behind it. It stands between
 * two others, since what is attended to in a single token is the same from everywhere; and a mark
 * says where the context has it.
 */
function trainFollowing(model: QuestionAnsweringModel, steps: number): Trained {
  const { runtime: on, config } = model;
  const random = seeded(5);
  const optimizer = new AdamW(model.parameters(), { rate: 1e-2 });
  const losses: number[] = [];
  model.train();
  for (let step = 0; step < steps; step++) {
    const contexts = Array.from({ length: 8 }, () => {
      const words = Array.from({ length: 19 }, (_, word) => word + 1);
      return Array.from(
        { length: 8 },
        () => words.splice(random.integer(words.length), 1)[0] as number,
      );
    });
    const places = contexts.map(() => random.integer(6));
    const side = config.attends === "question" ? contexts.map(() => 0) : places.map((at) => at + 1);
    const ends = config.attends === "question" ? side : places.map((at) => at + 2);
    on.scope(() => {
      const question = batch(
        contexts.map((context, row) => [27, context[places[row] as number] as number, 28]),
        on,
      );
      const marks = contexts.map((context, row) =>
        context.map((_, at) => (at === places[row] ? 26 : 25)),
      );
      const context = { ...batch(contexts, on), marks: [batch(marks, on).ids] };
      const logits = model.forward(question, context);
      const loss = model.loss(logits, tensor(on, side, [8], "i32"), tensor(on, ends, [8], "i32"));
      losses.push(loss.item());
      optimizer.zeroGrad();
      backward(loss);
      clipGradientNorm(model.parameters().values(), 1);
      optimizer.step();
    });
  }
  const weights = new Map(
    [...model.stateDict()].map(([name, x]) => [name, x.read() as Float32Array] as const),
  );
  optimizer.dispose();
  model.dispose();
  return { losses, weights };
}
