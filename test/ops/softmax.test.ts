import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ShapeError } from "../../src/errors.js";
import { logSoftmax, softmax } from "../../src/ops/softmax.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("softmax() and logSoftmax()", () => {
  it("keep the shape, and work along the last axis", () => {
    runtime.scope(() => {
      const x = tensor(runtime, [0, 0, 5, 5, -1, -1], [3, 1, 2]);
      const y = softmax(x);
      expect([y.shape, [...y.read()]]).toEqual([
        [3, 1, 2],
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
      ]);
      expect(logSoftmax(x).shape).toEqual([3, 1, 2]);
    });
  });

  it("refuse a scalar", () => {
    runtime.scope(() => {
      const scalar = tensor(runtime, [1], []);
      expect(() => softmax(scalar)).toThrow(ShapeError);
      expect(() => softmax(scalar)).toThrow("softmax: x must have at least one axis, got []");
      expect(() => logSoftmax(scalar)).toThrow("logSoftmax: x must have at least one axis, got []");
    });
  });
});
