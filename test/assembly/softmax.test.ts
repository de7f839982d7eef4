import { describe, expect, it } from "vitest";
import { logSoftmax, logSoftmaxGrad, softmax, softmaxGrad } from "../reference/softmax.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the vector of 4, the turn of four vectors, and the turn of 32 accumulators.
const SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000];
const ROWS = 5;
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

type Forward = "softmaxF32" | "logSoftmaxF32";
type Backward = "softmaxGradF32" | "logSoftmaxGradF32";

const kernels = loadKernels("simd");
const random = seeded(71);

function forward(kernel: Forward, x: ArrayLike<number>, n: number): number[] {
  return overEveryCut(kernels, kernel, x.length / n, () => {
    const y = kernels.guarded(x.length);
    return { args: [y, kernels.f32(x), n], read: () => kernels.read(y, x.length) };
  });
}

function backward(
  kernel: Backward,
  dy: ArrayLike<number>,
  y: ArrayLike<number>,
  n: number,
): number[] {
  return overEveryCut(kernels, kernel, y.length / n, () => {
    const dx = kernels.guarded(y.length);
    return {
      args: [dx, kernels.f32(dy), kernels.f32(y), n],
      read: () => kernels.read(dx, y.length),
    };
  });
}

describe("softmaxF32()", () => {
  it("gives 0.7, 0.2, 0.1 for ln 7, ln 2, 0", () => {
    expectClose(forward("softmaxF32", [Math.log(7), Math.log(2), 0], 3), [0.7, 0.2, 0.1], 2 ** -23);
  });

  it("is its float64 reference at every size and cut", () => {
    for (const n of SIZES) {
      const x = random.array(ROWS * n, 3);
      // An exponential of at most 1 is off by 3.3·2⁻²⁴, its exponent, the sum and the quotient by
      // about as much again.
      expectClose(forward("softmaxF32", x, n), softmax(x, n), 8 * 2 ** -24, `n ${n}`);
    }
  });

  it("keeps small weights to (6 + 1.25·|d|)·2⁻²⁴ of themselves, down to e⁻⁸⁷", () => {
    const distances = Array.from({ length: 4000 }, (_, i) => Math.fround((87 * i) / 4000));
    const rows = distances.flatMap((d) => [0, -d]);
    const expected = softmax(rows, 2);
    const actual = forward("softmaxF32", rows, 2);
    distances.forEach((d, row) => {
      const want = expected[2 * row + 1] as number;
      const error = Math.abs((actual[2 * row + 1] as number) - want) / want;
      expect(error, `distance ${d}`).toBeLessThan((6 + 1.25 * d) * 2 ** -24);
    });
  });

  it("does not care for the size of the numbers, only for their differences", () => {
    const x = [0, 1, 2, 3];
    const expected = forward("softmaxF32", x, 4);
    for (const shift of [1e4, -1e4, 2 ** 20])
      expect(
        forward(
          "softmaxF32",
          x.map((value) => value + shift),
          4,
        ),
      ).toEqual(expected);
    expect(forward("softmaxF32", [3e38, 3e38, -3e38, -inf], 4)).toEqual([0.5, 0.5, 0, 0]);
  });

  it("gives zeros for a row of −∞ alone, and skips −∞ elsewhere", () => {
    for (const n of SIZES) {
      const hidden = new Array<number>(n).fill(-inf);
      const one = hidden.with(n >> 1, -1e30);
      const actual = forward("softmaxF32", [...hidden, ...one], n);
      expect(actual.slice(0, n), `n ${n}`).toEqual(hidden.map(() => 0));
      expect(actual.slice(n), `n ${n}`).toEqual(hidden.map((_, j) => (j === n >> 1 ? 1 : 0)));
    }
  });

  it("gives NaN throughout a row that holds NaN or +∞, and in no other", () => {
    for (const n of SIZES)
      for (const bad of [nan, inf]) {
        const x = random.array(3 * n);
        const expected = forward("softmaxF32", x, n);
        x[n + (n >> 1)] = bad;
        for (const rest of [1, -inf]) {
          if (rest === -inf) x.fill(rest, n, 2 * n).set([bad], 2 * n - 1);
          const actual = forward("softmaxF32", x, n);
          expect(actual.slice(n, 2 * n), `n ${n}`).toEqual(new Array(n).fill(nan));
          expectSameBits(actual.toSpliced(n, n), expected.toSpliced(n, n), `n ${n}`);
        }
      }
  });

  it("gives a row padded with −∞ the bits of the row alone", () => {
    for (const n of SIZES) {
      const x = random.array(n, 3);
      const alone = forward("softmaxF32", x, n);
      for (const more of [1, 3, 4, 29, 64]) {
        const padded = forward(
          "softmaxF32",
          [...x, ...new Array<number>(more).fill(-inf)],
          n + more,
        );
        expectSameBits(padded, [...alone, ...new Array<number>(more).fill(0)], `${n} + ${more}`);
      }
    }
  });

  it("writes over its input, with the same bits", () => {
    for (const n of SIZES) {
      const x = random.array(ROWS * n);
      const expected = forward("softmaxF32", x, n);
      const y = kernels.guarded(x.length);
      kernels.write(y, x);
      kernels.call("softmaxF32", [y, y, n], 0, ROWS);
      kernels.checkGuards();
      expectSameBits(kernels.read(y, x.length), expected, `n ${n}`);
    }
  });

  it("touches nothing where there are no rows or no columns", () => {
    kernels.reset();
    const y = kernels.guarded(4);
    kernels.call("softmaxF32", [y, kernels.f32([1, 2, 3, 4]), 4], 0, 0);
    kernels.call("softmaxF32", [y, kernels.f32([1, 2, 3, 4]), 0], 0, 2);
    expect([...kernels.read(y, 4)]).toEqual([nan, nan, nan, nan]);
    kernels.checkGuards();
  });
});

