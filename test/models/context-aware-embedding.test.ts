import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import {
  ContextAwareEmbedding,
  type ContextAwareEmbeddingConfig,
} from "../../src/models/context-aware-embedding.js";
import { crossEntropy } from "../../src/ops/cross-entropy.js";
import { argmax } from "../../src/ops/select.js";
import { backward, backwardFrom } from "../../src/ops/tape.js";
import { AdamW } from "../../src/optim/adam-w.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor, zeros } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { testRuntime } from "../support/runtime.js";

const SIZES = { vocab: 13, embedding: 6, padding: 0 };
const FORMS: readonly (readonly [name: string, config: ContextAwareEmbeddingConfig])[] = [
  ["in the textbook form", SIZES],
  ["projected to another width", { ...SIZES, context: 4 }],
  ["projected to its own width", { ...SIZES, project: true }],
];

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

function make(config: ContextAwareEmbeddingConfig): ContextAwareEmbedding {
  runtime.seed(6);
  return new ContextAwareEmbedding(runtime, config);
}

function ids(...rows: readonly number[][]): Tensor {
  return tensor(runtime, rows.flat(), [rows.length, rows[0]?.length ?? 0], "i32");
}

function wordsOf(...words: readonly number[]): Tensor {
  return tensor(runtime, words, [words.length], "i32");
}

describe.each(FORMS)("ContextAwareEmbedding %s", (_, config) => {
  test("gives each context the bits it gives alone, wherever its padding stands", () => {
    const model = make(config);
    runtime.scope(() => {
      const rows = [
        [3, 7, 7, 12, 1],
        [9, 0, 0, 0, 0],
        [0, 2, 0, 5, 0],
      ];
      const words = [4, 4, 11];
      const all = model.forward(wordsOf(...words), ids(...rows));
      expect(all.output.shape).toEqual([3, 6]);
      rows.forEach((row, index) => {
        const bare = row.filter((id) => id !== 0);
        const alone = model.forward(wordsOf(words[index] as number), ids(bare));
        expectSameBits(all.output.read().slice(6 * index, 6 * index + 6), alone.output.read());
        const weights = [...(all.weights?.read().slice(5 * index, 5 * index + 5) ?? [])];
        expectSameBits(
          weights.filter((_, at) => row[at] !== 0),
          alone.weights?.read() ?? [],
        );
        expect(weights.filter((weight, at) => row[at] === 0 && weight !== 0)).toEqual([]);
        expectClose([weights.reduce((sum, weight) => sum + weight, 0)], [1], 3e-7);
      });
    });
    model.dispose();
  });

  test("gives the same bits with weights and without", () => {
    const model = make({ ...config, dropout: 0.3 });
    for (const training of [false, true]) {
      model.train(training);
      runtime.scope(() => {
        const [words, contexts] = [wordsOf(1, 2), ids([3, 4, 5], [6, 7, 0])];
        runtime.seed(8);
        const { output } = model.forward(words, contexts);
        runtime.seed(8);
        const bare = model.forward(words, contexts, { needWeights: false });
        expectSameBits(bare.output.read(), output.read());
        expect(bare.weights).toBeNull();
      });
    }
    model.dispose();
  });

  test("gives the output layer's bias for a context of nothing but padding", () => {
    const model = make(config);
    runtime.scope(() => {
      const bias = (model.stateDict().get("output_layer.bias") as Tensor).read();
      for (const contexts of [ids([0, 0]), tensor(runtime, new Int32Array(0), [1, 0])]) {
        const { output, weights } = model.forward(wordsOf(3), contexts);
        expectSameBits(output.read(), bias);
        expect([...(weights?.read() ?? [])].every((weight) => weight === 0)).toBe(true);
      }
    });
    model.dispose();
  });

  test("leaves words of the context out in training only", () => {
    const model = make({ ...config, dropout: 0.5 });
    runtime.scope(() => {
      const contexts = ids(...Array.from({ length: 20 }, () => [1, 2, 3, 4, 5]));
      const words = wordsOf(...Array<number>(20).fill(6));
      const dropped = (): number =>
        [...(model.forward(words, contexts).weights?.read() ?? [])].filter((w) => w === 0).length;
      expect(dropped()).toBe(0);
      model.train();
      expect(dropped()).toBeGreaterThan(20);
      expect(dropped()).toBeLessThan(80);
    });
    model.dispose();
  });

  test("refuses ids that are none, and shapes that do not fit", () => {
    const model = make(config);
    runtime.scope(() => {
      expect(() => model.forward(wordsOf(13), ids([1]))).toThrow(IndexError);
      expect(() => model.forward(wordsOf(1), ids([1, -1]))).toThrow(IndexError);
      expect(() => model.forward(ids([1]), ids([1]))).toThrow(
        "ContextAwareEmbedding: words must be [any], got [1, 1]",
      );
      expect(() => model.forward(wordsOf(1, 2), ids([1]))).toThrow(
        "ContextAwareEmbedding: contexts must be [2, any], got [1, 1]",
      );
      expect(() => model.forward(wordsOf(1), zeros(runtime, [1, 1]))).toThrow(DTypeError);
    });
    model.dispose();
  });
});

