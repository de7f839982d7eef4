import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allFinite } from "../../src/ops/finite.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { full, tensor } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("allFinite()", () => {
  it("tells tensors with a NaN or an infinity from those without", () => {
    runtime.scope(() => {
      for (const size of [0, 1, 5000, 9000]) {
        const x = full(runtime, [size], -1.5);
        expect(allFinite(x)).toBe(true);
        for (const at of [0, size - 1].filter((place) => place >= 0 && place < size))
          for (const bad of [Number.NaN, Infinity, -Infinity])
            expect(allFinite(tensor(runtime, x.read().with(at, bad)))).toBe(false);
      }
    });
  });
});
