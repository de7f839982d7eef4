import { describe, expect, test } from "vitest";
import { erf, geluErf, geluTanh, relu, sigmoid, silu, slopes } from "../reference/activation.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";
import { ulpError, ulpOf } from "../support/ulp.js";

// Around the vector of 4, the turns of 8 and of 16.
const SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 127];

interface Activation {
  readonly exact: (x: number) => number;
  /** Allowed: this many ulp, or the absolute error below where a product cancels. */
  readonly ulps: number;
  readonly absolute?: number;
  /** Whether backward is given x or y. */
  readonly keeps: "x" | "y";
  readonly positive?: boolean;
}

const ACTIVATIONS = {
  relu: { exact: relu, ulps: 0, keeps: "y" },
  // 4 ulp of erf or tanh and two roundings; on the left, where Φ is small, 2u absolute
  geluErf: { exact: geluErf, ulps: 6, absolute: 2 ** -23, keeps: "x" },
  geluTanh: { exact: geluTanh, ulps: 6, absolute: 2 ** -23, keeps: "x" },
  // 4 ulp of σ and one rounding
  silu: { exact: silu, ulps: 5, keeps: "x" },
  tanh: { exact: Math.tanh, ulps: 4, keeps: "y" },
  sigmoid: { exact: sigmoid, ulps: 4, keeps: "y" },
  exp: { exact: Math.exp, ulps: 2, keeps: "y" },
  log: { exact: Math.log, ulps: 4, keeps: "x", positive: true },
  sqrt: { exact: Math.sqrt, ulps: 0.5, keeps: "y", positive: true },
} as const satisfies Record<string, Activation>;
type Name = keyof typeof ACTIVATIONS;
const NAMES = Object.keys(ACTIVATIONS) as Name[];

const kernels = loadKernels("simd");

function input(name: Name, n: number, seed: number): Float32Array {
  const x = seeded(seed).array(n, 3);
  const { positive }: Activation = ACTIVATIONS[name];
  return positive ? x.map((value) => Math.abs(value) + 2 ** -10) : x;
}

function outputOf(name: Name, x: Float32Array): number[] {
  return overEveryCut(kernels, `${name}F32`, x.length, () => {
    const y = kernels.guarded(x.length);
    return { args: [y, kernels.f32(x)], read: () => kernels.read(y, x.length) };
  });
}

describe("the reference erf()", () => {
  test.each([
    [0, 0],
    [0.5, 0.5204998778130465],
    [1, 0.8427007929497149],
    [3, 0.9999779095030014],
    [-1, -0.8427007929497149],
  ])("of %d is %d", (x, y) => {
    expect(Math.abs(erf(x) - y)).toBeLessThan(1e-15);
  });
});

describe.each(NAMES)("%sF32", (name) => {
  const { exact, ulps, absolute = 0, keeps }: Activation = ACTIVATIONS[name];

  test(`${name}F32() is its float64 reference at every size and cut`, () => {
    for (const n of SIZES) {
      const x = input(name, n, 71);
      outputOf(name, x).forEach((y, i) => {
        const at = x[i] as number;
        const error = Math.abs(y - exact(at)) <= absolute ? 0 : ulpError(y, exact(at));
        if (!(error <= ulps))
          throw new Error(`seed 71: ${name}(${at}) = ${y}, off by ${error} ulp`);
      });
    }
  });

  test(`${name}GradF32() is dy·f′ at every size and cut`, () => {
    for (const n of SIZES) {
      const x = input(name, n, 72);
      const dy = seeded(73).array(n);
      const kept = keeps === "x" ? x : x.map(exact);
      const actual = overEveryCut(kernels, `${name}GradF32`, n, () => {
        const dx = kernels.guarded(n);
        return {
          args: [dx, kernels.f32(dy), kernels.f32(kept)],
          read: () => kernels.read(dx, n),
        };
      });
      actual.forEach((dx, i) => {
        const exactly = (dy[i] as number) * slopes[name](x[i] as number);
        // 1 − y, y rounded to f32: 2⁻²⁴ before the product, and a dozen roundings of the slope
        const allowed = 16 * ulpOf(exactly) + 4 * 2 ** -24 * Math.abs(dy[i] as number);
        if (!(Math.abs(dx - exactly) <= allowed))
          throw new Error(`seed 72: ${name}Grad at ${x[i]} must be ${exactly}, got ${dx}`);
      });
    }
  });

  test(`${name}F32() writes over its input`, () => {
    const x = input(name, 37, 74);
    const expected = outputOf(name, x);
    kernels.reset();
    const at = kernels.f32(x);
    kernels.call(`${name}F32`, [at, at], 0, 37);
    expect([...kernels.read(at, 37)]).toEqual(expected);
  });

  test(`${name}F32() gives NaN for NaN, and only there`, () => {
    const x = input(name, 23, 75);
    const expected = outputOf(name, x);
    for (const at of [0, 5, 16, 22]) {
      const y = outputOf(name, x.with(at, Number.NaN));
      expect(y).toEqual(expected.with(at, Number.NaN));
    }
  });
});

describe("at the ends of the range", () => {
  test.each<[Name, number, number]>([
    ["relu", -Infinity, 0],
    ["relu", Infinity, Infinity],
    ["geluErf", -Infinity, 0],
    ["geluErf", -1e30, 0],
    ["geluErf", 1e30, Math.fround(1e30)],
    ["geluErf", Infinity, Infinity],
    ["geluTanh", -Infinity, 0],
    ["geluTanh", -1e30, 0],
    ["geluTanh", 1e30, Math.fround(1e30)],
    ["geluTanh", Infinity, Infinity],
    ["silu", -200, 0],
    ["silu", 1e30, Math.fround(1e30)],
    ["log", 0, -Infinity],
    ["log", -1, Number.NaN],
    ["sqrt", -1, Number.NaN],
  ])("%sF32() of %d is %d", (name, x, y) => {
    expect((outputOf(name, Float32Array.of(x))[0] as number) + 0).toBe(y);
  });

  test.each<[Name, number, number]>([
    ["geluErf", -1e30, 0],
    ["geluErf", 1e30, 1],
    ["geluErf", -Infinity, 0],
    ["geluErf", Infinity, 1],
    ["geluTanh", -1e30, 0],
    ["geluTanh", 1e30, 1],
    ["geluTanh", -Infinity, 0],
    ["geluTanh", Infinity, 1],
    ["silu", -200, 0],
    ["silu", 200, 1],
  ])("%sGradF32() of %d is %d", (name, x, slope) => {
    kernels.reset();
    const [dx, dy, kept] = [kernels.guarded(1), kernels.f32([1]), kernels.f32([x])] as const;
    kernels.call(`${name}GradF32`, [dx, dy, kept], 0, 1);
    expect((kernels.read(dx, 1)[0] as number) + 0).toBe(slope);
  });
});

test("negF32() flips signs at every size and cut", () => {
  for (const n of SIZES) {
    const x = seeded(76).array(n);
    const actual = overEveryCut(kernels, "negF32", n, () => {
      const y = kernels.guarded(n);
      return { args: [y, kernels.f32(x)], read: () => kernels.read(y, n) };
    });
    expect(actual).toEqual(Array.from(x, (value) => -value));
  }
});
