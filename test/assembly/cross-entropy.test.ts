import { describe, expect, it } from "vitest";
import {
  type CrossEntropyRules,
  crossEntropy,
  crossEntropyGrad,
} from "../reference/cross-entropy.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the vector of 4, the turn of four vectors, and the turn of 32 accumulators.
const SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000];
const ROWS = 6;
const IGNORE = -100;
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const kernels = loadKernels("simd");
const random = seeded(73);

function losses(
  x: ArrayLike<number>,
  targets: readonly number[],
  n: number,
  { ignore = IGNORE, smoothing = 0 }: CrossEntropyRules = {},
): number[] {
  const rows = targets.length;
  return overEveryCut(kernels, "crossEntropyF32", rows, () => {
    const [y, stats] = [kernels.guarded(rows), kernels.guarded(2 * rows)];
    const args = [y, stats, kernels.f32(x), kernels.i32(targets), n, ignore, smoothing] as const;
    return { args: [...args], read: () => kernels.read(y, rows) };
  });
}

/** The kernel forward, then backward with the statistics it left. */
function gradient(
  x: ArrayLike<number>,
  targets: readonly number[],
  n: number,
  scale: number,
  { ignore = IGNORE, smoothing = 0 }: CrossEntropyRules = {},
): number[] {
  const rows = targets.length;
  return overEveryCut(kernels, "crossEntropyGradF32", rows, () => {
    const [y, stats] = [kernels.guarded(rows), kernels.guarded(2 * rows)];
    const [logits, ids] = [kernels.f32(x), kernels.i32(targets)];
    kernels.call("crossEntropyF32", [y, stats, logits, ids, n, ignore, smoothing], 0, rows);
    const dx = kernels.guarded(rows * n);
    const args = [dx, logits, stats, ids, n, ignore, smoothing, scale] as const;
    return { args: [...args], read: () => kernels.read(dx, rows * n) };
  });
}

function someTargets(n: number): number[] {
  return Array.from({ length: ROWS }, (_, row) => (row === 2 ? IGNORE : random.integer(n)));
}

describe("crossEntropyF32()", () => {
  it("costs −ln 0.7 for the target of logits ln 7, ln 2, 0", () => {
    expectClose(losses([Math.log(7), Math.log(2), 0], [0], 3), [-Math.log(0.7)], 2 ** -22);
  });

  it("is its float64 reference at every size, smoothing and cut", () => {
    for (const n of SIZES)
      for (const smoothing of [0, 0.1, 1]) {
        const x = random.array(ROWS * n, 3);
        const targets = someTargets(n);
        const rules = { ignore: IGNORE, smoothing };
        const expected = crossEntropy(x, targets, n, rules);
        // The sum is off by 4·2⁻²⁴ of itself, its logarithm by 4 ulp, a few differences round.
        expectClose(
          losses(x, targets, n, rules),
          expected,
          12 * 2 ** -24,
          `n ${n}, s ${smoothing}`,
        );
      }
  });

  it("loses no digits to large logits", () => {
    for (const shift of [4000, -(2 ** 20)])
      expectClose(
        losses(
          [0, 1, 2].map((value) => value + shift),
          [0],
          3,
        ),
        crossEntropy([0, 1, 2], [0], 3),
        4 * 2 ** -24,
      );
  });

  it("takes −∞ away from the target as a class that cannot be, at the target as ∞", () => {
    const actual = losses([-inf, 0, 0, -inf, -inf, 5, -inf, -inf, -inf], [1, 0, 2], 3);
    expectClose(actual.slice(0, 1), [Math.LN2], 2 ** -24);
    expect(actual.slice(1)).toEqual([inf, inf]);
  });

  it("gives NaN for a row with NaN or +∞, and for no other", () => {
    for (const n of SIZES) {
      const x = random.array(3 * n);
      const expected = losses(x, [0, 0, 0], n);
      for (const bad of [nan, inf]) {
        x[2 * n - 1] = bad;
        expectSameBits(losses(x, [0, 0, 0], n), expected.with(1, nan), `n ${n}`);
      }
    }
  });

  it("does not read the logits of an ignored row", () => {
    expect(losses([nan, nan, 1, 1], [7, 0], 2, { ignore: 7 })[0]).toBe(0);
  });

  it("gives a row padded with −∞ the bits of the row alone", () => {
    for (const n of SIZES) {
      const x = random.array(n, 3);
      const padded = [...x, ...new Array<number>(35).fill(-inf)];
      expectSameBits(losses(padded, [n - 1], n + 35), losses(x, [n - 1], n), `n ${n}`);
    }
  });
});

describe("crossEntropyGradF32()", () => {
  it("is its float64 reference at every size, smoothing and cut", () => {
    for (const n of SIZES)
      for (const smoothing of [0, 0.1, 1]) {
        const x = random.array(ROWS * n, 3);
        const targets = someTargets(n);
        const rules = { ignore: IGNORE, smoothing };
        const expected = crossEntropyGrad(x, targets, n, 0.25, rules);
        // As softmax, times 0.25.
        const actual = gradient(x, targets, n, 0.25, rules);
        expectClose(actual, expected, 3 * 2 ** -24, `n ${n}, s ${smoothing}`);
      }
  });

  it("gives zeros for an ignored row and for a row of −∞ alone", () => {
    const x = [nan, nan, nan, -inf, -inf, -inf, 0, 0, -inf];
    const expected = [0, 0, 0, 0, 0, 0, -0.5, 0.5, 0];
    expect(gradient(x, [IGNORE, 1, 0], 3, 1)).toEqual(expected);
  });

  it("gives NaN for a row with NaN or +∞, and for no other", () => {
    for (const bad of [nan, inf]) {
      const actual = gradient([0, 0, bad, 0, 0, 0], [0, 1, 0], 2, 1);
      expect(actual).toEqual([-0.5, 0.5, nan, nan, -0.5, 0.5]);
    }
  });

  it("writes over the logits, with the same bits", () => {
    for (const n of SIZES) {
      const x = random.array(n);
      const expected = gradient(x, [0], n, 1);
      kernels.reset();
      const [logits, ids] = [kernels.guarded(n), kernels.i32([0])];
      const [y, stats] = [kernels.guarded(1), kernels.guarded(2)];
      kernels.write(logits, x);
      kernels.call("crossEntropyF32", [y, stats, logits, ids, n, IGNORE, 0], 0, 1);
      kernels.call("crossEntropyGradF32", [logits, logits, stats, ids, n, IGNORE, 0, 1], 0, 1);
      kernels.checkGuards();
      expectSameBits(kernels.read(logits, n), expected, `n ${n}`);
    }
  });
});
