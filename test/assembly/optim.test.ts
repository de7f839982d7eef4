import { describe, expect, it } from "vitest";
import { adamW, sgd } from "../reference/optim.js";
import { expectClose } from "../support/compare.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

const SIZES = [0, 1, 3, 4, 5, 7, 8, 9, 17, 64, 65];
const BLOCK = 4096;

const kernels = loadKernels("simd");
const random = seeded(71);

describe("adamWF32()", () => {
  it("is the first step of the formula, worked by hand", () => {
    kernels.reset();
    const [p, m, v] = [kernels.guarded(1), kernels.guarded(1), kernels.guarded(1)];
    kernels.write(p, [1]);
    kernels.write(m, [0]);
    kernels.write(v, [0]);
    // rate 0.1, β 0.5 and 0.75, eps 0, no decay, g = 2: m = 1, v = 1, m̂ = 2, v̂ = 4, p = 1 − 0.1·2/2
    const scalars = [1, 0.5, 0.75, 0.25, 0.1 / 0.5, 1 / Math.sqrt(0.25), 0] as const;
    kernels.call("adamWF32", [p, m, v, kernels.f32([2]), ...scalars], 0, 1);
    expect([p, m, v].map((address) => kernels.read(address, 1)[0])).toEqual([
      Math.fround(0.9),
      1,
      1,
    ]);
  });

  it("follows the float64 formula at every size and cut", () => {
    const options = { rate: 0.01, betas: [0.9, 0.99], eps: 1e-8, weightDecay: 0.1 } as const;
    for (const n of SIZES) {
      const [start, gradient] = [random.array(n), random.array(n)];
      const actual = overEveryCut(kernels, "adamWF32", n, () => {
        const state = [kernels.guarded(n), kernels.guarded(n), kernels.guarded(n)] as const;
        kernels.write(state[0], start);
        for (const address of state.slice(1)) kernels.write(address, new Float32Array(n));
        const scalars = [
          1 - 0.001,
          0.1,
          0.99,
          0.01,
          0.01 / 0.1,
          1 / Math.sqrt(0.01),
          1e-8,
        ] as const;
        return {
          args: [...state, kernels.f32(gradient), ...scalars],
          read: () => state.flatMap((address) => [...kernels.read(address, n)]),
        };
      });
      // about eight roundings of numbers near 1
      expectClose(actual.slice(0, n), adamW(start, [gradient], options), 8 * 2 ** -24, `n ${n}`);
    }
  });
});

describe("sgd", () => {
  it.each([
    ["sgdMomentumF32", false],
    ["sgdNesterovF32", true],
  ] as const)("%s() follows the float64 formula at every size and cut", (kernel, nesterov) => {
    const options = { rate: 0.1, momentum: 0.9, weightDecay: 0.01, nesterov };
    for (const n of SIZES) {
      const [start, first, second] = [random.array(n), random.array(n), random.array(n)];
      const velocity = Array.from(first, (g, i) => g + 0.01 * (start[i] as number));
      const after = sgd(start, [first], options);
      const actual = overEveryCut(kernels, kernel, n, () => {
        const [p, v] = [kernels.guarded(n), kernels.guarded(n)];
        kernels.write(p, after);
        kernels.write(v, velocity);
        return {
          args: [p, v, kernels.f32(second), 0.1, 0.9, 0.01],
          read: () => kernels.read(p, n),
        };
      });
      // a handful of roundings of numbers near 1
      expectClose(actual, sgd(start, [first, second], options), 8 * 2 ** -24, `n ${n}`);
    }
  });

  it("sgdF32() follows the float64 formula at every size and cut", () => {
    const options = { rate: 0.1, momentum: 0, weightDecay: 0.01, nesterov: false };
    for (const n of SIZES) {
      const [start, gradient] = [random.array(n), random.array(n)];
      const actual = overEveryCut(kernels, "sgdF32", n, () => {
        const p = kernels.guarded(n);
        kernels.write(p, start);
        return { args: [p, kernels.f32(gradient), 0.1, 0.01], read: () => kernels.read(p, n) };
      });
      // four roundings of numbers near 1
      expectClose(actual, sgd(start, [gradient], options), 4 * 2 ** -24, `n ${n}`);
    }
  });
});

describe("sumOfSquaresF32()", () => {
  it("gives one float64 a block of 4096, equal at every cut", () => {
    for (const n of [...SIZES, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5]) {
      const x = random.array(n);
      const blocks = Math.ceil(n / BLOCK);
      const actual = overEveryCut(kernels, "sumOfSquaresF32", blocks, () => {
        const partials = kernels.guarded(2 * blocks);
        return {
          args: [partials, kernels.f32(x), n],
          read: () => new Float64Array(kernels.bytes(partials, 8 * blocks).buffer),
        };
      });
      const expected = Array.from({ length: blocks }, (_, block) =>
        x.slice(block * BLOCK, (block + 1) * BLOCK).reduce((sum, value) => sum + value * value, 0),
      );
      // 4096 sums in float64
      expectClose(actual, expected, BLOCK * 2 ** -53, `n ${n}`);
    }
  });

  it("does not overflow where f32 would, and shows NaN and infinities", () => {
    const blockOf = (values: number[]): number => {
      kernels.reset();
      const partials = kernels.guarded(2);
      kernels.call("sumOfSquaresF32", [partials, kernels.f32(values), values.length], 0, 1);
      return new Float64Array(kernels.bytes(partials, 8).buffer)[0] as number;
    };
    expect(blockOf([3, 4])).toBe(25);
    expect(blockOf([2 ** 127, 2 ** 127])).toBe(2 ** 255);
    for (let at = 0; at < 19; at++) {
      expect(blockOf(new Array(19).fill(1).with(at, Number.NaN))).toBeNaN();
      expect(blockOf(new Array(19).fill(1).with(at, -Infinity))).toBe(Infinity);
    }
  });
});
