import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DTypeError, ShapeError } from "../../src/errors.js";
import { add, div, mul, sub } from "../../src/ops/arithmetic.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor, zeros } from "../../src/tensor/create.js";
import { broadcast, broadcastShape, sumTo } from "../reference/arithmetic.js";
import { expectClose } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("arithmetic", () => {
  it("add() gives [[11, 21], [12, 22]] for a column [1, 2] and a row [10, 20]", () => {
    runtime.scope(() => {
      const y = add(tensor(runtime, [1, 2], [2, 1]), tensor(runtime, [10, 20]));
      expect(y.shape).toEqual([2, 2]);
      expect([...y.read()]).toEqual([11, 21, 12, 22]);
    });
  });

  it("broadcasts any two shapes of up to five axes, and sums their gradients back", () => {
    const random = seeded(83);
    for (let round = 0; round < 300; round++) {
      const shape = Array.from({ length: random.integer(6) }, () => 1 + random.integer(3));
      const part = (): number[] =>
        shape.map((n) => (random.uniform() < 0.5 ? n : 1)).slice(random.integer(shape.length + 1));
      const [aShape, bShape] = [part(), part()];
      runtime.scope(() => {
        const sizeOf = (each: number[]): number => each.reduce((product, n) => product * n, 1);
        const a = tensor(runtime, random.array(sizeOf(aShape)), aShape);
        const b = tensor(runtime, random.array(sizeOf(bShape)), bShape);
        a.requiresGrad = b.requiresGrad = true;
        const y = sub(a, b);
        const what = `seed ${random.seed}, round ${round}: [${aShape}] and [${bShape}]`;
        const full = broadcastShape(aShape, bShape);
        expect(y.shape, what).toEqual(full);
        const difference = (x: number, z: number): number => x - z;
        const expected = broadcast(difference, a.read(), aShape, b.read(), bShape);
        expectClose(y.read(), expected, 2 ** -23, what);

        const dy = random.array(y.size);
        backwardFrom(y, tensor(runtime, dy, full));
        // up to 243 sums
        expectClose(a.grad?.read() ?? [], sumTo(dy, full, aShape), 243 * 2 ** -24, what);
        const minus = dy.map((value) => -value);
        expectClose(b.grad?.read() ?? [], sumTo(minus, full, bShape), 243 * 2 ** -24, what);
        a.grad?.dispose();
        b.grad?.dispose();
      });
    }
  });

  it("works on empty tensors, and their gradients are zeros", () => {
    runtime.scope(() => {
      const a = zeros(runtime, [0, 3]);
      const b = ones(runtime, [3]);
      b.requiresGrad = true;
      const y = mul(a, b);
      expect(y.shape).toEqual([0, 3]);
      backwardFrom(y, zeros(runtime, [0, 3]));
      expect([...(b.grad?.read() ?? [])]).toEqual([0, 0, 0]);
      b.grad?.dispose();
      expect(add(a, 1).shape).toEqual([0, 3]);
    });
  });

  it("passes NaN through, whatever stands beside it", () => {
    runtime.scope(() => {
      const a = tensor(runtime, [Number.NaN, 0, 1]);
      const b = tensor(runtime, [0, Number.NaN, Infinity]);
      for (const op of [add, sub, mul, div])
        expect([...op(a, b).read().slice(0, 2)], op.name).toEqual([Number.NaN, Number.NaN]);
      expect([...mul(a, 0).read()]).toEqual([Number.NaN, 0, 0]);
    });
  });

  it("names the op and both shapes when they do not broadcast", () => {
    runtime.scope(() => {
      const [a, b] = [zeros(runtime, [2, 3]), zeros(runtime, [2])];
      expect(() => mul(a, b)).toThrow(ShapeError);
      expect(() => mul(a, b)).toThrow(
        "mul: shapes must broadcast (equal axes, or 1), got [2, 3] and [2]",
      );
      const ids = zeros(runtime, [2], "i32");
      expect(() => sub(b, ids)).toThrow("sub: b must be f32, got i32[2]");
      expect(() => div(ids, 2)).toThrow(DTypeError);
    });
  });
});
