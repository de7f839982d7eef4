import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, ShapeError } from "../../src/errors.js";
import {
  MultiheadAttention,
  type MultiheadAttentionCall,
} from "../../src/nn/multihead-attention.js";
import { backward } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";
import { sumOf } from "../support/sum.js";

const [BATCH, QUERIES, KEYS, WIDTH, HEADS] = [2, 3, 4, 6, 3];

let runtime: Runtime;
let module: MultiheadAttention;
let query: Tensor;
let key: Tensor;
beforeAll(async () => {
  runtime = await testRuntime();
  runtime.seed(4);
  module = new MultiheadAttention(runtime, WIDTH, HEADS);
  // Not the zeros it starts with, so that a bias that is left out shows.
  module
    .stateDict()
    .get("in_proj_bias")
    ?.write(seeded(3).array(3 * WIDTH));
  module.stateDict().get("out_proj.bias")?.write(seeded(4).array(WIDTH));
  query = tensor(runtime, seeded(1).array(BATCH * QUERIES * WIDTH), [BATCH, QUERIES, WIDTH]);
  key = tensor(runtime, seeded(2).array(BATCH * KEYS * WIDTH), [BATCH, KEYS, WIDTH]);
});
afterAll(() => runtime.dispose());

function mask(values: number[], shape: number[]): Tensor {
  return tensor(runtime, Uint8Array.from(values), shape);
}

function run(options: MultiheadAttentionCall = {}): { output: number[]; weights: number[] } {
  return runtime.scope(() => {
    const { output, weights } = module.forward(query, key, key, options);
    return { output: [...output.read()], weights: [...(weights?.read() ?? [])] };
  });
}

