import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import { ParallelAttention, type SelfAttentionCall } from "../../src/models/parallel-attention.js";
import { MultiheadAttention } from "../../src/nn/multihead-attention.js";
import { concat } from "../../src/ops/shape.js";
import { backward } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime, withRuntime } from "../support/runtime.js";
import { sumOf } from "../support/sum.js";

const [BATCH, LENGTH, WIDTH, HEADS] = [3, 7, 12, 3];
const LENGTHS = [7, 4, 1];
const SHAPE = [BATCH, LENGTH, WIDTH];
const VALUES = seeded(1).array(BATCH * LENGTH * WIDTH);

let runtime: Runtime;
let model: ParallelAttention;
let x: Tensor;
beforeAll(async () => {
  runtime = await testRuntime();
  model = make();
  x = tensor(runtime, VALUES, SHAPE);
});
afterAll(() => runtime.dispose());

function make(on: Runtime = runtime): ParallelAttention {
  on.seed(4);
  return new ParallelAttention(on, WIDTH, HEADS);
}

function run(call: SelfAttentionCall = {}, input = x): { output: number[]; weights: number[] } {
  return runtime.scope(() => {
    const { output, weights } = model.withWeights(input, call);
    return { output: [...output.read()], weights: [...weights.read()] };
  });
}

function i32(values: readonly number[]): Tensor {
  return tensor(runtime, Int32Array.from(values));
}

function weight(name: string): Tensor {
  return model.stateDict().get(name) as Tensor;
}

/** Positions [0, length) of one row of a batch [B, L, E]. */
function rowOf(values: ArrayLike<number>, row: number, length: number): number[] {
  return Array.from(values).slice(row * LENGTH * WIDTH, (row * LENGTH + length) * WIDTH);
}

