import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import { mul } from "../../src/ops/arithmetic.js";
import { concat, reshape, slice, transpose } from "../../src/ops/shape.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor, zeros } from "../../src/tensor/create.js";
import * as reference from "../reference/shape.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe("reshape()", () => {
  it("shares the memory of x", () => {
    runtime.scope(() => {
      const x = tensor(runtime, upTo(6), [2, 3]);
      const y = reshape(x, [-1, 2]);
      expect(y.shape).toEqual([3, 2]);
      expect(y.ptr).toBe(x.ptr);
    });
  });

  it("refuses another number of elements, naming both shapes", () => {
    runtime.scope(() => {
      const x = zeros(runtime, [2, 3]);
      for (const shape of [[5], [-1, 4], [-1, -1], [6, 0], [-1, 0], [1.5, 4]])
        expect(() => reshape(x, shape), `[${shape}]`).toThrow(ShapeError);
      expect(() => reshape(x, [4, -1])).toThrow(
        "reshape: the shapes must have as many elements, got [2, 3] and [4, -1]",
      );
    });
  });
});

describe("transpose()", () => {
  it("orders axes in any way, and its gradient back", () => {
    const random = seeded(91);
    for (let round = 0; round < 200; round++) {
      const rank = 1 + random.integer(6);
      const shape = Array.from({ length: rank }, () => 1 + random.integer(5));
      const axes = upTo(rank)
        .map((axis) => [random.uniform(), axis] as const)
        .sort(([a], [b]) => a - b)
        .map(([, axis]) => axis);
      runtime.scope(() => {
        const size = shape.reduce((product, n) => product * n, 1);
        const x = tensor(runtime, upTo(size), shape);
        x.requiresGrad = true;
        const y = transpose(x, axes);
        const what = `seed ${random.seed}, round ${round}: [${shape}] by [${axes}]`;
        expect(y.shape, what).toEqual(axes.map((axis) => shape[axis]));
        expectSameBits(y.read(), reference.transpose(upTo(size), shape, axes), what);
        backwardFrom(y, tensor(runtime, y.read(), y.shape));
        expectSameBits(x.grad?.read() ?? [], upTo(size), what);
        x.grad?.dispose();
      });
    }
  });

  it("refuses axes that are no permutation, and masks", () => {
    runtime.scope(() => {
      const x = zeros(runtime, [2, 3, 4]);
      for (const axes of [[0, 1], [0, 1, 1], [0, 1, 3], [2, 1, -1], []])
        expect(() => transpose(x, axes), `[${axes}]`).toThrow(ShapeError);
      expect(() => transpose(x, [0, 0, 1])).toThrow(
        "transpose: axes must name each axis of [2, 3, 4] once, got [0, 0, 1]",
      );
      expect(() => transpose(zeros(runtime, [2, 2], "u8"), [1, 0])).toThrow(DTypeError);
    });
  });
});

describe("slice()", () => {
  it("adds its gradients into one buffer: parts of x meet there", () => {
    runtime.scope(() => {
      const x = tensor(runtime, upTo(6), [2, 3]);
      x.requiresGrad = true;
      const left = slice(x, 1, 0, 2);
      const right = slice(x, 1, 1, 3);
      const y = mul(left, right);
      backwardFrom(y, ones(runtime, [2, 2]));
      // y = [x0·x1, x1·x2] in each row
      expect([...(x.grad?.read() ?? [])]).toEqual([1, 0 + 2, 1, 4, 3 + 5, 4]);
      x.grad?.dispose();
    });
  });

  it("names the axis and its length when the range does not fit", () => {
    runtime.scope(() => {
      const x = zeros(runtime, [2, 3]);
      for (const [from, to] of [
        [-1, 2],
        [2, 1],
        [0, 4],
        [0.5, 2],
        [Number.NaN, 1],
      ] as const)
        expect(() => slice(x, 1, from, to)).toThrow(IndexError);
      expect(() => slice(x, -1, 0, 4)).toThrow(
        "slice: from and to must be integers with 0 ≤ from ≤ to ≤ 3, the length of axis 1 of [2, 3], got 0 and 4",
      );
      expect(() => slice(x, 2, 0, 1)).toThrow(ShapeError);
    });
  });
});

describe("concat()", () => {
  it("puts back together what slice() took apart", () => {
    runtime.scope(() => {
      const x = tensor(runtime, upTo(60), [3, 5, 4]);
      for (const axis of [0, 1, 2]) {
        const parts = upTo(x.shape[axis] as number).map((i) => slice(x, axis, i, i + 1));
        expectSameBits(concat(parts, axis).read(), x.read());
      }
    });
  });

  it("refuses nothing at all, other shapes and other types", () => {
    runtime.scope(() => {
      const x = zeros(runtime, [2, 3]);
      expect(() => concat([], 0)).toThrow(ShapeError);
      expect(() => concat([x, zeros(runtime, [2, 4])], 0)).toThrow(
        "concat: shapes must be equal but for axis 0, got [2, 3] and [2, 4]",
      );
      expect(() => concat([x, zeros(runtime, [2])], 0)).toThrow(ShapeError);
      expect(() => concat([x, zeros(runtime, [2, 3], "i32")], 0)).toThrow(DTypeError);
    });
  });
});
