import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { linear } from "../../src/ops/linear.js";
import { packed } from "../../src/ops/packing.js";
import { backwardFrom } from "../../src/ops/tape.js";
import { nodePlatform } from "../../src/platform/node.js";
import { Runtime } from "../../src/runtime/runtime.js";
import { startRuntime } from "../../src/runtime/start.js";
import { empty, tensor } from "../../src/tensor/create.js";
import { seeded } from "../support/random.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await startRuntime(nodePlatform(), { threads: 1 }, (...parts) => new Runtime(...parts));
});
afterAll(() => runtime.dispose());

describe("linear()", () => {
  it("computes x·weightᵀ + bias", () => {
    const x = tensor(runtime, [1, 2, 3, 4], [2, 2]);
    const weight = tensor(runtime, [1, 0, 0, 1, 1, 1], [3, 2]);
    const bias = tensor(runtime, [10, 20, 30], [3]);
    expect([...linear(x, weight, bias).read()]).toEqual([11, 22, 33, 13, 24, 37]);
    expect([...linear(x, weight).read()]).toEqual([1, 2, 3, 3, 4, 7]);
  });

  it("gives gradients of x, weight and bias, added to those already there", () => {
    const x = tensor(runtime, [1, 2, 3, 4], [2, 2]);
    const weight = tensor(runtime, [1, 0, 0, 1, 1, 1], [3, 2]);
    const bias = tensor(runtime, [0, 0, 0], [3]);
    for (const leaf of [x, weight, bias]) leaf.requiresGrad = true;
    const dy = tensor(runtime, [1, 2, 3, 4, 5, 6], [2, 3]);
    backwardFrom(linear(x, weight, bias), dy);
    expect([...(x.grad?.read() ?? [])]).toEqual([4, 5, 10, 11]);
    expect([...(weight.grad?.read() ?? [])]).toEqual([13, 18, 17, 24, 21, 30]);
    expect([...(bias.grad?.read() ?? [])]).toEqual([5, 7, 9]);
    backwardFrom(linear(x, weight, bias), dy);
    expect([...(weight.grad?.read() ?? [])]).toEqual([26, 36, 34, 48, 42, 60]);
    expect([...(bias.grad?.read() ?? [])]).toEqual([10, 14, 18]);
  });

  // The larger batch packs its rows first, a row alone never.
  it.each([
    [70, 37],
    [150, 140],
  ])("gives a row the same bits alone as in a batch, %i → %i", (inputs, outputs) => {
    const random = seeded(4);
    const x = tensor(runtime, random.array(47 * inputs), [47, inputs]);
    const weight = tensor(runtime, random.array(outputs * inputs), [outputs, inputs]);
    const bias = tensor(runtime, random.array(outputs), [outputs]);
    const batch = linear(x, weight, bias).read();
    for (let row = 0; row < 47; row++) {
      const values = x.read().slice(row * inputs, row * inputs + inputs);
      const y = linear(tensor(runtime, values, [inputs]), weight, bias);
      expect(y.shape).toEqual([outputs]);
      expect(y.read(), `row ${row}, seed ${random.seed}`).toEqual(
        batch.slice(row * outputs, row * outputs + outputs),
      );
    }
  });

  it("sees a weight that was written in place, and packs one that was not only once", () => {
    const x = tensor(runtime, [1, 1], [1, 2]);
    const weight = tensor(runtime, [1, 2], [1, 2]);
    expect(linear(x, weight).item()).toBe(3);
    const address = packed(weight, "columns");
    expect(packed(weight, "columns")).toBe(address);
    weight.write([5, 6]);
    expect(linear(x, weight).item()).toBe(11);
    expect(packed(weight, "columns")).toBe(address);
  });

  it("gives all memory back, panels included", () => {
    const before = runtime.memory.usedBytes;
    runtime.scope(() => {
      const x = tensor(runtime, seeded(1).array(150 * 40), [40, 150]);
      const weight = tensor(runtime, seeded(2).array(140 * 150), [140, 150]);
      x.requiresGrad = true;
      weight.requiresGrad = true;
      const y = linear(x, weight);
      backwardFrom(y, tensor(runtime, seeded(3).array(40 * 140), [40, 140]));
      x.grad?.dispose();
      weight.grad?.dispose();
    });
    expect(runtime.memory.usedBytes).toBe(before);
  });

  it("refuses shapes that do not fit, and names both", () => {
    const x = empty(runtime, [2, 3]);
    expect(() => linear(x, empty(runtime, [5, 4]))).toThrow(
      "linear: the last axis of x must be as wide as the weight's, got x [2, 3] and weight [5, 4]",
    );
    expect(() => linear(x, empty(runtime, [3]))).toThrow(
      "linear: weight must be [out, in], got [3]",
    );
    expect(() => linear(x, empty(runtime, [5, 3]), empty(runtime, [4]))).toThrow(
      "linear: bias must be [5], got [4]",
    );
    expect(() => linear(empty(runtime, [2, 3], "i32"), empty(runtime, [5, 3]))).toThrow(
      "linear: x must be f32, got i32[2, 3]",
    );
    expect(() => linear(empty(runtime, []), empty(runtime, [5, 3]))).toThrow(/got x \[\] and/);
  });
});