describe("softmaxGradF32()", () => {
  it("is its float64 reference at every size and cut", () => {
    for (const n of SIZES) {
      const y = Float32Array.from(softmax(random.array(ROWS * n, 2), n));
      const dy = random.array(ROWS * n);
      // Σ dy·y is a mean of dy weighted by y: each term rounds twice.
      const expected = softmaxGrad(dy, y, n);
      expectClose(backward("softmaxGradF32", dy, y, n), expected, 8 * 2 ** -24, `n ${n}`);
    }
  });

  it("gives zeros where the weights are zeros", () => {
    expect(backward("softmaxGradF32", [5, -3, 2], [0, 0, 0], 3)).toEqual([0, -0, 0]);
  });
});

describe("logSoftmaxF32()", () => {
  it("gives ln 0.7, ln 0.2, ln 0.1 for ln 7, ln 2, 0", () => {
    const actual = forward("logSoftmaxF32", [Math.log(7), Math.log(2), 0], 3);
    expectClose(actual, [0.7, 0.2, 0.1].map(Math.log), 2 ** -22);
  });

  it("is its float64 reference at every size and cut", () => {
    for (const n of SIZES) {
      const x = random.array(ROWS * n, 3);
      // The sum is off by 4·2⁻²⁴ of itself, its logarithm by 4 ulp, two differences round.
      expectClose(forward("logSoftmaxF32", x, n), logSoftmax(x, n), 8 * 2 ** -24, `n ${n}`);
    }
  });

  it("keeps a row of −∞ alone as it is, and gives −∞ where x is −∞", () => {
    const hidden = [-inf, -inf, -inf, -inf, -inf];
    const actual = forward("logSoftmaxF32", [...hidden, -inf, 2, -inf, 2, -inf], 5);
    expect(actual.slice(0, 5)).toEqual(hidden);
    expectClose(actual.slice(5), [-inf, -Math.LN2, -inf, -Math.LN2, -inf], 2 ** -24);
  });

  it("gives NaN throughout a row that holds NaN or +∞, and in no other", () => {
    for (const n of SIZES)
      for (const bad of [nan, inf]) {
        const x = random.array(3 * n);
        const expected = forward("logSoftmaxF32", x, n);
        x[2 * n - 1] = bad;
        const actual = forward("logSoftmaxF32", x, n);
        expect(actual.slice(n, 2 * n), `n ${n}`).toEqual(new Array(n).fill(nan));
        expectSameBits(actual.toSpliced(n, n), expected.toSpliced(n, n), `n ${n}`);
      }
  });

  it("gives a row padded with −∞ the bits of the row alone", () => {
    for (const n of SIZES) {
      const x = random.array(n, 3);
      const alone = forward("logSoftmaxF32", x, n);
      const rest = new Array<number>(37).fill(-inf);
      expectSameBits(forward("logSoftmaxF32", [...x, ...rest], n + 37), [...alone, ...rest]);
    }
  });

  it("writes over its input, with the same bits", () => {
    for (const n of SIZES) {
      const x = random.array(ROWS * n);
      const expected = forward("logSoftmaxF32", x, n);
      const y = kernels.guarded(x.length);
      kernels.write(y, x);
      kernels.call("logSoftmaxF32", [y, y, n], 0, ROWS);
      expectSameBits(kernels.read(y, x.length), expected, `n ${n}`);
    }
  });
});

describe("logSoftmaxGradF32()", () => {
  it("is its float64 reference at every size and cut", () => {
    for (const n of SIZES) {
      const y = Float32Array.from(logSoftmax(random.array(ROWS * n, 2), n));
      const dy = random.array(ROWS * n);
      // e^y·Σ dy: the sum of n terms rounds to 2⁻²⁴·√n of its size, here below 2√n
      const tolerance = (8 + n ** 0.5) * 2 ** -24;
      const expected = logSoftmaxGrad(dy, y, n);
      expectClose(backward("logSoftmaxGradF32", dy, y, n), expected, tolerance, `n ${n}`);
    }
  });

  it("gives zeros for a row of −∞ alone, dy where y is −∞ elsewhere, NaN for a row of NaN", () => {
    const y = [-inf, -inf, -inf, 0, nan, nan];
    expect(backward("logSoftmaxGradF32", [1, 2, 3, 4, 5, 6], y, 2)).toEqual([
      0,
      0,
      3,
      -3,
      nan,
      nan,
    ]);
  });
});
