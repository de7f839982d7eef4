import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ShapeError } from "../../src/errors.js";
import { dropout, dropoutMask } from "../../src/ops/dropout.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor, zeros } from "../../src/tensor/create.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("dropout()", () => {
  it("returns x itself at p = 0", () => {
    runtime.scope(() => {
      const x = ones(runtime, [5]);
      expect(dropout(x, 0)).toBe(x);
    });
  });

  it("gives zeros at p = 1, of NaN too", () => {
    runtime.scope(() => {
      const x = tensor(runtime, [1, Number.NaN, Infinity]);
      expect([...dropout(x, 1).read()]).toEqual([0, 0, 0]);
    });
  });

  it("keeps twice the value of about half at p = 0.5", () => {
    runtime.scope(() => {
      const y = dropout(ones(runtime, [100, 100]), 0.5, { seed: 1 }).read();
      const kept = y.filter((value) => value === 2).length;
      expect(y.every((value) => value === 0 || value === 2)).toBe(true);
      expect(Math.abs(kept - 5000)).toBeLessThan(250); // five deviations of 10⁴ coins
    });
  });

  it("sends the gradient through the same mask", () => {
    runtime.scope(() => {
      const x = tensor(runtime, seeded(2).array(999));
      x.requiresGrad = true;
      const y = dropout(x, 0.3);
      backwardFrom(y, ones(runtime, [999]));
      const mask = y.read().map((value) => (value === 0 ? 0 : Math.fround(1 / 0.7)));
      expectSameBits(x.grad?.read() ?? [], mask);
      x.grad?.dispose();
    });
  });

  it("draws a new mask at each call, the same ones after the runtime is seeded again", () => {
    runtime.scope(() => {
      const x = ones(runtime, [64]);
      const draw = (): number[] => [...dropout(x, 0.5).read()];
      runtime.seed(12);
      const [first, second] = [draw(), draw()];
      expect(second).not.toEqual(first);
      runtime.seed(12);
      expect([draw(), draw()]).toEqual([first, second]);
    });
  });

  it("applies dropoutMask() of the same seed", () => {
    runtime.scope(() => {
      const x = tensor(runtime, seeded(4).array(77), [7, 11]);
      const mask = dropoutMask(runtime, [7, 11], 0.4, 99);
      expectSameBits(dropout(x, 0.4, { mask }).read(), dropout(x, 0.4, { seed: 99 }).read());
    });
  });

  it("refuses a p outside 0 … 1 and a mask of another shape", () => {
    runtime.scope(() => {
      const x = ones(runtime, [2, 3]);
      for (const p of [-0.1, 1.1, Number.NaN]) expect(() => dropout(x, p)).toThrow(RangeError);
      expect(() => dropout(x, 2)).toThrow("dropout: p must lie in 0 … 1, got 2");
      const mask = zeros(runtime, [3, 2], "u8");
      expect(() => dropout(x, 0.5, { mask })).toThrow(ShapeError);
    });
  });
});
