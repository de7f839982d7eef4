import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IndexError, ShapeError } from "../../src/errors.js";
import { AdditiveAttention } from "../../src/nn/additive-attention.js";
import { Dropout } from "../../src/nn/dropout.js";
import { Embedding } from "../../src/nn/embedding.js";
import { LayerNorm } from "../../src/nn/layer-norm.js";
import { Linear } from "../../src/nn/linear.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("Dropout", () => {
  test("is the identity outside of training and for p = 0", () => {
    const x = ones(runtime, [100]);
    expect(new Dropout(runtime, 0.5).forward(x)).toBe(x);
    expect(new Dropout(runtime, 0).train().forward(x)).toBe(x);
  });

  test("drops and scales in training, by the runtime's seed", () => {
    const dropout = new Dropout(runtime, 0.5).train();
    const x = ones(runtime, [1000]);
    runtime.seed(2);
    const first = dropout.forward(x).read();
    expect(new Set(first)).toEqual(new Set([0, 2]));
    expect(dropout.forward(x).read()).not.toEqual(first);
    runtime.seed(2);
    expect(dropout.forward(x).read()).toEqual(first);
  });

  test("drops all for p = 1", () => {
    const y = new Dropout(runtime, 1).train().forward(ones(runtime, [9]));
    expect([...y.read()]).toEqual(Array(9).fill(0));
  });

  test.each([-0.1, 1.1, Number.NaN])("refuses p = %d", (p) => {
    expect(() => new Dropout(runtime, p)).toThrow(`Dropout: p must lie in 0 … 1, got ${p}`);
  });
});

describe("Embedding", () => {
  test("starts nearly normal, with deviation 1", () => {
    const values = Array.from(new Embedding(runtime, 100, 100).weight.read());
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.04); // 4 deviations of a mean of 10,000
    expect(Math.abs(square - 1)).toBeLessThan(0.05);
  });

  test("refuses an id that is not in the table", () => {
    const embedding = new Embedding(runtime, 10, 4);
    for (const id of [10, -1])
      expect(() => embedding.forward(tensor(runtime, [0, id], [2], "i32"))).toThrow(IndexError);
  });
});

describe("Linear", () => {
  test("refuses another width", () => {
    expect(() => new Linear(runtime, 4, 2).forward(ones(runtime, [3, 5]))).toThrow(ShapeError);
  });

  test("maps a batch of no rows to no rows", () => {
    const y = new Linear(runtime, 4, 2).forward(ones(runtime, [0, 4]));
    expect(y.shape).toEqual([0, 2]);
  });
});

describe("LayerNorm", () => {
  test("starts as plain normalisation", () => {
    const y = new LayerNorm(runtime, 4, { eps: 0 }).forward(tensor(runtime, [1, 1, 3, 3]));
    expect([...y.read()]).toEqual([-1, -1, 1, 1]);
  });

  test("loses no digits to a large mean", () => {
    const y = new LayerNorm(runtime, 4).forward(tensor(runtime, [40_000, 40_001, 40_002, 40_003]));
    const exact = [-1.5, -0.5, 0.5, 1.5].map((d) => d / Math.sqrt(1.25 + 1e-5));
    y.read().forEach((value, index) => {
      expect(Math.abs(value - (exact[index] as number))).toBeLessThan(1e-6);
    });
  });
});

describe("AdditiveAttention", () => {
  test("names its tensors, and gives weights that sum to 1 within each length", () => {
    const attention = new AdditiveAttention(runtime, 3, 4, 5);
    const shapes = Object.fromEntries(
      [...attention.stateDict()].map(([name, x]) => [name, x.shape]),
    );
    expect(shapes).toEqual({ "attn.weight": [5, 7], "attn.bias": [5], "v.weight": [1, 5] });

    const lengths = tensor(runtime, [3, 1], [2], "i32");
    const source = attention.source(ones(runtime, [2, 3, 4]), lengths);
    const { context, weights } = attention.attend(ones(runtime, [2, 3]), source);
    expect(weights.shape).toEqual([2, 1, 3]);
    expect(context.shape).toEqual([2, 4]);
    const [a, b, c, ...second] = [...weights.read()] as [number, number, number];
    expect(a + b + c).toBeCloseTo(1, 6);
    expect(second).toEqual([1, 0, 0]);
  });
});
