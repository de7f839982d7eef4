import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IndexError, ShapeError } from "../../src/errors.js";
import { crossEntropy } from "../../src/ops/cross-entropy.js";
import { backward, noGrad } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor, zeros } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("crossEntropy()", () => {
  it("refuses targets that are not one a row, though as many", () => {
    runtime.scope(() => {
      const targets = zeros(runtime, [3, 2], "i32");
      expect(() => crossEntropy(zeros(runtime, [2, 3, 5]), targets)).toThrow(ShapeError);
      expect(() => crossEntropy(zeros(runtime, [2, 3, 5]), targets)).toThrow(
        "crossEntropy: targets must have one id a row of logits, got [3, 2] and [2, 3, 5]",
      );
      expect(() => crossEntropy(zeros(runtime, [6, 5]), targets)).toThrow(ShapeError);
    });
  });

  it("refuses a target that is no class, whatever is ignored", () => {
    runtime.scope(() => {
      const logits = zeros(runtime, [2, 3]);
      for (const bad of [3, -1, -100, -(2 ** 31), 2 ** 31 - 1]) {
        const targets = tensor(runtime, Int32Array.of(2, bad));
        expect(() => crossEntropy(logits, targets)).toThrow(IndexError);
        expect(() => crossEntropy(logits, targets, { ignore: 1 })).toThrow(
          `crossEntropy: targets must lie in 0 … 2, got ${bad} at position 1`,
        );
        expect(crossEntropy(logits, targets, { ignore: bad }).item()).toBeCloseTo(Math.log(3));
      }
    });
  });

  it("refuses options that mean nothing", () => {
    runtime.scope(() => {
      const [logits, targets] = [zeros(runtime, [1, 3]), zeros(runtime, [1], "i32")];
      for (const smoothing of [-0.1, 1.1, Number.NaN])
        expect(() => crossEntropy(logits, targets, { smoothing })).toThrow(
          `crossEntropy: smoothing must lie in 0 … 1, got ${smoothing}`,
        );
      for (const ignore of [0.5, 2 ** 31, Number.NaN])
        expect(() => crossEntropy(logits, targets, { ignore })).toThrow(
          `crossEntropy: ignore must be a 32-bit integer, got ${ignore}`,
        );
      const reduction = "none" as "sum";
      expect(() => crossEntropy(logits, targets, { reduction })).toThrow(
        'crossEntropy: reduction must be "mean" or "sum", got none',
      );
    });
  });

  it("keeps nothing but the loss when nothing wants a gradient", () => {
    const logits = zeros(runtime, [4, 3]);
    const targets = zeros(runtime, [4], "i32");
    const before = runtime.memory.usedBytes;
    crossEntropy(logits, targets).dispose();
    logits.requiresGrad = true;
    noGrad(runtime, () => crossEntropy(logits, targets)).dispose();
    expect(runtime.memory.usedBytes).toBe(before);
    logits.dispose();
    targets.dispose();
  });

  it("gives a fully masked row the loss ∞ and no gradient", () => {
    runtime.scope(() => {
      const logits = tensor(runtime, [-Infinity, -Infinity, 0, 0], [2, 2]);
      logits.requiresGrad = true;
      const loss = crossEntropy(logits, zeros(runtime, [2], "i32"));
      expect(loss.item()).toBe(Infinity);
      backward(loss);
      expect([...(logits.grad?.read() ?? [])]).toEqual([0, 0, -0.25, 0.25]);
      logits.grad?.dispose();
    });
  });
});
