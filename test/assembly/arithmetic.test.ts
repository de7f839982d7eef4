import { describe, expect, it } from "vitest";
import { sumTo } from "../reference/arithmetic.js";
import { expectClose } from "../support/compare.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the vector of 4, the turns of 8 and 16, and the blocks of 32.
const SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129];
const OPERATIONS = {
  add: (a: number, b: number) => a + b,
  sub: (a: number, b: number) => a - b,
  mul: (a: number, b: number) => a * b,
  div: (a: number, b: number) => a / b,
} as const;
type Name = keyof typeof OPERATIONS;
const NAMES = Object.keys(OPERATIONS) as Name[];

const kernels = loadKernels("simd");
const random = seeded(31);

describe.each(NAMES)("%s", (name) => {
  const f = OPERATIONS[name];

  it(`${name}F32() rounds each element once, at every size and cut`, () => {
    for (const n of SIZES) {
      const [a, b] = [random.array(n), random.array(n)];
      const actual = overEveryCut(kernels, `${name}F32`, n, () => {
        const y = kernels.guarded(n);
        return { args: [y, kernels.f32(a), kernels.f32(b)], read: () => kernels.read(y, n) };
      });
      expect(actual).toEqual(Array.from(a, (value, i) => Math.fround(f(value, b[i] as number))));
    }
  });

  it(`${name}F32() writes into an operand`, () => {
    kernels.reset();
    const [a, b] = [random.array(37), random.array(37)];
    const expected = Array.from(a, (value, i) => Math.fround(f(value, b[i] as number)));
    const first = [kernels.f32(a), kernels.f32(b)] as const;
    kernels.call(`${name}F32`, [first[0], ...first], 0, 37);
    expect([...kernels.read(first[0], 37)]).toEqual(expected);
    const second = [kernels.f32(a), kernels.f32(b)] as const;
    kernels.call(`${name}F32`, [second[1], ...second], 0, 37);
    expect([...kernels.read(second[1], 37)]).toEqual(expected);
  });

  it(`${name}StridedF32() repeats either operand along any of three axes`, () => {
    for (const [outer, rows, n] of [
      [1, 1, 1],
      [1, 5, 17],
      [3, 2, 33],
      [2, 4, 3],
    ] as const)
      for (let pattern = 0; pattern < 64; pattern++) {
        const walks = [1, 2, 4, 8, 16, 32].map((bit) => (pattern & bit) > 0);
        if (!walks[2] && !walks[5]) continue; // no shape gives that
        const [a, b] = [operand(walks.slice(0, 3)), operand(walks.slice(3))];
        const actual = overEveryCut(kernels, `${name}StridedF32`, outer * rows, () => {
          const y = kernels.guarded(outer * rows * n);
          const [x, z] = [kernels.f32(a.values), kernels.f32(b.values)];
          return {
            args: [y, x, z, rows, n, ...a.strides, ...b.strides],
            read: () => kernels.read(y, outer * rows * n),
          };
        });
        const expected = actual.map((_, i) => {
          const index = [Math.floor(i / (rows * n)), Math.floor(i / n) % rows, i % n];
          return Math.fround(f(a.at(index), b.at(index)));
        });
        expect(actual).toEqual(expected);

        function operand(walked: boolean[]) {
          const lengths = [outer, rows, n].map((length, axis): number =>
            walked[axis] ? length : 1,
          );
          const values = random.array(lengths.reduce((product, each) => product * each, 1));
          const strides = walked.map((is, axis) =>
            is ? lengths.slice(axis + 1).reduce((product, each) => product * each, 1) : 0,
          ) as [number, number, number];
          const at = (index: number[]): number =>
            values[
              index.reduce((sum, i, axis) => sum + i * (strides[axis] as number), 0)
            ] as number;
          return { values, strides, at };
        }
      }
  });
});