describe("MultiheadAttention", () => {
  test("gives the same output with the weights and without", () => {
    const bare = run({ needWeights: false });
    expect(bare.weights).toEqual([]);
    expectSameBits(bare.output, run().output);
  });

  test("averages the weights over the heads, or gives each head's", () => {
    const each = run({ averageWeights: false }).weights;
    const { weights } = run();
    expect(each).toHaveLength(BATCH * HEADS * QUERIES * KEYS);
    const rows = QUERIES * KEYS;
    const mean = weights.map((_, index) => {
      const [batch, at] = [Math.floor(index / rows), index % rows];
      return (
        [0, 1, 2].reduce((sum, h) => sum + (each[(batch * HEADS + h) * rows + at] as number), 0) / 3
      );
    });
    expectClose(weights, mean, 2 ** -22);
  });

  test("hides a key where keyPaddingMask is 1", () => {
    const { weights } = run({ keyPaddingMask: mask([0, 0, 1, 1, 0, 0, 0, 0], [BATCH, KEYS]) });
    for (let query = 0; query < QUERIES; query++) {
      expect(weights.slice(query * KEYS + 2, query * KEYS + 4)).toEqual([0, 0]);
      expect(weights[query * KEYS]).toBeGreaterThan(0);
      expect(weights[(QUERIES + query) * KEYS + 3]).toBeGreaterThan(0);
    }
  });

  test("hides a score where attnMask is 1, for all heads or for each its own", () => {
    const hides = [0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1];
    const shared = run({ attnMask: mask(hides, [QUERIES, KEYS]), averageWeights: false });
    for (let head = 0; head < BATCH * HEADS; head++)
      hides.forEach((hidden, at) => {
        expect(shared.weights[head * hides.length + at] === 0).toBe(hidden === 1);
      });
    const none = Array(hides.length).fill(0);
    const own = mask([...none, ...hides, ...none, ...none, ...none, ...none], [6, QUERIES, KEYS]);
    const each = run({ attnMask: own, averageWeights: false }).weights;
    expectSameBits(each.slice(12, 24), shared.weights.slice(12, 24), "head 1 of row 0");
    expect(each.filter((weight) => weight === 0)).toHaveLength(6);
  });

  test("takes 1 and −∞ for the same, in either mask and in both", () => {
    const hides = [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0];
    const pads = [0, 0, 0, 1, 0, 0, 0, 0];
    const added = (values: number[], shape: number[]): Tensor =>
      tensor(
        runtime,
        values.map((hidden) => (hidden ? -Infinity : 0)),
        shape,
      );
    const attn = [mask(hides, [QUERIES, KEYS]), added(hides, [QUERIES, KEYS])];
    const padding = [mask(pads, [BATCH, KEYS]), added(pads, [BATCH, KEYS])];
    const both = attn.flatMap((attnMask) =>
      padding.map((keyPaddingMask) => run({ attnMask, keyPaddingMask })),
    );
    for (const other of both) {
      expectSameBits(other.output, both[0]?.output ?? []);
      expectSameBits(other.weights, both[0]?.weights ?? []);
    }
    expectSameBits(run({ attnMask: attn[0] }).output, run({ attnMask: attn[1] }).output);
    expectSameBits(
      run({ keyPaddingMask: padding[0] }).output,
      run({ keyPaddingMask: padding[1] }).output,
    );
  });

  test("adds a float mask to the scores, not only where it hides", () => {
    const added = tensor(runtime, seeded(7).array(QUERIES * KEYS), [QUERIES, KEYS]);
    const bare = run({ averageWeights: false }).weights;
    const moved = run({ attnMask: added, averageWeights: false }).weights;
    const values = added.read();
    const expected = moved.map((_, index) => {
      const row = Math.floor(index / KEYS) * KEYS;
      const raised = (i: number): number =>
        (bare[i] as number) * Math.exp(values[i % (QUERIES * KEYS)] as number);
      return raised(index) / [0, 1, 2, 3].reduce((sum, k) => sum + raised(row + k), 0);
    });
    expectClose(moved, expected, 1e-6); // a softmax of f32 and its inverse
  });

  test("gives a query that may see nothing weights of 0 and the last bias, with finite gradients", () => {
    const all = mask(Array(KEYS).fill(1).concat(Array(KEYS).fill(0)), [BATCH, KEYS]);
    for (const needWeights of [true, false]) {
      const { output, weights } = run({ keyPaddingMask: all, needWeights });
      const bias = [...(module.stateDict().get("out_proj.bias") as Tensor).read()];
      expect(output.slice(0, WIDTH)).toEqual(bias);
      expect(weights.slice(0, QUERIES * KEYS).every((weight) => weight === 0)).toBe(true);
    }
    runtime.scope(() =>
      backward(sumOf(module.forward(query, key, key, { keyPaddingMask: all }).output)),
    );
    for (const [name, { grad }] of module.parameters())
      expect(grad?.read().every(Number.isFinite), name).toBe(true);
  });

  test("never reads a hidden key or value, whatever it holds", () => {
    const clean = run({ keyPaddingMask: mask([0, 0, 0, 1, 0, 0, 0, 1], [BATCH, KEYS]) });
    const values = key.read();
    const spoilt = values.map((value, index) =>
      Math.floor(index / WIDTH) % KEYS === 3 ? Number.NaN : value,
    );
    const dirty = runtime.scope(() => {
      const k = tensor(runtime, spoilt, key.shape);
      const keyPaddingMask = mask([0, 0, 0, 1, 0, 0, 0, 1], [BATCH, KEYS]);
      return [...module.forward(query, k, k, { keyPaddingMask }).output.read()];
    });
    expectSameBits(dirty, clean.output);
  });

  test("looks no further than itself when causal, as its mask would have it", () => {
    const hides = [0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1];
    const masked = run({ attnMask: mask(hides, [QUERIES, KEYS]) });
    expectSameBits(run({ causal: "start" }).output, masked.output);
    expect(() => run({ causal: true })).toThrow(ShapeError); // 3 queries, 4 keys: start or end?
  });

  test("attends to itself when only a query is given, with the bits of three equal operands", () => {
    runtime.scope(() => {
      const copy = (): Tensor => tensor(runtime, query.read(), query.shape);
      const self = module.forward(query);
      const apart = module.forward(query, copy(), copy());
      expectSameBits(self.output.read(), apart.output.read());
      expectSameBits((self.weights as Tensor).read(), (apart.weights as Tensor).read());
    });
  });

  test("drops weights in training only, by the runtime's seed, and returns those applied", () => {
    const dropping = new MultiheadAttention(runtime, WIDTH, HEADS, { dropout: 0.5 });
    const weights = (): number[] =>
      runtime.scope(() => [
        ...(dropping.forward(query, key, key, { averageWeights: false }).weights as Tensor).read(),
      ]);
    expect(weights().every((weight) => weight > 0)).toBe(true);
    dropping.train();
    runtime.seed(1);
    const first = weights();
    expect(first.some((weight) => weight === 0)).toBe(true);
    expect(weights()).not.toEqual(first);
    runtime.seed(1);
    expectSameBits(weights(), first);
    dropping.dispose();
  });

  test("starts as PyTorch does: biases of 0, weights within their bounds", () => {
    const fresh = new MultiheadAttention(runtime, 16, 4);
    const state = fresh.stateDict();
    expect([...state.keys()]).toEqual([
      "in_proj_weight",
      "in_proj_bias",
      "out_proj.weight",
      "out_proj.bias",
    ]);
    const most = (name: string): number =>
      Math.max(...[...(state.get(name) as Tensor).read()].map(Math.abs));
    expect(most("in_proj_bias")).toBe(0);
    expect(most("out_proj.bias")).toBe(0);
    expect(most("in_proj_weight")).toBeLessThanOrEqual(Math.sqrt(6 / 64));
    expect(most("in_proj_weight")).toBeGreaterThan(0.9 * Math.sqrt(6 / 64));
    expect(most("out_proj.weight")).toBeLessThanOrEqual(0.25);
    fresh.dispose();
  });

  test.each([
    [10, 3],
    [8, 0],
    [8, 2.5],
  ])("refuses a width of %i for %d heads", (width, heads) => {
    expect(() => new MultiheadAttention(runtime, width, heads)).toThrow(
      `MultiheadAttention: width must be a multiple of heads, got width ${width} and ${heads} heads`,
    );
  });

  test("refuses shapes and masks that do not fit", () => {
    const other = ones(runtime, [BATCH, KEYS, WIDTH + 1]);
    const fewer = ones(runtime, [BATCH - 1, KEYS, WIDTH]);
    expect(() => module.forward(other)).toThrow("query must be [any, any, 6], got [2, 4, 7]");
    expect(() => module.forward(query, fewer)).toThrow("key must be [2, any, 6], got [1, 4, 6]");
    expect(() => module.forward(query, key, query)).toThrow(
      "value must be [2, 4, 6], got [2, 3, 6]",
    );
    expect(() => run({ keyPaddingMask: mask([1, 1], [2, 1]) })).toThrow(
      "keyPaddingMask must be [2, 4]",
    );
    expect(() => run({ attnMask: mask(Array(12).fill(0), [KEYS, QUERIES]) })).toThrow(
      "attnMask must be [3, 4] or [6, 3, 4], got [4, 3]",
    );
    expect(() => run({ attnMask: tensor(runtime, new Int32Array(12), [QUERIES, KEYS]) })).toThrow(
      DTypeError,
    );
  });
});
