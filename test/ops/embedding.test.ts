import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IndexError, ShapeError } from "../../src/errors.js";
import { embedding } from "../../src/ops/embedding.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor, zeros } from "../../src/tensor/create.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime({ threads: 2 });
});
afterAll(() => runtime.dispose());

describe("embedding()", () => {
  it("looks a padding id up, and gives its row no gradient", () => {
    runtime.scope(() => {
      const table = tensor(runtime, [1, 2, 3, 4, 5, 6], [3, 2]);
      table.requiresGrad = true;
      const y = embedding(table, tensor(runtime, Int32Array.of(2, 1, 2)), { padding: 1 });
      expect([...y.read()]).toEqual([5, 6, 3, 4, 5, 6]);
      backwardFrom(y, tensor(runtime, [1, 2, 3, 4, 5, 6], [3, 2]));
      expect([...(table.grad?.read() ?? [])]).toEqual([0, 0, 0, 0, 6, 8]);
      table.grad?.dispose();
    });
  });

  it("adds its gradient to what is there, in place: no table is allocated a step", () => {
    const vocab = 5000;
    const random = seeded(3);
    const table = tensor(runtime, random.array(vocab * 16), [vocab, 16]);
    table.requiresGrad = true;
    const ids = tensor(runtime, Int32Array.of(7, 4999, 7));
    const step = (): void => {
      runtime.scope(() => backwardFrom(embedding(table, ids), ones(runtime, [3, 16])));
    };
    step();
    const { usedBytes, peakBytes } = runtime.memory;
    step();
    expect(runtime.memory.usedBytes).toBe(usedBytes);
    expect(runtime.memory.peakBytes).toBe(peakBytes);
    const gradient = table.grad?.read() ?? [];
    expect([7 * 16, 4999 * 16, 0].map((at) => gradient[at])).toEqual([4, 2, 0]);
    table.dispose();
    ids.dispose();
  });

  it("names the id, its place and the size of the table when an id is out of range", () => {
    runtime.scope(() => {
      const table = zeros(runtime, [40, 8]);
      for (const bad of [40, -1, 2 ** 31 - 1, -(2 ** 31)]) {
        const ids = tensor(runtime, Int32Array.of(0, 39, 1, 2, 3, bad), [2, 3]);
        expect(() => embedding(table, ids)).toThrow(IndexError);
        expect(() => embedding(table, ids)).toThrow(
          `embedding: every id must lie in 0 … 39, the rows of the table, got ${bad} at [1, 2]`,
        );
      }
      expect(() => embedding(zeros(runtime, [0, 8]), zeros(runtime, [1], "i32"))).toThrow(
        IndexError,
      );
    });
  });

  it("refuses a table that has not two axes", () => {
    runtime.scope(() => {
      const ids = zeros(runtime, [1], "i32");
      expect(() => embedding(zeros(runtime, [4]), ids)).toThrow(ShapeError);
      expect(() => embedding(zeros(runtime, [4, 2, 1]), ids)).toThrow(
        "embedding: table must be [vocab, width], got [4, 2, 1]",
      );
    });
  });
});