describe("arithmetic", () => {
  it("divF32() gives ±∞ and NaN by the rules of IEEE 754", () => {
    kernels.reset();
    const a = kernels.f32([1, -1, 0, Number.NaN, Infinity, Infinity]);
    const b = kernels.f32([0, 0, 0, 1, Infinity, 2]);
    const y = kernels.guarded(6);
    kernels.call("divF32", [y, a, b], 0, 6);
    expect([...kernels.read(y, 6)]).toEqual([
      Infinity,
      -Infinity,
      Number.NaN,
      Number.NaN,
      Number.NaN,
      Infinity,
    ]);
  });

  it.each([
    ["addScalarF32", (x: number) => x + 0.25],
    ["scaleF32", (x: number) => x * 0.25],
    ["divScalarF32", (x: number) => x / 0.25],
  ] as const)("%s() has a number on the right", (kernel, f) => {
    for (const n of SIZES) {
      const x = random.array(n);
      const actual = overEveryCut(kernels, kernel, n, () => {
        const y = kernels.guarded(n);
        return { args: [y, kernels.f32(x), 0.25], read: () => kernels.read(y, n) };
      });
      expect(actual).toEqual(Array.from(x, (value) => Math.fround(f(value))));
    }
  });

  it("divScalarF32() rounds once where a product with 1/3 would round twice", () => {
    kernels.reset();
    const y = kernels.guarded(1);
    kernels.call("divScalarF32", [y, kernels.f32([5]), 3], 0, 1);
    expect(kernels.read(y, 1)[0]).toBe(Math.fround(5 / 3));
  });

  it("fillF32() writes one value everywhere", () => {
    for (const n of SIZES) {
      const actual = overEveryCut(kernels, "fillF32", n, () => {
        const y = kernels.guarded(n);
        return { args: [y, -2.5], read: () => kernels.read(y, n) };
      });
      expect(actual).toEqual(new Array(n).fill(-2.5));
    }
  });
});

describe("sum-to", () => {
  it("sumMiddleF32() sums [1, 2, 3] over its middle", () => {
    kernels.reset();
    const y = kernels.guarded(3);
    kernels.call("sumMiddleF32", [y, kernels.f32([1, 2, 3, 10, 20, 30]), 2, 3], 0, 1);
    expect([...kernels.read(y, 3)]).toEqual([11, 22, 33]);
  });

  it("sumMiddleF32() adds rows upwards in one accumulator a column", () => {
    for (const inner of [1, 3, 4, 5, 31, 32, 33, 63, 64, 65])
      for (const [outer, middle] of [
        [1, 0],
        [1, 1],
        [2, 7],
        [3, 20],
      ] as const) {
        const x = random.array(outer * middle * inner);
        const range = outer * Math.ceil(inner / 32);
        const actual = overEveryCut(kernels, "sumMiddleF32", range, () => {
          const y = kernels.guarded(outer * inner);
          return {
            args: [y, kernels.f32(x), middle, inner],
            read: () => kernels.read(y, outer * inner),
          };
        });
        const expected = actual.map((_, i) => {
          const [o, j] = [Math.floor(i / inner), i % inner];
          let sum = 0;
          for (let m = 0; m < middle; m++)
            sum = Math.fround(sum + (x[(o * middle + m) * inner + j] as number));
          return sum;
        });
        expect(actual).toEqual(expected);
      }
  });

  it("sumLastF32() is within n roundings of the float64 sum at every size", () => {
    for (const n of SIZES) {
      const x = random.array(5 * n);
      const actual = overEveryCut(kernels, "sumLastF32", 5, () => {
        const y = kernels.guarded(5);
        return { args: [y, kernels.f32(x), n], read: () => kernels.read(y, 5) };
      });
      // n sums of values near 1, rounded to 2⁻²⁴ each
      expectClose(actual, sumTo(x, [5, n], [5, 1]), (n + 1) * 2 ** -24, `n ${n}`);
    }
  });
});
