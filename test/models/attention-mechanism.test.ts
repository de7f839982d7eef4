import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, ShapeError } from "../../src/errors.js";
import { AttentionMechanism } from "../../src/models/attention-mechanism.js";
import { slice } from "../../src/ops/shape.js";
import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

const HIDDEN = 10;

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

function make(dropout?: number): AttentionMechanism {
  runtime.seed(4);
  return new AttentionMechanism(runtime, HIDDEN, dropout === undefined ? {} : { dropout });
}

function draw(seed: number, ...shape: number[]): Tensor {
  return tensor(runtime, seeded(seed).array(shape.reduce((a, b) => a * b)), shape);
}

describe("AttentionMechanism", () => {
  test("has the state dict of three linear layers", () => {
    const model = make();
    expect([...model.stateDict()].map(([name, { shape }]) => [name, shape])).toEqual(
      ["query", "key", "value"].flatMap((name) => [
        [`${name}_transform.weight`, [HIDDEN, HIDDEN]],
        [`${name}_transform.bias`, [HIDDEN]],
      ]),
    );
    expect(model.dropout).toBe(0.1);
    model.dispose();
  });

  test("is softmax(Q·Kᵀ/√H)·V, by hand", () => {
    const model = new AttentionMechanism(runtime, 1);
    // Q = 2q, K = k + 1, V = 3v − 1
    const values = { query: [2, 0], key: [1, 1], value: [3, -1] };
    model.load(
      new Map(
        Object.entries(values).flatMap(([name, [weight, bias]]) => [
          [`${name}_transform.weight`, { shape: [1, 1], values: [weight as number] }],
          [`${name}_transform.bias`, { shape: [1], values: [bias as number] }],
        ]),
      ),
    );
    runtime.scope(() => {
      const one = (...rows: number[]): Tensor => tensor(runtime, rows, [1, rows.length, 1]);
      const { output, weights } = model.forward(one(0.5), one(0, Math.log(3)), one(1, 2));
      // Scores 1·(0 + 1) and 1·(ln 3 + 1): 1 to 3; values 2 and 5.
      expectClose(weights?.read() ?? [], [0.25, 0.75], 3e-7);
      expectClose(output.read(), [4.25], 3e-7);
    });
    model.dispose();
  });

  test("gives the same bits with weights and without, in both modes", () => {
    const model = make(0.3);
    for (const training of [false, true]) {
      model.train(training);
      runtime.scope(() => {
        const [q, k, v] = [draw(1, 2, 3, HIDDEN), draw(2, 2, 5, HIDDEN), draw(3, 2, 5, HIDDEN)];
        runtime.seed(8);
        const { output, weights } = model.forward(q, k, v);
        runtime.seed(8);
        const bare = model.forward(q, k, v, { needWeights: false });
        expectSameBits(bare.output.read(), output.read());
        expect(bare.weights).toBeNull();
        expect(weights?.shape).toEqual([2, 3, 5]);
      });
    }
    model.dispose();
  });

  test("drops weights in training only, and returns those that it applied", () => {
    const model = make(0.5);
    runtime.scope(() => {
      const [q, k, v] = [draw(1, 2, 9, HIDDEN), draw(2, 2, 9, HIDDEN), draw(3, 2, 9, HIDDEN)];
      const zeros = (): number =>
        [...(model.forward(q, k, v).weights?.read() ?? [])].filter((weight) => weight === 0).length;
      expect(zeros()).toBe(0);
      model.train();
      expect(zeros()).toBeGreaterThan(50);
      const kept = tensor(runtime, new Uint8Array(2 * 9 * 9), [2, 9, 9]);
      const { output } = model.forward(q, k, v, { dropoutMask: kept });
      expect(output.read().every((y) => y === 0)).toBe(true);
      model.eval();
      const evaluated = model.forward(q, k, v, { dropoutMask: kept });
      expect(evaluated.output.read().every((y) => y !== 0)).toBe(true);
    });
    model.dispose();
  });

  test("gives a padded row the bits it gives alone", () => {
    const model = make();
    runtime.scope(() => {
      const [q, k] = [draw(1, 2, 3, HIDDEN), draw(2, 2, 5, HIDDEN)];
      const mask = tensor(runtime, [1, 1, 1, 1, 1, 1, 1, 0, 0, 0], [2, 1, 5], "u8");
      const all = model.forward(q, k, k, { mask });
      const own = slice(slice(k, 0, 1, 2), 1, 0, 2);
      const alone = model.forward(slice(q, 0, 1, 2), own, own);
      expectSameBits(all.output.read().slice(3 * HIDDEN), alone.output.read());
      const weights = [...(all.weights?.read().slice(15) ?? [])];
      expect(weights.filter((_, index) => index % 5 >= 2)).toEqual(Array(9).fill(0));
    });
    model.dispose();
  });

  test("gives zeros, and sends no gradient, where a query may see nothing", () => {
    const model = make();
    runtime.scope(() => {
      const q = draw(1, 1, 2, HIDDEN);
      const k = draw(2, 1, 3, HIDDEN);
      q.requiresGrad = true;
      k.requiresGrad = true;
      const mask = tensor(runtime, [1, 1, 0, 0, 0, 0], [1, 2, 3], "u8");
      const { output, weights } = model.forward(q, k, k, { mask });
      expect([...output.read().slice(HIDDEN)]).toEqual(Array(HIDDEN).fill(0));
      expect([...(weights?.read().slice(3) ?? [])]).toEqual([0, 0, 0]);
      backwardFrom(output, ones(runtime, output.shape));
      expect(
        q.grad
          ?.read()
          .slice(HIDDEN)
          .every((g) => g === 0),
      ).toBe(true);
      expect(
        k.grad
          ?.read()
          .slice(2 * HIDDEN)
          .every((g) => g === 0),
      ).toBe(true);
      expect(k.grad?.read().every(Number.isFinite)).toBe(true);
    });
    model.dispose();
  });

  test("refuses what does not fit", () => {
    for (const dropout of [-0.1, 1.1, Number.NaN])
      expect(() => make(dropout)).toThrow(`dropout must lie in 0 … 1, got ${dropout}`);
    const model = make();
    runtime.scope(() => {
      const [q, k] = [draw(1, 2, 3, HIDDEN), draw(2, 2, 5, HIDDEN)];
      expect(() => model.forward(draw(1, 2, 3, 9), k, k)).toThrow(
        "AttentionMechanism: query must be [any, any, 10], got [2, 3, 9]",
      );
      expect(() => model.forward(q, draw(1, 1, 5, HIDDEN), k)).toThrow(
        "AttentionMechanism: key must be [2, any, 10], got [1, 5, 10]",
      );
      expect(() => model.forward(q, k, draw(1, 2, 4, HIDDEN))).toThrow(
        "AttentionMechanism: value must be [2, 5, 10], got [2, 4, 10]",
      );
      const mask = tensor(runtime, new Uint8Array(12), [2, 1, 6]);
      expect(() => model.forward(q, k, k, { mask })).toThrow(ShapeError);
      const ids = tensor(runtime, new Int32Array(30), [2, 3, 5]);
      expect(() => model.forward(q, k, k, { mask: ids })).toThrow(DTypeError);
    });
    model.dispose();
  });
});
