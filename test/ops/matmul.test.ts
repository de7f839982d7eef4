import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { matmul } from "../../src/ops/matmul.js";
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

describe("matmul()", () => {
  it("multiplies [2, 3] by [3, 2], however they are stored", () => {
    const a = tensor(runtime, [1, 2, 3, 4, 5, 6], [2, 3]);
    const at = tensor(runtime, [1, 4, 2, 5, 3, 6], [3, 2]);
    const b = tensor(runtime, [7, 8, 9, 10, 11, 12], [3, 2]);
    const bt = tensor(runtime, [7, 9, 11, 8, 10, 12], [2, 3]);
    const expected = [58, 64, 139, 154];
    expect([...matmul(a, b).read()]).toEqual(expected);
    expect([...matmul(at, b, { transposeA: true }).read()]).toEqual(expected);
    expect([...matmul(a, bt, { transposeB: true }).read()]).toEqual(expected);
    expect([...matmul(at, bt, { transposeA: true, transposeB: true }).read()]).toEqual(expected);
  });

  it("gives empty results for axes of length 0, and zeros for an empty sum", () => {
    const shapeOf = (a: number[], b: number[]): readonly number[] =>
      matmul(empty(runtime, a), empty(runtime, b)).shape;
    expect(shapeOf([0, 4], [4, 3])).toEqual([0, 3]);
    expect(shapeOf([2, 4], [4, 0])).toEqual([2, 0]);
    expect(shapeOf([0, 2, 4], [0, 4, 3])).toEqual([0, 2, 3]);
    expect([...matmul(empty(runtime, [2, 0]), empty(runtime, [0, 2])).read()]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it("adds both gradients of a tensor that stands on both sides", () => {
    const x = tensor(runtime, [1, 2, 3, 4], [2, 2]);
    x.requiresGrad = true;
    backwardFrom(matmul(x, x), tensor(runtime, [1, 0, 0, 0], [2, 2]));
    // y₀₀ = x₀₀² + x₀₁·x₁₀
    expect([...(x.grad?.read() ?? [])]).toEqual([2, 3, 2, 0]);
  });

  it("gives all scratch back", () => {
    const before = runtime.memory.usedBytes;
    runtime.scope(() => {
      const a = tensor(runtime, seeded(1).array(40 * 200), [40, 200]);
      const b = tensor(runtime, seeded(2).array(40 * 20), [40, 20]);
      matmul(a, b, { transposeA: true });
    });
    expect(runtime.memory.usedBytes).toBe(before);
  });

  it("refuses shapes that do not fit, and names both", () => {
    expect(() => matmul(empty(runtime, [2, 3]), empty(runtime, [2, 3]))).toThrow(
      "matmul: a and b must agree in the axis summed over, got 3 of a [2, 3] and 2 of b [2, 3]. See transposeA and transposeB",
    );
    expect(() => matmul(empty(runtime, [3]), empty(runtime, [3, 2]))).toThrow(
      "matmul: a must have at least two axes, got [3]. Add one of length 1",
    );
    expect(() => matmul(empty(runtime, [2, 5, 3]), empty(runtime, [4, 3, 2]))).toThrow(
      /matmul: shapes must broadcast/,
    );
  });
});
