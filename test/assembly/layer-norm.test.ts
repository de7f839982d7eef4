import { describe, expect, it } from "vitest";
import { layerNorm, layerNormGrad } from "../reference/layer-norm.js";
import { expectClose, expectCloseNorm, expectSameBits } from "../support/compare.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the vector of 4, the turn of 8, the block of 16 columns, the turn of 32 accumulators.
const SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 768, 1000];
const ROWS = 5;
const EPS = 1e-5;
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const kernels = loadKernels("simd");
const random = seeded(79);

function forward(
  x: ArrayLike<number>,
  gamma: ArrayLike<number>,
  beta: ArrayLike<number>,
): { y: number[]; offsets: number[]; scales: number[] } {
  const n = gamma.length;
  const rows = x.length / n;
  const all = overEveryCut(kernels, "layerNormF32", rows, () => {
    const y = kernels.guarded(x.length);
    const [offsets, scales] = [kernels.guarded(rows), kernels.guarded(rows)];
    const inputs = [kernels.f32(x), kernels.f32(gamma), kernels.f32(beta)] as const;
    return {
      args: [y, offsets, scales, ...inputs, n, EPS],
      read: () => [
        ...kernels.read(y, x.length),
        ...kernels.read(offsets, rows),
        ...kernels.read(scales, rows),
      ],
    };
  });
  return {
    y: all.slice(0, x.length),
    offsets: all.slice(x.length, x.length + rows),
    scales: all.slice(x.length + rows),
  };
}

function gradX(dy: ArrayLike<number>, x: ArrayLike<number>, gamma: ArrayLike<number>): number[] {
  const n = gamma.length;
  const { offsets, scales } = forward(x, gamma, gamma);
  return overEveryCut(kernels, "layerNormGradF32", x.length / n, () => {
    const dx = kernels.guarded(x.length);
    const inputs = [dy, x, offsets, scales, gamma].map(kernels.f32);
    const args = [dx, ...(inputs as [number, number, number, number, number]), n] as const;
    return { args: [...args], read: () => kernels.read(dx, x.length) };
  });
}

/** dγ and dβ, both starting from `before`. */
function gradParameters(
  dy: ArrayLike<number>,
  x: ArrayLike<number>,
  n: number,
  before: ArrayLike<number>,
): number[] {
  const rows = x.length / n;
  const ones = new Array<number>(n).fill(1);
  const { offsets, scales } = forward(x, ones, ones);
  return overEveryCut(kernels, "layerNormParameterGradF32", Math.ceil(n / 16), () => {
    const [dGamma, dBeta] = [kernels.guarded(n), kernels.guarded(n)];
    kernels.write(dGamma, before);
    kernels.write(dBeta, before);
    const inputs = [dy, x, offsets, scales].map(kernels.f32) as [number, number, number, number];
    return {
      args: [dGamma, dBeta, ...inputs, rows, n],
      read: () => [...kernels.read(dGamma, n), ...kernels.read(dBeta, n)],
    };
  });
}

describe("layerNormF32()", () => {
  it("gives −γ + β and γ + β for the row −1, 1", () => {
    const { y, offsets, scales } = forward([-1, 1], [2, 3], [10, 20]);
    expectClose(y, [8, 23], EPS);
    expect(offsets).toEqual([1]);
    expectClose(scales, [1], EPS);
  });

  it("is its float64 reference at every size and cut", () => {
    for (const n of SIZES) {
      const x = random.array(ROWS * n, 3);
      const [gamma, beta] = [random.array(n), random.array(n)];
      // Sums of n terms in 32 accumulators, a root and a quotient: a few roundings of x̂, |x̂| ≤ √n.
      expectClose(
        forward(x, gamma, beta).y,
        layerNorm(x, gamma, beta, EPS),
        8 * 2 ** -24,
        `n ${n}`,
      );
    }
  });

  it("loses no digits to a large mean", () => {
    for (const n of SIZES)
      for (const mean of [1234, 40_000, -(2 ** 20)]) {
        const x = random.array(ROWS * n).map((value) => value + mean);
        const [gamma, beta] = [random.array(n), random.array(n)];
        const expected = layerNorm(x, gamma, beta, EPS);
        // As above: x − x₀ is exact here.
        expectClose(forward(x, gamma, beta).y, expected, 8 * 2 ** -24, `n ${n}, mean ${mean}`);
      }
    const ones = [1, 1, 1, 1];
    const { y } = forward([40_000, 40_001, 40_002, 40_003], ones, [0, 0, 0, 0]);
    const expected = [-1.3416354, -0.4472118, 0.4472118, 1.3416354]; // ±1.5 and ±0.5 over √1.25001
    expectClose(y, expected, 2 ** -22);
  });

  it("gives β for a constant row, whatever the constant", () => {
    for (const n of SIZES)
      for (const value of [0, 1234, 1234.567, 1e30, -3e-39]) {
        const beta = random.array(n);
        const x = new Array<number>(n).fill(value);
        expect(forward(x, random.array(n), beta).y, `n ${n}`).toEqual([...beta]);
      }
  });

  it("is not thrown off by a first element far from the others", () => {
    for (const n of [5, 64, 1000]) {
      const x = random.array(n);
      x[0] = 1e6;
      const [gamma, beta] = [random.array(n), random.array(n)];
      // x − x₀ rounds at the size of x₀, which is √n standard deviations.
      const tolerance = 8 * n ** 0.5 * 2 ** -24;
      expectClose(forward(x, gamma, beta).y, layerNorm(x, gamma, beta, EPS), tolerance, `n ${n}`);
    }
  });

  it("gives NaN throughout a row that holds NaN or ±∞, and in no other", () => {
    for (const n of SIZES)
      for (const bad of [nan, inf, -inf])
        for (const place of [n, 2 * n - 1]) {
          const x = random.array(3 * n);
          const [gamma, beta] = [random.array(n), random.array(n)];
          const expected = forward(x, gamma, beta).y;
          x[place] = bad;
          const actual = forward(x, gamma, beta).y;
          expect(actual.slice(n, 2 * n), `n ${n}`).toEqual(new Array(n).fill(nan));
          expectSameBits(actual.toSpliced(n, n), expected.toSpliced(n, n), `n ${n}`);
        }
  });

  it("writes over its input, with the same bits", () => {
    for (const n of SIZES) {
      const x = random.array(ROWS * n);
      const gamma = random.array(n);
      const expected = forward(x, gamma, gamma).y;
      const y = kernels.guarded(x.length);
      kernels.write(y, x);
      const [offsets, scales] = [kernels.guarded(ROWS), kernels.guarded(ROWS)];
      const weight = kernels.f32(gamma);
      kernels.call("layerNormF32", [y, offsets, scales, y, weight, weight, n, EPS], 0, ROWS);
      kernels.checkGuards();
      expectSameBits(kernels.read(y, x.length), expected, `n ${n}`);
    }
  });

  it("touches nothing where there are no rows", () => {
    kernels.reset();
    const y = kernels.guarded(4);
    kernels.call("layerNormF32", [y, y, y, y, y, y, 4, EPS], 0, 0);
    expect([...kernels.read(y, 4)]).toEqual([nan, nan, nan, nan]);
  });
});

