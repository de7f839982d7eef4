import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import { additiveAttention } from "../../src/ops/additive-attention.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

let heed: Runtime;
beforeAll(async () => {
  heed = await testRuntime();
});
afterAll(() => heed.dispose());

const [batch, positions, width, valueWidth] = [3, 5, 7, 6] as const;

function operands(queries: number) {
  const random = seeded(21);
  const make = (shape: number[]): Tensor => {
    const x = tensor(heed, random.array(shape.reduce((a, b) => a * b, 1)), shape);
    x.requiresGrad = true;
    return x;
  };
  return {
    keys: make([batch, positions, width]),
    v: make([width]),
    values: make([batch, positions, valueWidth]),
    query: make([batch, queries, width]),
  };
}

describe("additiveAttention()", () => {
  test("additiveAttention() step by step is one call over all queries", () => {
    heed.scope(() => {
      const all = operands(4);
      const dy = seeded(2).array(batch * 4 * valueWidth);
      const whole = additiveAttention(all.query, all.keys, all.v, all.values);
      backwardFrom(whole.context, tensor(heed, dy, whole.context.shape));

      const steps = operands(4);
      const queries = steps.query.read() as Float32Array;
      const column = (x: Float32Array, step: number, n: number) =>
        Float32Array.from({ length: batch * n }, (_, i) => {
          const row = Math.floor(i / n) * 4 + step;
          return x[row * n + (i % n)] as number;
        });
      for (const step of [3, 2, 1, 0]) {
        const query = tensor(heed, column(queries, step, width), [batch, 1, width]);
        const { context } = additiveAttention(query, steps.keys, steps.v, steps.values);
        const expected = column(whole.context.read() as Float32Array, step, valueWidth);
        expectSameBits(context.read(), expected, `step ${step}`);
        backwardFrom(context, tensor(heed, column(dy, step, valueWidth), context.shape));
      }
      // Four terms summed in another order: 4·2⁻²⁴ of sums below 8.
      for (const name of ["keys", "v", "values"] as const) {
        const got = steps[name].grad?.read() as Float32Array;
        expectClose(got, all[name].grad?.read() as Float32Array, 4e-6, name);
      }
      for (const x of [...Object.values(all), ...Object.values(steps)]) x.grad?.dispose();
    });
  });

  test("additiveAttention() sends the gradients of context and weights back together", () => {
    const gradient = (byContext: number, byWeights: number): Float32Array =>
      heed.scope(() => {
        const { query, keys, v, values } = operands(2);
        const { context, weights } = additiveAttention(query, keys, v, values);
        const run = context.node?.backward;
        if (!context.node || !run) throw new Error("additiveAttention must be recorded");
        const random = seeded(6);
        const dContext = random.array(context.size).map((value) => value * byContext);
        const dWeights = random.array(weights.size).map((value) => value * byWeights);
        context.node.backward = ([given]) =>
          run([given ?? null, tensor(heed, dWeights, weights.shape)]);
        backwardFrom(context, tensor(heed, dContext, context.shape));
        const got = query.grad?.read() as Float32Array;
        for (const x of [query, keys, v, values]) x.grad?.dispose();
        return got;
      });
    const [one, other] = [gradient(1, 0), gradient(0, 1)];
    const sum = one.map((value, i) => value + (other[i] as number));
    expectClose(gradient(1, 1), sum, 1e-6); // 5 terms of size 1, rounded three times
  });

  test("additiveAttention() computes no gradient that nobody wants", () => {
    heed.scope(() => {
      const { query, keys, v, values } = operands(1);
      query.requiresGrad = false;
      keys.requiresGrad = false;
      v.requiresGrad = false;
      const { context } = additiveAttention(query, keys, v, values);
      backwardFrom(context, tensor(heed, new Float32Array(context.size).fill(1), context.shape));
      expect([query.grad, keys.grad, v.grad]).toEqual([null, null, null]);
      // Each value's gradient is its weight: over a row's positions they sum to 1.
      const dValues = values.grad?.read() as Float32Array;
      values.grad?.dispose();
      const first = Array.from({ length: positions }, (_, s) => dValues[s * valueWidth] as number);
      expect(first.reduce((a, b) => a + b)).toBeCloseTo(1, 6);
    });
  });

  test("additiveAttention() refuses shapes that do not fit", () => {
    heed.scope(() => {
      const { query, keys, v, values } = operands(1);
      const short = tensor(heed, new Float32Array(6), [6]);
      expect(() => additiveAttention(query, keys, short, values)).toThrow(
        new ShapeError("additiveAttention: v must be [7], got [6]"),
      );
      expect(() => additiveAttention(query, values, v, values)).toThrow(
        new ShapeError("additiveAttention: keys must be [3, any, 7], got [3, 5, 6]"),
      );
    });
  });

  test("additiveAttention() refuses lengths that are no lengths", () => {
    heed.scope(() => {
      const { query, keys, v, values } = operands(1);
      const run = (lengths: Tensor) => () => additiveAttention(query, keys, v, values, { lengths });
      for (const length of [-1, 6])
        expect(run(tensor(heed, Int32Array.of(5, length, 0)))).toThrow(
          new IndexError(`additiveAttention: each length must lie within 0 … 5, got ${length}`),
        );
      expect(run(tensor(heed, Int32Array.of(5, 1)))).toThrow(ShapeError);
      expect(run(tensor(heed, Float32Array.of(5, 1, 1)))).toThrow(DTypeError);
    });
  });
});