describe("ParallelAttention", () => {
  test("names its tensors as a PyTorch user does", () => {
    const names = (module: ParallelAttention): object =>
      Object.fromEntries([...module.stateDict()].map(([name, { shape }]) => [name, shape]));
    expect(names(model)).toEqual({
      "q_linear.weight": [12, 12],
      "q_linear.bias": [12],
      "k_linear.weight": [12, 12],
      "k_linear.bias": [12],
      "v_linear.weight": [12, 12],
      "v_linear.bias": [12],
      "out_linear.weight": [12, 12],
      "out_linear.bias": [12],
    });
    const other = new ParallelAttention(runtime, 4, 2, { outputName: "out" });
    expect(Object.keys(names(other)).slice(6)).toEqual(["out.weight", "out.bias"]);
    other.dispose();
  });

  test("gives the bits of MultiheadAttention with the same weights", () => {
    const parts = ["q_linear", "k_linear", "v_linear"];
    const joined = (name: string): Tensor =>
      concat(
        parts.map((part) => weight(`${part}.${name}`)),
        0,
      );
    const other = new MultiheadAttention(runtime, WIDTH, HEADS);
    runtime.scope(() => {
      other.load(
        new Map([
          ["in_proj_weight", joined("weight")],
          ["in_proj_bias", joined("bias")],
          ["out_proj.weight", weight("out_linear.weight")],
          ["out_proj.bias", weight("out_linear.bias")],
        ]),
      );
      const call = { averageWeights: false, causal: true } as const;
      const { output, weights } = other.forward(x, x, x, call);
      const mine = run({ causal: true });
      expectSameBits(mine.output, output.read());
      expectSameBits(mine.weights, (weights as Tensor).read());
    });
    other.dispose();
  });

  test("gives the same output with the weights and without, in training too", () => {
    const whole = run();
    for (const training of [false, true])
      runtime.scope(() => {
        model.train(training);
        expectSameBits(model.forward(x).read(), whole.output);
      });
    model.eval();
  });

  test("gives weights [B, heads, L, L] whose rows sum to 1", () => {
    runtime.scope(() => {
      const { weights } = model.withWeights(x);
      expect(weights.shape).toEqual([BATCH, HEADS, LENGTH, LENGTH]);
      const values = weights.read() as Float32Array;
      for (let row = 0; row < BATCH * HEADS * LENGTH; row++) {
        const sum = values.subarray(row * LENGTH, (row + 1) * LENGTH).reduce((a, b) => a + b, 0);
        expect(Math.abs(sum - 1)).toBeLessThan(1e-6); // seven f32 weights
      }
    });
  });

  test("gives a position that is called alone its own value, so L calls are another function", () => {
    runtime.scope(() => {
      const position = tensor(runtime, VALUES.slice(0, WIDTH), [1, 1, WIDTH]);
      const alone = model.withWeights(position);
      expect([...alone.weights.read()]).toEqual([1, 1, 1]);
      const own = affine(
        weight("out_linear.weight"),
        weight("out_linear.bias"),
        affine(weight("v_linear.weight"), weight("v_linear.bias"), position.read()),
      );
      expectClose(alone.output.read(), own, 1e-6); // two sums of twelve products
      const together = rowOf(run().output, 0, 1);
      expect(Math.max(...together.map((y, i) => Math.abs(y - (own[i] as number))))).toBeGreaterThan(
        0.01,
      );
    });
  });

  test("gives each row of a padded batch the bits it gives alone, whatever the padding holds", () => {
    for (const causal of [false, true]) {
      const spoilt = VALUES.map((value, index) =>
        Math.floor(index / WIDTH) % LENGTH < (LENGTHS[Math.floor(index / WIDTH / LENGTH)] as number)
          ? value
          : Number.NaN,
      );
      const batch = run({ lengths: i32(LENGTHS), causal }, tensor(runtime, spoilt, SHAPE));
      LENGTHS.forEach((length, row) => {
        const bare = tensor(runtime, rowOf(VALUES, row, length), [1, length, WIDTH]);
        const alone = run({ causal }, bare);
        expectSameBits(rowOf(batch.output, row, length), alone.output, `row ${row}`);
        for (let head = 0; head < HEADS; head++)
          for (let query = 0; query < length; query++) {
            const at = ((row * HEADS + head) * LENGTH + query) * LENGTH;
            const from = (head * length + query) * length;
            const seen = alone.weights.slice(from, from + length);
            expect(batch.weights.slice(at, at + LENGTH)).toEqual([
              ...seen,
              ...Array(LENGTH - length).fill(0),
            ]);
          }
      });
    }
  });

  test("gives a row of length 0 the last bias", () => {
    const { output } = run({ lengths: i32([0, 7, 7]) });
    const bias = [...weight("out_linear.bias").read()];
    for (let position = 0; position < LENGTH; position++)
      expect(output.slice(position * WIDTH, (position + 1) * WIDTH)).toEqual(bias);
  });

  test("does not look ahead when causal", () => {
    const later = VALUES.map((value, index) =>
      Math.floor(index / WIDTH) % LENGTH > 3 ? value + 1 : value,
    );
    const before = run({ causal: true });
    const after = run({ causal: true }, tensor(runtime, later, SHAPE));
    for (let row = 0; row < BATCH; row++) {
      expectSameBits(rowOf(after.output, row, 4), rowOf(before.output, row, 4));
      expect(rowOf(after.output, row, 5)).not.toEqual(rowOf(before.output, row, 5));
    }
  });

  test("hides what a mask hides, with what the lengths and causal hide", () => {
    const shows = Uint8Array.from({ length: LENGTH * LENGTH }, (_, i) => ((i * 5) % 7 < 4 ? 1 : 0));
    const added = Float32Array.from(shows, (one) => (one ? 0.5 : -Infinity));
    const masks = [shows, added].map((values) => tensor(runtime, values, [LENGTH, LENGTH]));
    for (const mask of masks) {
      const { weights } = run({ mask, lengths: i32(LENGTHS), causal: true });
      weights.forEach((value, index) => {
        const [key, query] = [index % LENGTH, Math.floor(index / LENGTH) % LENGTH];
        const row = Math.floor(index / LENGTH / LENGTH / HEADS);
        const visible =
          shows[query * LENGTH + key] === 1 && key <= query && key < (LENGTHS[row] as number);
        expect(value > 0, `row ${row}, query ${query}, key ${key}`).toBe(visible);
      });
    }
  });

  test("gives the same bits and gradients on one thread, two and three", async () => {
    const step = (on: Runtime): Map<string, ArrayLike<number>> => {
      const module = make(on);
      return on.scope(() => {
        const input = tensor(on, VALUES, SHAPE);
        const lengths = tensor(on, Int32Array.from(LENGTHS));
        const output = module.forward(input, { lengths });
        backward(sumOf(output));
        const found = new Map<string, ArrayLike<number>>([["output", output.read()]]);
        for (const [name, { grad }] of module.parameters())
          found.set(name, (grad as Tensor).read());
        module.dispose();
        return found;
      });
    };
    const one = step(runtime);
    for (const threads of [2, 3]) {
      const more = await withRuntime({ threads }, step);
      for (const [name, values] of one) expectSameBits(more.get(name) ?? [], values, name);
    }
  });

  test("leaves no memory behind", () => {
    const { usedBytes } = runtime.memory;
    const module = make();
    runtime.scope(() => backward(sumOf(module.forward(x))));
    module.dispose();
    expect(runtime.memory.usedBytes).toBe(usedBytes);
  });

  test("refuses what does not fit, with one clear error each", () => {
    const floats = (...shape: number[]): Tensor =>
      tensor(runtime, new Float32Array(shape.reduce((a, b) => a * b)), shape);
    expect(() => new ParallelAttention(runtime, 12, 5)).toThrow(
      "ParallelAttention: width must be a multiple of heads, got width 12 and 5 heads",
    );
    expect(() => model.forward(floats(3, 7, 11))).toThrow(
      "ParallelAttention: x must be [any, any, 12], got [3, 7, 11]",
    );
    expect(() => model.forward(floats(7, 12))).toThrow(ShapeError);
    expect(() => model.forward(tensor(runtime, new Int32Array(12), [1, 1, 12]))).toThrow(
      DTypeError,
    );
    expect(() => model.forward(x, { lengths: i32([7, 7]) })).toThrow(
      "ParallelAttention: lengths must be [3], got [2]",
    );
    expect(() => model.forward(x, { lengths: i32([7, 8, 7]) })).toThrow(IndexError);
    expect(() => model.forward(x, { mask: floats(6, 7) })).toThrow(ShapeError);
  });
});

/** weight·x + bias in float64. */
function affine(weight: Tensor, bias: Tensor, x: ArrayLike<number>): number[] {
  const [rows, columns] = weight.shape as [number, number];
  const values = weight.read();
  const shift = bias.read();
  return Array.from({ length: rows }, (_, row) => {
    let sum = shift[row] as number;
    for (let j = 0; j < columns; j++)
      sum += (values[row * columns + j] as number) * (x[j] as number);
    return sum;
  });
}
