import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IndexError, ShapeError } from "../../src/errors.js";
import { causalMask, paddingMask } from "../../src/ops/mask.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("masks", () => {
  it("paddingMask() names the row whose length does not fit", () => {
    runtime.scope(() => {
      for (const bad of [5, -1]) {
        const lengths = tensor(runtime, Int32Array.of(4, bad));
        expect(() => paddingMask(lengths, 4)).toThrow(IndexError);
        expect(() => paddingMask(lengths, 4)).toThrow(
          `paddingMask: every length must lie in 0 … 4, got ${bad} in row 1`,
        );
      }
    });
  });

  it("causalMask() refuses an alignment it does not know, and sizes that are none", () => {
    runtime.scope(() => {
      const align = "middle" as "start";
      expect(() => causalMask(runtime, 2, 2, { align })).toThrow(
        'causalMask: align must be "start" or "end", got middle',
      );
      expect(() => causalMask(runtime, -1)).toThrow(ShapeError);
      expect(causalMask(runtime, 0, 3).shape).toEqual([0, 3]);
    });
  });
});
