import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scaledDotProductAttention } from "../../src/models/scaled-dot-product-attention.js";
import { attention, attentionWithWeights } from "../../src/ops/attention.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

/** A few roundings of 2⁻²⁴ in numbers below 1. */
const TOLERANCE = 3e-7;

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

/** Rows of one matrix, as a batch of one. */
function batchOf(rows: readonly number[][]): Tensor {
  return tensor(runtime, rows.flat(), [1, rows.length, rows[0]?.length ?? 0]);
}

describe("scaledDotProductAttention(), by hand", () => {
  const query = [[1, 0, 1]];
  const keys = [
    [1, 0, 1],
    [0, 1, 0],
    [1, 1, 0],
  ];
  const values = [
    [0.5, 1.0],
    [0.2, 0.8],
    [0.9, 0.3],
  ];

  test("weighs three keys by the scores [2, 0, 1]/√3", () => {
    runtime.scope(() => {
      const { output, weights } = scaledDotProductAttention(
        batchOf(query),
        batchOf(keys),
        batchOf(values),
      );
      // e^(2/√3), e⁰, e^(1/√3) = 3.173071, 1, 1.781313; their sum is 5.954384.
      expectClose(weights.read(), [0.532896, 0.167943, 0.29916], 1e-6);
      expectClose(output.read(), [0.569281, 0.756999], 1e-6);
      expect(weights.shape).toEqual([1, 1, 3]);
      expect(output.shape).toEqual([1, 1, 2]);
    });
  });

  test("gives a batch what its rows get alone", () => {
    runtime.scope(() => {
      const twice = (rows: readonly number[][]): Tensor =>
        tensor(
          runtime,
          [...rows.flat(), ...rows.toReversed().flat()],
          [2, rows.length, rows[0]?.length ?? 0],
        );
      const alone = scaledDotProductAttention(batchOf(query), batchOf(keys), batchOf(values));
      const both = scaledDotProductAttention(twice(query), twice(keys), twice(values));
      expectSameBits(both.output.read().slice(0, 2), alone.output.read());
      // Keys and values in another order: the same weights in that order, the same output.
      const [a, b, c] = alone.weights.read();
      expectClose(both.weights.read().slice(3), [c, b, a] as number[], TOLERANCE);
      expectClose(both.output.read().slice(2), alone.output.read(), TOLERANCE);
    });
  });

  test('reads "bank" as 0.7 of money, 0.2 of river and 0.1 of tree', () => {
    runtime.scope(() => {
      const bank = batchOf([[1]]);
      // One wide, so the scores are the keys: ln 7, ln 2 and ln 1.
      const context = batchOf([[Math.log(7)], [Math.log(2)], [0]]);
      const [money, river, tree] = [
        [1, 0.5, -2],
        [0, 2, 1],
        [-1, 0, 3],
      ] as [number[], number[], number[]];
      const { output, weights } = scaledDotProductAttention(
        bank,
        context,
        batchOf([money, river, tree]),
      );
      expectClose(weights.read(), [0.7, 0.2, 0.1], TOLERANCE);
      // 0.7·[1, 0.5, −2] + 0.2·[0, 2, 1] + 0.1·[−1, 0, 3]
      expectClose(output.read(), [0.6, 0.75, -0.9], TOLERANCE);
    });
  });

  test("keeps scores that would overflow an exponential", () => {
    runtime.scope(() => {
      const large = batchOf([[1000]]);
      const { output, weights } = scaledDotProductAttention(
        large,
        batchOf([[2], [1], [2]]),
        batchOf([[1], [5], [3]]),
      );
      expect([...weights.read()]).toEqual([0.5, 0, 0.5]);
      expect([...output.read()]).toEqual([2]);
    });
  });

  test("hides what the mask hides, whatever stands there", () => {
    runtime.scope(() => {
      const attnMask = tensor(runtime, [1, 0, 1], [1, 1, 3], "u8");
      const { output, weights } = scaledDotProductAttention(
        batchOf(query),
        batchOf([keys[0], [Number.NaN, 0, 0], keys[2]] as number[][]),
        batchOf([values[0], [Number.NaN, Infinity], values[2]] as number[][]),
        { attnMask },
      );
      // 3.173071 and 1.781313 of 4.954384
      expectClose(weights.read(), [0.640457, 0, 0.359543], 1e-6);
      expectClose(output.read(), [0.643817, 0.74832], 1e-6);
    });
  });

  test("gives zeros where the mask hides all", () => {
    runtime.scope(() => {
      const attnMask = tensor(runtime, [0, 0, 0], [1, 1, 3], "u8");
      const { output, weights } = scaledDotProductAttention(
        batchOf(query),
        batchOf(keys),
        batchOf(values),
        { attnMask },
      );
      expect([...weights.read(), ...output.read()]).toEqual([0, 0, 0, 0, 0]);
    });
  });
});

describe("scaledDotProductAttention()", () => {
  const draw = (seed: number, shape: number[]): Tensor =>
    tensor(runtime, seeded(seed).array(shape.reduce((a, b) => a * b)), shape);

  test("takes PyTorch's options: the bits of attention() with its own", () => {
    runtime.scope(() => {
      const [q, k, v] = [draw(1, [2, 3, 4, 8]), draw(2, [2, 3, 6, 8]), draw(3, [2, 3, 6, 5])];
      const attnMask = draw(4, [3, 1, 6]);
      const ours = attentionWithWeights(q, k, v, { mask: attnMask, causal: "start", scale: 0.3 });
      const theirs = scaledDotProductAttention(q, k, v, { attnMask, isCausal: true, scale: 0.3 });
      expectSameBits(theirs.output.read(), ours.output.read());
      expectSameBits(theirs.weights.read(), ours.weights.read());
      const bare = attention(q, k, v);
      expectSameBits(scaledDotProductAttention(q, k, v).output.read(), bare.read());
    });
  });

  test("drops weights by dropoutP, by the runtime's seed", () => {
    runtime.scope(() => {
      const [q, k, v] = [draw(1, [1, 9, 8]), draw(2, [1, 9, 8]), draw(3, [1, 9, 8])];
      const weigh = (): number[] => {
        runtime.seed(5);
        return [...scaledDotProductAttention(q, k, v, { dropoutP: 0.5 }).weights.read()];
      };
      const dropped = weigh().filter((weight) => weight === 0).length;
      expect(dropped).toBeGreaterThan(20);
      expect(dropped).toBeLessThan(60);
      expect(weigh()).toEqual(weigh());
    });
  });
});
