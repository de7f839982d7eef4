import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ShapeError } from "../../src/errors.js";
import { argmax, topK } from "../../src/ops/select.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor, zeros } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("argmax() and topK()", () => {
  it("drop the last axis, and shorten it to k", () => {
    runtime.scope(() => {
      const x = tensor(runtime, [3, 1, 2, 7, 9, 8], [2, 1, 3]);
      const best = argmax(x);
      expect([best.dtype, best.shape, [...best.read()]]).toEqual(["i32", [2, 1], [0, 1]]);
      const { values, indices } = topK(x, 2);
      expect([values.shape, [...values.read()]]).toEqual([
        [2, 1, 2],
        [3, 2, 9, 8],
      ]);
      expect([indices.dtype, [...indices.read()]]).toEqual(["i32", [0, 2, 1, 2]]);
    });
  });

  it("work on no rows, and refuse an empty last axis or a k that does not fit", () => {
    runtime.scope(() => {
      expect(argmax(zeros(runtime, [0, 3])).shape).toEqual([0]);
      expect(topK(zeros(runtime, [0, 3]), 2).values.shape).toEqual([0, 2]);
      expect(() => argmax(zeros(runtime, [3, 0]))).toThrow(ShapeError);
      for (const k of [0, 4, 1.5, Number.NaN])
        expect(() => topK(zeros(runtime, [2, 3]), k)).toThrow(ShapeError);
      expect(() => topK(zeros(runtime, [2, 3]), 4)).toThrow(
        "topK: k must be an integer from 1 to 3, the last axis of [2, 3], got 4",
      );
    });
  });
});
