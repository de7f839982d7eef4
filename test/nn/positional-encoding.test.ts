import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ShapeError } from "../../src/errors.js";
import { withoutInit } from "../../src/nn/init.js";
import { PositionalEncoding } from "../../src/nn/positional-encoding.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor, zeros } from "../../src/tensor/create.js";
import { expectClose } from "../support/compare.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

/** The textbook's formula by Math. */
function table(length: number, width: number): number[] {
  return Array.from({ length: length * width }, (_, index) => {
    const [position, column] = [Math.floor(index / width), index % width];
    const angle = position * Math.exp((-2 * Math.floor(column / 2) * Math.log(10_000)) / width);
    return column % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  });
}

describe("PositionalEncoding", () => {
  test.each([
    [5000, 256],
    [7, 6],
    [7, 5],
    [3, 1],
  ])("has a table of %i × %i by the formula, rounded once", (length, width) => {
    const module = new PositionalEncoding(runtime, width, length);
    expect([...module.stateDict().keys()]).toEqual(["pe"]);
    expect(module.parameters().size, "a buffer is no parameter").toBe(0);
    // Half an ulp of numbers up to 1.
    expectClose(module.pe.read(), table(length, width), 2 ** -25 * 1.001);
    module.dispose();
  });

  test("starts with zeros and ones", () => {
    const module = new PositionalEncoding(runtime, 4, 2);
    expect([...module.pe.read()].slice(0, 4)).toEqual([0, 1, 0, 1]);
    module.dispose();
  });

  test("adds row t to position t of every row of the batch", () => {
    const module = new PositionalEncoding(runtime, 2, 10).load(
      new Map([["pe", { shape: [10, 2], values: Array.from({ length: 20 }, (_, i) => i) }]]),
    );
    const y = module.forward(tensor(runtime, [0, 0, 10, 10, 20, 20, 0, 0, 0, 0, 0, 0], [2, 3, 2]));
    expect([...y.read()]).toEqual([0, 1, 12, 13, 24, 25, 0, 1, 2, 3, 4, 5]);
    module.dispose();
  });

  test("hands the gradient on as it is", () => {
    const module = new PositionalEncoding(runtime, 2, 10);
    const x = zeros(runtime, [1, 3, 2]);
    x.requiresGrad = true;
    backwardFrom(module.forward(x), tensor(runtime, [1, 2, 3, 4, 5, 6], [1, 3, 2]));
    expect([...(x.grad?.read() ?? [])]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(module.pe.grad).toBeNull();
    module.dispose();
  });

  test("refuses a sequence longer than its table, naming both lengths", () => {
    const module = new PositionalEncoding(runtime, 2, 10);
    module.forward(ones(runtime, [1, 10, 2]));
    const long = () => module.forward(ones(runtime, [1, 11, 2]));
    expect(long).toThrow(ShapeError);
    expect(long).toThrow("at most as long as the table of 10 positions, got 11");
    module.dispose();
  });

  test("refuses another width", () => {
    const module = new PositionalEncoding(runtime, 2, 10);
    expect(() => module.forward(ones(runtime, [1, 3, 4]))).toThrow(
      "PositionalEncoding: x must be [any, any, 2], got [1, 3, 4]",
    );
    module.dispose();
  });

  test("draws no table that will be loaded", () => {
    const module = withoutInit(() => new PositionalEncoding(runtime, 2, 10));
    expect(module.pe.read().every(Number.isNaN), "poisoned memory").toBe(true);
    module.dispose();
  });
});