describe("layerNormGradF32()", () => {
  it("is its float64 reference at every size and cut, with a large mean too", () => {
    for (const n of SIZES)
      for (const mean of [0, 40_000]) {
        const x = random.array(ROWS * n).map((value) => value + mean);
        const [dy, gamma] = [random.array(ROWS * n), random.array(n)];
        const { dx } = layerNormGrad(dy, x, gamma, EPS);
        // Of two elements x̂ is nearly ±1 whatever they are: dx is a difference of equals.
        const tolerance = n === 2 ? 1e-4 : 1e-6;
        expectCloseNorm(gradX(dy, x, gamma), dx, tolerance, `n ${n}, mean ${mean}`);
      }
  });

  it("gives zeros where dy is constant and γ is 1", () => {
    const x = random.array(64);
    const dx = gradX(new Array(64).fill(0.5), x, new Array(64).fill(1));
    // 0.5 − mean 0.5 − x̂·mean(0.5·x̂): only rounding is left
    expectClose(dx, new Array(64).fill(0), 4 * 2 ** -24);
  });

  it("writes over dy, with the same bits", () => {
    for (const n of SIZES) {
      const [x, dy, gamma] = [random.array(ROWS * n), random.array(ROWS * n), random.array(n)];
      const expected = gradX(dy, x, gamma);
      const { offsets, scales } = forward(x, gamma, gamma);
      const dx = kernels.guarded(x.length);
      kernels.write(dx, dy);
      const inputs = [x, offsets, scales, gamma].map(kernels.f32) as [
        number,
        number,
        number,
        number,
      ];
      kernels.call("layerNormGradF32", [dx, dx, ...inputs, n], 0, ROWS);
      kernels.checkGuards();
      expectSameBits(kernels.read(dx, x.length), expected, `n ${n}`);
    }
  });
});

describe("layerNormParameterGradF32()", () => {
  it("adds the reference's gradients to what is there, at every size and cut", () => {
    for (const n of SIZES)
      for (const rows of [0, 1, 2, 9]) {
        const [x, dy] = [random.array(rows * n), random.array(rows * n)];
        const before = random.array(n);
        const { dGamma, dBeta } = layerNormGrad(dy, x, new Array(n).fill(1), EPS);
        const expected = [...dGamma, ...dBeta].map((sum, i) => sum + (before[i % n] as number));
        // Ten sums, of terms with a few roundings each.
        const tolerance = 16 * 2 ** -24;
        expectClose(gradParameters(dy, x, n, before), expected, tolerance, `n ${n}, rows ${rows}`);
      }
  });

  it("adds the rows of dy upwards, each rounded once", () => {
    const n = 21;
    const [x, dy] = [random.array(50 * n), random.array(50 * n)];
    const expected = new Float32Array(n);
    dy.forEach((value, i) => {
      expected[i % n] = (expected[i % n] as number) + value;
    });
    const actual = gradParameters(dy, x, n, new Array(n).fill(0)).slice(n);
    expectSameBits(actual, expected);
  });
});
