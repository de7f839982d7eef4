import { describe, expect, it } from "vitest";
import { max, maxGrad, type Sizes, spread } from "../reference/reduce.js";
import { expectSameBits } from "../support/compare.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the vector of 4, the turn of 16, the block of 32 columns and the turn of 32 accumulators.
const SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000];
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const kernels = loadKernels("simd");
const random = seeded(83);

function maxLast(x: ArrayLike<number>, n: number): number[] {
  const rows = x.length / n;
  return overEveryCut(kernels, "maxLastF32", rows, () => {
    const y = kernels.guarded(rows);
    return { args: [y, kernels.f32(x), n], read: () => kernels.read(y, rows) };
  });
}

function maxMiddle(x: ArrayLike<number>, [outer, middle, inner]: Sizes): number[] {
  return overEveryCut(kernels, "maxMiddleF32", outer * Math.ceil(inner / 32), () => {
    const y = kernels.guarded(outer * inner);
    return {
      args: [y, kernels.f32(x), middle, inner],
      read: () => kernels.read(y, outer * inner),
    };
  });
}

function maxGradLast(dy: ArrayLike<number>, x: ArrayLike<number>, n: number): number[] {
  const y = maxLast(x, n);
  return overEveryCut(kernels, "maxGradLastF32", y.length, () => {
    const dx = kernels.guarded(x.length);
    const args = [dx, kernels.f32(dy), kernels.f32(x), kernels.f32(y), n] as const;
    return { args: [...args], read: () => kernels.read(dx, x.length) };
  });
}

function maxGradMiddle(dy: ArrayLike<number>, x: ArrayLike<number>, sizes: Sizes): number[] {
  const [outer, middle, inner] = sizes;
  const y = maxMiddle(x, sizes);
  return overEveryCut(kernels, "maxGradMiddleF32", outer * Math.ceil(inner / 32), () => {
    const dx = kernels.guarded(x.length);
    const args = [dx, kernels.f32(dy), kernels.f32(x), kernels.f32(y), middle, inner] as const;
    return { args: [...args], read: () => kernels.read(dx, x.length) };
  });
}

/** Random numbers, every seventh NaN and every fifth one of a few that repeat. */
function someValues(size: number): Float32Array {
  return random
    .array(size)
    .map((value, i) => (i % 7 === 3 ? nan : i % 5 === 0 ? random.integer(3) : value));
}

describe("maxLastF32() and maxGradLastF32()", () => {
  it("find the largest, and give it the gradient: the first of equals", () => {
    expect(maxLast([1, 7, 3, 7, -inf, -inf, -5, -inf], 4)).toEqual([7, -5]);
    const x = [1, 7, 3, 7, -inf, -inf, -5, -inf];
    expect(maxGradLast([10, 20], x, 4)).toEqual([0, 10, 0, 0, 0, 0, 20, 0]);
  });

  it("find NaN wherever it stands, and tell it from ∞ − ∞", () => {
    for (const n of SIZES)
      for (const place of new Set([0, n >> 1, n - 1])) {
        const x = random.array(n);
        x[place] = nan;
        expect(maxLast(x, n), `n ${n}, NaN at ${place}`).toEqual([nan]);
        const expected = new Array<number>(n).fill(0).with(place, 5);
        expect(maxGradLast([5], x, n), `n ${n}, NaN at ${place}`).toEqual(expected);
      }
    expect(maxLast([-inf, inf, 3], 3)).toEqual([inf]);
    expect(maxLast([-inf, -inf, -inf], 3)).toEqual([-inf]);
  });

  it("agree with the reference at every size and cut", () => {
    for (const n of SIZES)
      for (const rows of [0, 1, 5]) {
        const [x, dy] = [someValues(rows * n), random.array(rows)];
        expectSameBits(maxLast(x, n), max(x, [rows, n, 1]), `n ${n}`);
        expectSameBits(maxGradLast(dy, x, n), maxGrad(dy, x, [rows, n, 1]), `n ${n}`);
      }
  });
});

describe("maxMiddleF32() and maxGradMiddleF32()", () => {
  it("find the largest of each column, and give it the gradient: the first of equals", () => {
    const x = [1, 5, nan, 4, 5, 2];
    expect(maxMiddle(x, [1, 2, 3])).toEqual([4, 5, nan]);
    expect(maxGradMiddle([10, 20, 30], x, [1, 2, 3])).toEqual([0, 20, 30, 10, 0, 0]);
  });

  it("agree with the reference at every size and cut", () => {
    for (const inner of SIZES)
      for (const [outer, middle] of [
        [1, 1],
        [1, 0],
        [2, 7],
        [3, 20],
      ] as const) {
        const sizes = [outer, middle, inner] as const;
        const [x, dy] = [someValues(outer * middle * inner), random.array(outer * inner)];
        expectSameBits(maxMiddle(x, sizes), max(x, sizes), `[${sizes}]`);
        expectSameBits(maxGradMiddle(dy, x, sizes), maxGrad(dy, x, sizes), `[${sizes}]`);
      }
  });
});

describe("spreadF32()", () => {
  it("repeats dy over the middle, at every size and cut", () => {
    for (const inner of SIZES)
      for (const [outer, middle] of [
        [1, 1],
        [2, 7],
        [3, 33],
      ] as const) {
        const dy = random.array(outer * inner);
        const actual = overEveryCut(kernels, "spreadF32", outer * middle, () => {
          const dx = kernels.guarded(outer * middle * inner);
          return {
            args: [dx, kernels.f32(dy), middle, inner],
            read: () => kernels.read(dx, outer * middle * inner),
          };
        });
        expectSameBits(
          actual,
          spread(dy, [outer, middle, inner]),
          `[${outer}, ${middle}, ${inner}]`,
        );
      }
  });
});

describe("rowSum(), by sumLastF32()", () => {
  const sumLast = (x: ArrayLike<number>, n: number): number[] =>
    overEveryCut(kernels, "sumLastF32", x.length / n, () => {
      const y = kernels.guarded(x.length / n);
      return { args: [y, kernels.f32(x), n], read: () => kernels.read(y, x.length / n) };
    });

  it("puts element j in accumulator j mod 32, and adds those in one tree", () => {
    for (const n of SIZES) {
      const x = random.array(n);
      const lanes = new Float32Array(32);
      x.forEach((value, j) => {
        lanes[j % 32] = (lanes[j % 32] as number) + value;
      });
      // Vectors a … h of four lanes: ((a + b) + (c + d)) + ((e + f) + (g + h)), then the lanes alike.
      let level = [...lanes];
      for (let half = 16; half >= 4; half /= 2)
        level = Array.from({ length: half }, (_, i) => {
          const vector = 2 * (i >> 2);
          const [left, right] = [level[4 * vector + (i & 3)], level[4 * vector + 4 + (i & 3)]];
          return Math.fround((left as number) + (right as number));
        });
      const [p, q, r, s] = level as [number, number, number, number];
      const expected = Math.fround(Math.fround(p + q) + Math.fround(r + s));
      expectSameBits(sumLast(x, n), [expected], `n ${n}`);
    }
  });

  it("gives a row padded with zeros the bits of the row alone", () => {
    for (const n of SIZES) {
      const x = random.array(n);
      for (const more of [1, 3, 29, 64])
        expectSameBits(
          sumLast([...x, ...new Array<number>(more).fill(0)], n + more),
          sumLast(x, n),
        );
    }
  });
});