describe("ContextAwareEmbedding", () => {
  test("is softmax(e·k)·k through the output layer, by hand", () => {
    const model = make({ vocab: 3, embedding: 2 });
    const ln3 = Math.log(3);
    model.load(
      new Map(
        Object.entries({
          "word_embeddings.weight": { shape: [3, 2], values: [1, 0, ln3, 1, 0, 5] },
          "context_attention.weight": { shape: [2, 2], values: [9, 9, 9, 9] },
          "context_attention.bias": { shape: [2], values: [9, 9] },
          "output_layer.weight": { shape: [2, 2], values: [0, 1, 2, 0] },
          "output_layer.bias": { shape: [2], values: [10, 20] },
        }),
      ),
    );
    runtime.scope(() => {
      // Word 0 is [1, 0]; its products with words 1 and 2 are ln 3 and 0: 3 to 1.
      const { output, weights } = model.forward(wordsOf(0), ids([1, 2]));
      expectClose(weights?.read() ?? [], [0.75, 0.25], 3e-7);
      // The sum is [0.75·ln 3, 2]; the layer swaps it, doubles the first and adds [10, 20].
      expectClose(output.read(), [12, 20 + 1.5 * ln3], 3e-7);
    });
    model.dispose();
  });

  test("lets its unused layer stand in the textbook form: no gradient reaches it", () => {
    const model = make({ vocab: 5, embedding: 4 });
    runtime.scope(() => {
      const { output } = model.forward(wordsOf(1), ids([2, 3]));
      backwardFrom(output, ones(runtime, output.shape));
    });
    const withGradient = [...model.parameters()].filter(([, weight]) => weight.grad !== null);
    expect(withGradient.map(([name]) => name)).toEqual([
      "word_embeddings.weight",
      "output_layer.weight",
      "output_layer.bias",
    ]);
    model.dispose();
  });

  test("has a vector a sense when it knows senses, else the textbook's state dict", () => {
    const names = (config: ContextAwareEmbeddingConfig): string[] => {
      const model = make(config);
      model.dispose();
      return [...model.stateDict()].map(([name, { shape }]) => `${name} ${shape.join("×")}`);
    };
    const layers = [
      "word_embeddings.weight 13×6",
      "context_attention.weight 4×6",
      "context_attention.bias 4",
      "output_layer.weight 6×4",
      "output_layer.bias 6",
    ];
    expect(names({ ...SIZES, context: 4 })).toEqual(layers);
    expect(names({ ...SIZES, context: 4, senses: 3 }).sort()).toEqual(
      [...layers, "sense_prototypes 3×6"].sort(),
    );
  });

  test("compares embeddings with senses by direction alone", () => {
    const model = make({ vocab: 3, embedding: 2, senses: 3, temperature: 0.5 });
    (model.stateDict().get("sense_prototypes") as Tensor).write([2, 0, 0, 7, -3, -3]);
    runtime.scope(() => {
      const logits = model.senseLogits(tensor(runtime, [3, 4, 0.03, 0.04, -5, 0], [3, 2]));
      const [a, b, c] = [1.2, 1.6, -1.4 * Math.SQRT2];
      const first = [a, b, c];
      expectClose(logits.read(), [...first, ...first, -2, 0, Math.SQRT2], 5e-7);
    });
    model.dispose();
  });

  test("gives an embedding of zeros no sense, and a finite gradient", () => {
    const model = make({ vocab: 3, embedding: 2, senses: 2 });
    runtime.scope(() => {
      const nought = zeros(runtime, [1, 2]);
      nought.requiresGrad = true;
      const logits = model.senseLogits(nought);
      expect([...logits.read()]).toEqual([0, 0]);
      backward(crossEntropy(logits, wordsOf(0)));
      expect(nought.grad?.read().every(Number.isFinite)).toBe(true);
    });
    model.dispose();
  });

  test("learns to tell two senses of a word by its context", () => {
    const model = make({ ...SIZES, context: 8, senses: 2 }).train();
    const optimizer = new AdamW(model.parameters().values(), { rate: 0.03 });
    const money = [2, 3, 4];
    const river = [5, 6, 7];
    const contexts = [...money, ...river].flatMap((a) => [8, 9].map((b) => [a, b, 10]));
    const senses = contexts.map(([word]) => (money.includes(word as number) ? 0 : 1));
    const words = contexts.map(() => 1);
    const logitsOf = (rows: readonly number[][]): Tensor =>
      model.senseLogits(
        model.forward(wordsOf(...words.slice(0, rows.length)), ids(...rows)).output,
      );
    for (let step = 0; step < 60; step++)
      runtime.scope(() => {
        optimizer.zeroGrad();
        backward(crossEntropy(logitsOf(contexts), wordsOf(...senses)));
        optimizer.step();
      });
    model.eval();
    runtime.scope(() => {
      expect([...argmax(logitsOf(contexts)).read()]).toEqual(senses);
      const unseen = [
        [12, 3, 9],
        [6, 8, 8],
      ];
      expect([...argmax(logitsOf(unseen)).read()]).toEqual([0, 1]);
    });
    optimizer.dispose();
    model.dispose();
  });

  test("refuses configurations that contradict themselves", () => {
    expect(() => make({ ...SIZES, context: 4, project: false })).toThrow(
      "ContextAwareEmbedding: without projection context must be embedding, got 4 and 6",
    );
    for (const dropout of [-0.1, Number.NaN])
      expect(() => make({ ...SIZES, dropout })).toThrow(RangeError);
    for (const temperature of [0, -1, Infinity, Number.NaN])
      expect(() => make({ ...SIZES, temperature })).toThrow(
        `temperature must be a number above 0, got ${temperature}`,
      );
    const model = make(SIZES);
    runtime.scope(() => {
      expect(() => model.senseLogits(zeros(runtime, [1, 6]))).toThrow("senses must be at least 1");
    });
    const wise = make({ ...SIZES, senses: 2 });
    runtime.scope(() => {
      expect(() => wise.senseLogits(zeros(runtime, [1, 5]))).toThrow(ShapeError);
    });
    model.dispose();
    wise.dispose();
  });
});
