import { describe, expect, it } from "vitest";
import { argmax, topK } from "../reference/select.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the vectors of 4 and the turn of 8.
const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 100];
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const kernels = loadKernels("simd");
const random = seeded(67);

/** Rows that are random, full of equals, ascending, all −∞, or hold NaN. */
function rowsOf(n: number): number[] {
  const few = Array.from({ length: n }, () => random.integer(3) - 1);
  const someNaN = Array.from(random.array(n), (value, i) => (i % 5 === 3 ? nan : value));
  return [
    ...random.array(n),
    ...few,
    ...Array.from({ length: n }, (_, i) => i),
    ...Array.from({ length: n }, (_, i) => -i),
    ...new Array<number>(n).fill(-inf),
    ...someNaN,
    ...new Array<number>(n).fill(nan),
  ];
}

function argmaxOf(x: readonly number[], n: number): number[] {
  const rows = x.length / n;
  return overEveryCut(kernels, "argmaxF32", rows, () => {
    const y = kernels.guarded(rows);
    return { args: [y, kernels.f32(x), n], read: () => kernels.readI32(y, rows) };
  });
}

function topKOf(x: readonly number[], n: number, k: number): number[] {
  const rows = x.length / n;
  return overEveryCut(kernels, "topKF32", rows, () => {
    const values = kernels.guarded(rows * k);
    const indices = kernels.guarded(rows * k);
    return {
      args: [values, indices, kernels.f32(x), n, k],
      read: () => [...kernels.read(values, rows * k), ...kernels.readI32(indices, rows * k)],
    };
  });
}

describe("argmaxF32()", () => {
  it("takes the lowest of equals, the first NaN, and 0 of −0 and 0 alike", () => {
    expect(argmaxOf([1, 3, 3, 2], 4)).toEqual([1]);
    expect(argmaxOf([-0, 0, -0], 3)).toEqual([0]);
    expect(argmaxOf([1, nan, inf, nan], 4)).toEqual([1]);
    expect(argmaxOf([-inf, -inf], 2)).toEqual([0]);
  });

  it("agrees with a sort at every size", () => {
    for (const n of SIZES) {
      const x = rowsOf(n).map(Math.fround);
      expect(argmaxOf(x, n), `n ${n}`).toEqual(argmax(x, n));
    }
  });
});

describe("topKF32()", () => {
  it("sorts descending and names where each came from", () => {
    expect(topKOf([2, 9, 4, 9, 1], 5, 3)).toEqual([9, 9, 4, 1, 3, 2]);
  });

  it("agrees with a sort at every size and k", () => {
    for (const n of SIZES)
      for (const k of new Set([1, 2, 5, n - 1, n].filter((each) => each >= 1 && each <= n))) {
        const x = rowsOf(n).map(Math.fround);
        const { values, indices } = topK(x, n, k);
        expect(topKOf(x, n, k), `n ${n}, k ${k}`).toEqual([...values, ...indices]);
      }
  });

  it("topKGradF32() sends each gradient to where its value came from", () => {
    const actual = overEveryCut(kernels, "topKGradF32", 2, () => {
      const dx = kernels.guarded(6);
      kernels.write(dx, [0, 0, 0, 10, 0, 0]);
      const args = [dx, kernels.f32([1, 2, 3, 4]), kernels.i32([2, 0, 0, 1]), 3, 2] as const;
      return { args: [...args], read: () => kernels.read(dx, 6) };
    });
    expect(actual).toEqual([2, 0, 1, 13, 4, 0]);
  });
});
