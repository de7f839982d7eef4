import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, ShapeError } from "../../src/errors.js";
import { type AttentionOptions, attention } from "../../src/ops/attention.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import { expectSameBits } from "../support/compare.js";
import { testRuntime } from "../support/runtime.js";

let heed: Runtime;
beforeAll(async () => {
  heed = await testRuntime();
});
afterAll(() => heed.dispose());

describe("attention() refuses", () => {
  const of = (shape: number[], dtype: "f32" | "i32" | "u8" = "f32") =>
    tensor(heed, new Array(shape.reduce((a, b) => a * b, 1)).fill(1), shape, dtype);
  const expectError = (
    run: () => void,
    kind: new (...args: never[]) => Error,
    message: string | RegExp,
  ) =>
    heed.scope(() => {
      expect(run).toThrow(kind);
      expect(run).toThrow(message);
    });

  test("attention() refuses shapes that do not fit, and names both", () => {
    expectError(
      () => attention(of([2, 4, 7, 64]), of([2, 4, 7, 64]), of([2, 4, 8, 64])),
      ShapeError,
      "attention: k and v must have the same number of keys, got k [2, 4, 7, 64] and v [2, 4, 8, 64]",
    );
    expectError(
      () => attention(of([2, 3]), of([2, 4]), of([2, 4])),
      ShapeError,
      "q and k must have the same width, got q [2, 3] and k [2, 4]",
    );
    expectError(
      () => attention(of([2, 2, 3]), of([3, 2, 3]), of([3, 2, 3])),
      ShapeError,
      "with the same leading axes, got q [2, 2, 3] and k [3, 2, 3]",
    );
    expectError(() => attention(of([3]), of([3]), of([3])), ShapeError, "got q [3] and q [3]");
  });

  test("attention() refuses causal: true where queries and keys are not as many", () => {
    expectError(
      () => attention(of([2, 3]), of([4, 3]), of([4, 3]), { causal: true }),
      ShapeError,
      'must have as many queries as keys, got 2 and 4. Say "start"',
    );
    expectError(
      () => attention(of([2, 3]), of([2, 3]), of([2, 3]), { causal: "middle" as "start" }),
      TypeError,
      'causal must be "start", "end", true or false, got middle',
    );
  });

  test("attention() refuses masks that do not fit", () => {
    const [q, k, v] = [() => of([2, 3]), () => of([4, 3]), () => of([4, 3])];
    expectError(
      () => attention(q(), k(), v(), { mask: of([3, 4], "u8") }),
      ShapeError,
      "attention: mask must broadcast to [2, 4], got [3, 4]",
    );
    expectError(
      () => attention(q(), k(), v(), { mask: of([1, 2, 4], "u8") }),
      ShapeError,
      "attention: mask must broadcast to [2, 4], got [1, 2, 4]",
    );
    expectError(
      () => attention(q(), k(), v(), { mask: of([2, 4], "i32") }),
      DTypeError,
      "got i32[2, 4]",
    );
    expectError(
      () => {
        const mask = of([2, 4]);
        mask.requiresGrad = true;
        attention(q(), k(), v(), { mask });
      },
      TypeError,
      "mask must not want a gradient",
    );
  });

  test("attention() refuses a scale or a dropout that is no number in range", () => {
    const run = (options: AttentionOptions) => () =>
      attention(of([2, 3]), of([4, 3]), of([4, 3]), options);
    expectError(run({ scale: Number.NaN }), RangeError, "scale must be a finite number, got NaN");
    expectError(run({ dropout: { p: 1.5 } }), RangeError, "dropout.p must lie in 0 … 1, got 1.5");
    heed.scope(() =>
      expectError(
        run({ dropout: { p: 0.5, mask: of([4, 2], "u8") } }),
        ShapeError,
        "dropout.mask must be [2, 4], got [4, 2]",
      ),
    );
  });

  test("attention() takes empty axes: no keys give zeros, no queries an empty result", () => {
    heed.scope(() => {
      const zeros = attention(of([2, 3]), of([0, 3]), of([0, 5]));
      expectSameBits(zeros.read(), new Float32Array(10));
      expect(attention(of([0, 3]), of([4, 3]), of([4, 5])).shape).toEqual([0, 5]);
      expect(attention(of([0, 2, 3]), of([0, 4, 3]), of([0, 4, 5])).shape).toEqual([0, 2, 5]);
    });
  });
});
