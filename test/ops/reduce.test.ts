import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ShapeError } from "../../src/errors.js";
import { max, mean, sum } from "../../src/ops/reduce.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { full, tensor, zeros } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("sum(), mean() and max()", () => {
  it("drop the axis, or keep it with length 1", () => {
    runtime.scope(() => {
      const x = zeros(runtime, [2, 3, 4]);
      for (const reduce of [sum, mean, max]) {
        expect(reduce(x, 1).shape).toEqual([2, 4]);
        expect(reduce(x, -1, { keepDims: true }).shape).toEqual([2, 3, 1]);
        expect(reduce(x).shape).toEqual([]);
        expect(reduce(x, undefined, { keepDims: true }).shape).toEqual([1, 1, 1]);
      }
    });
  });

  it("refuse an axis that is not there", () => {
    runtime.scope(() => {
      const x = zeros(runtime, [2, 3]);
      for (const reduce of [sum, mean, max])
        for (const axis of [2, -3, 0.5, Number.NaN]) {
          expect(() => reduce(x, axis)).toThrow(ShapeError);
          expect(() => reduce(x, axis)).toThrow(
            `${reduce.name}: axis must lie in -2 … 1, got ${axis}`,
          );
        }
    });
  });

  it("know a sum of nothing, but no mean and no maximum", () => {
    runtime.scope(() => {
      const x = zeros(runtime, [2, 0]);
      expect([...sum(x, 1).read()]).toEqual([0, 0]);
      expect(sum(x).item()).toBe(0);
      for (const reduce of [mean, max])
        for (const axis of [1, undefined]) {
          expect(() => reduce(x, axis)).toThrow(ShapeError);
          expect(() => reduce(x, axis)).toThrow(
            `${reduce.name}: must have at least one element, got [2, 0]`,
          );
        }
      for (const reduce of [mean, max]) expect(reduce(x, 0).shape).toEqual([0]);
    });
  });
});

describe("sum() and mean()", () => {
  it("are exact where a sum of whole numbers is, and divide once", () => {
    runtime.scope(() => {
      const x = full(runtime, [3, 100_001], 5);
      expect(sum(x).item()).toBe(1_500_015);
      expect(mean(x).item()).toBe(5);
      expect([...mean(x, 0).read()].every((value) => value === 5)).toBe(true);
      expect([...mean(tensor(runtime, [1, 1, 2], [1, 3]), 1).read()]).toEqual([Math.fround(4 / 3)]);
    });
  });

  it("keep nothing but the result when nothing wants a gradient", () => {
    const x = zeros(runtime, [5, 3000]);
    const before = runtime.memory.usedBytes;
    for (const reduce of [sum, max]) reduce(x).dispose();
    expect(runtime.memory.usedBytes).toBe(before);
    x.dispose();
  });
});
