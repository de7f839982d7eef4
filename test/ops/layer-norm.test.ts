import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ShapeError } from "../../src/errors.js";
import { layerNorm } from "../../src/ops/layer-norm.js";
import { sum } from "../../src/ops/reduce.js";
import { backward } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor, zeros } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("layerNorm()", () => {
  it("refuses gamma and beta that are not as long as a row", () => {
    runtime.scope(() => {
      const [x, right, wrong] = [zeros(runtime, [2, 4]), ones(runtime, [4]), ones(runtime, [1, 4])];
      expect(() => layerNorm(x, wrong, right)).toThrow(ShapeError);
      expect(() => layerNorm(x, wrong, right)).toThrow("layerNorm: gamma must be [4], got [1, 4]");
      expect(() => layerNorm(x, right, wrong)).toThrow("layerNorm: beta must be [4], got [1, 4]");
    });
  });

  it("refuses an eps below zero", () => {
    runtime.scope(() => {
      const [x, one] = [zeros(runtime, [2, 4]), ones(runtime, [4])];
      for (const eps of [-1e-5, Number.NaN])
        expect(() => layerNorm(x, one, one, { eps })).toThrow(
          `layerNorm: eps must not be negative, got ${eps}`,
        );
    });
  });

  it("keeps nothing but the result when nothing wants a gradient", () => {
    const [x, one] = [zeros(runtime, [2, 4]), ones(runtime, [4])];
    const before = runtime.memory.usedBytes;
    layerNorm(x, one, one).dispose();
    expect(runtime.memory.usedBytes).toBe(before);
    x.dispose();
    one.dispose();
  });

  it("gives a gradient to whichever operand wants one", () => {
    for (const wanted of [0, 1, 2])
      runtime.scope(() => {
        const x = tensor(runtime, [1, 2, 4], [1, 3]);
        const operands = [x, ones(runtime, [3]), zeros(runtime, [3])] as const;
        operands[wanted as 0].requiresGrad = true;
        backward(sum(layerNorm(...operands)));
        const got = operands.map(({ grad }) => grad !== null);
        expect(got).toEqual([0, 1, 2].map((index) => index === wanted));
        for (const { grad } of operands) grad?.dispose();
      });
  });
});
