import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import { type LstmLayerOptions, lstmLayer } from "../../src/ops/lstm.js";
import { lstmCell } from "../../src/ops/lstm-cell.js";
import type { LstmWeights } from "../../src/ops/lstm-weights.js";
import { backwardFrom, noGrad } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor, zeros } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

const UNITS = [1, 7, 8, 9];

function weights(inputs: number, units: number, seed = 1): LstmWeights {
  const random = seeded(seed);
  const parameter = (shape: number[]): Tensor => {
    const size = shape.reduce((product, length) => product * length, 1);
    return tensor(runtime, random.array(size, 0.5), shape);
  };
  return {
    weightIh: parameter([4 * units, inputs]),
    weightHh: parameter([4 * units, units]),
    biasIh: parameter([4 * units]),
    biasHh: parameter([4 * units]),
  };
}

function normal(shape: number[], seed: number): Tensor {
  const size = shape.reduce((product, length) => product * length, 1);
  return tensor(runtime, seeded(seed).array(size), shape);
}

/** Row b of a batch-first tensor, its first `count` positions, as a batch of one. */
function rowOf(x: Tensor, row: number, count: number): Tensor {
  const [, steps, width] = x.shape as [number, number, number];
  const from = row * steps * width;
  return tensor(runtime, x.read().slice(from, from + count * width), [1, count, width]);
}

describe("lstmLayer()", () => {
  test("gives a padded row the bits it has alone, in both directions", () => {
    const lengths = [4, 0, 7, 1, 7, 2];
    for (const units of UNITS)
      for (const reverse of [false, true])
        runtime.scope(() => {
          const w = weights(5, units);
          const x = normal([6, 7, 5], 2);
          const ids = tensor(runtime, lengths, [6], "i32");
          const batch = lstmLayer(x, w, { lengths: ids, reverse });
          lengths.forEach((length, row) => {
            const context = `${units} units, reverse ${reverse}, row ${row}`;
            const alone = lstmLayer(rowOf(x, row, length), w, { reverse });
            const output = rowOf(batch.output, row, 7).read();
            expectSameBits(output.slice(0, length * units), alone.output.read(), context);
            expect(output.slice(length * units).every((value) => value === 0)).toBe(true);
            const at = [row * units, (row + 1) * units] as const;
            expectSameBits(batch.hidden.read().slice(...at), alone.hidden.read(), context);
            expectSameBits(batch.cell.read().slice(...at), alone.cell.read(), context);
          });
        });
  });

  test("gives the same bits at every call", () => {
    const w = weights(6, 9);
    const x = normal([5, 4, 6], 3);
    const first = lstmLayer(x, w);
    for (let call = 0; call < 5; call++) {
      const again = lstmLayer(x, w);
      for (const key of ["output", "hidden", "cell"] as const)
        expectSameBits(again[key].read(), first[key].read(), `${key}, call ${call}`);
    }
  });

  test("carries its state: two runs are one long run, bit for bit", () => {
    for (const units of UNITS)
      for (const batch of [1, 4, 5, 6])
        runtime.scope(() => {
          const w = weights(3, units);
          const x = normal([batch, 5, 3], 4);
          const whole = lstmLayer(x, w);
          const start = lstmLayer(positions(x, 0, 2), w);
          const rest = lstmLayer(positions(x, 2, 5), w, start);
          expectSameBits(rest.output.read(), positions(whole.output, 2, 5).read());
          expectSameBits(rest.hidden.read(), whole.hidden.read());
          expectSameBits(rest.cell.read(), whole.cell.read());
        });
  });

  test("gives the same bits with and without a gradient", () => {
    const w = weights(4, 9);
    const x = normal([3, 4, 4], 5);
    const lengths = tensor(runtime, [2, 4, 0], [3], "i32");
    const plain = lstmLayer(x, w, { lengths });
    x.requiresGrad = true;
    const recorded = lstmLayer(x, w, { lengths });
    for (const key of ["output", "hidden", "cell"] as const)
      expectSameBits(recorded[key].read(), plain[key].read(), key);
  });

  test("never reads padding, forward or backward", () => {
    const w = weights(3, 5);
    const lengths = tensor(runtime, [2, 3], [2], "i32");
    const clean = normal([2, 3, 3], 6).read() as Float32Array;
    const run = (values: Float32Array): Float32Array[] => {
      const x = tensor(runtime, values, [2, 3, 3]);
      for (const leaf of [x, ...Object.values(w)]) {
        leaf.requiresGrad = true;
        leaf.grad = null;
      }
      const { output } = lstmLayer(x, w, { lengths });
      const y = output.read();
      const dy = normal([2, 3, 5], 7).read() as Float32Array;
      dy.fill(Number.NaN, 10, 15); // behind the first row's end
      backwardFrom(output, tensor(runtime, dy, [2, 3, 5]));
      return [y, ...[x, ...Object.values(w)].map((leaf) => leaf.grad?.read())] as Float32Array[];
    };
    const want = run(clean);
    const dirty = run(clean.fill(Number.NaN, 6, 9));
    want.forEach((values, index) => {
      expect(values.every(Number.isFinite)).toBe(true);
      expectSameBits(dirty[index] as Float32Array, values);
    });
  });

  test("cuts long sequences into chunks that do not show", () => {
    // Inputs are projected 640 rows at a time: the batch is cut at other steps than its rows alone.
    const lengths = [700, 3, 650];
    const w = weights(2, 3);
    const x = normal([3, 700, 2], 16);
    const ids = tensor(runtime, lengths, [3], "i32");
    const batch = lstmLayer(x, w, { lengths: ids });
    lengths.forEach((length, row) => {
      const alone = lstmLayer(rowOf(x, row, length), w).output.read();
      expectSameBits(rowOf(batch.output, row, length).read(), alone, `row ${row}`);
    });
    x.requiresGrad = true;
    expectSameBits(lstmLayer(x, w, { lengths: ids }).output.read(), batch.output.read());
  });

  test("starts from zeros when no state is given", () => {
    const w = weights(2, 9);
    const x = normal([2, 3, 2], 8);
    const state = { hidden: zeros(runtime, [2, 9]), cell: zeros(runtime, [2, 9]) };
    expectSameBits(lstmLayer(x, w).output.read(), lstmLayer(x, w, state).output.read());
  });

  test("is defined without rows, steps, inputs or units", () => {
    for (const [batch, steps, inputs, units] of [
      [0, 3, 2, 4],
      [2, 0, 2, 4],
      [2, 3, 0, 4],
      [2, 3, 2, 0],
    ] as const) {
      const { output, hidden, cell } = lstmLayer(
        zeros(runtime, [batch, steps, inputs]),
        weights(inputs, units),
      );
      expect(output.shape).toEqual([batch, steps, units]);
      expect(hidden.shape).toEqual([batch, units]);
      expect(cell.shape).toEqual([batch, units]);
    }
  });

  test("follows a weight that was written anew", () => {
    const w = weights(2, 3);
    const x = normal([1, 2, 2], 9);
    lstmLayer(x, w);
    const other = weights(2, 3, 10);
    for (const key of ["weightIh", "weightHh", "biasIh", "biasHh"] as const)
      w[key].write(other[key].read());
    expectSameBits(lstmLayer(x, w).output.read(), lstmLayer(x, other).output.read());
  });

  test("adds gradients of weights to those already there and leaves frozen weights alone", () => {
    const w = weights(2, 3);
    w.weightHh.requiresGrad = true;
    const gradient = (): Float32Array => {
      const { hidden } = lstmLayer(normal([2, 3, 2], 11), w);
      backwardFrom(hidden, normal([2, 3], 12));
      return w.weightHh.grad?.read() as Float32Array;
    };
    const once = gradient();
    const twice = gradient();
    twice.forEach((value, index) => {
      expect(value).toBeCloseTo(2 * (once[index] as number), 5);
    });
    expect(w.weightIh.grad).toBe(null);
  });

  test("leaves only its results behind when nothing wants a gradient", () => {
    const w = weights(4, 8);
    const x = normal([3, 5, 4], 13);
    x.requiresGrad = true;
    const used = (): number => runtime.info().memory.used;
    noGrad(runtime, () => lstmLayer(x, w)); // packs the weights
    const before = used();
    const results = noGrad(runtime, () => lstmLayer(x, w));
    const bytes = Object.values(results).map((y) => Math.ceil((y.size * 4) / 64) * 64);
    expect(used() - before).toBeLessThanOrEqual(1.25 * bytes.reduce((sum, n) => sum + n));
    for (const y of Object.values(results)) y.dispose();
    expect(used()).toBe(before);
  });

  test("throws when shapes, element types or lengths do not fit", () => {
    const w = weights(3, 4);
    const x = zeros(runtime, [2, 5, 3]);
    const run = (input: Tensor, options: LstmLayerOptions = {}, parameters = w) => {
      return () => lstmLayer(input, parameters, options);
    };
    const i32 = (values: number[]): Tensor => tensor(runtime, values, [values.length], "i32");
    expect(run(zeros(runtime, [2, 3]))).toThrow(ShapeError);
    expect(run(zeros(runtime, [2, 5, 4]))).toThrow(
      "lstmLayer: weightIh must be [16, 4], got [16, 3]",
    );
    expect(run(x, {}, { ...w, weightHh: zeros(runtime, [15, 4]) })).toThrow(
      "lstmLayer: weightHh must be [4H, H], got [15, 4]",
    );
    expect(run(x, {}, { ...w, biasHh: zeros(runtime, [4]) })).toThrow(
      "lstmLayer: biasHh must be [16], got [4]",
    );
    expect(run(x, { hidden: zeros(runtime, [2, 5]) })).toThrow(
      "lstmLayer: hidden must be [2, 4], got [2, 5]",
    );
    expect(run(x, { cell: zeros(runtime, [1, 4]) })).toThrow(ShapeError);
    expect(run(x, { lengths: zeros(runtime, [2]) })).toThrow(DTypeError);
    expect(run(x, { lengths: i32([5]) })).toThrow(ShapeError);
    expect(run(x, { lengths: i32([5, 6]) })).toThrow(IndexError);
    expect(run(x, { lengths: i32([-1, 5]) })).toThrow(
      "lstmLayer: each length must lie within 0 … 5, got -1",
    );
  });
});

describe("lstmCell()", () => {
  test("gives the bits of that step inside lstmLayer()", () => {
    for (const units of UNITS)
      for (const batch of [1, 4, 5, 6])
        runtime.scope(() => {
          const w = weights(3, units);
          const x = normal([batch, 4, 3], 14);
          const whole = lstmLayer(x, w);
          let state = {
            hidden: zeros(runtime, [batch, units]),
            cell: zeros(runtime, [batch, units]),
          };
          for (let step = 0; step < 4; step++) {
            const now = tensor(runtime, positions(x, step, step + 1).read(), [batch, 3]);
            state = lstmCell(now, state.hidden, state.cell, w);
            const output = positions(whole.output, step, step + 1).read();
            expectSameBits(state.hidden.read(), output, `${batch} rows of ${units} units`);
          }
          expectSameBits(state.cell.read(), whole.cell.read());
        });
  });

  test("gives over four steps the gradients lstmLayer() gives", () => {
    const w = weights(3, 9);
    const x = normal([2, 4, 3], 15);
    const dHidden = normal([2, 9], 16);
    const leaves = Object.values(w) as Tensor[];
    for (const leaf of leaves) leaf.requiresGrad = true;

    backwardFrom(lstmLayer(x, w).hidden, dHidden);
    const want = leaves.map((leaf) => leaf.grad?.read() as Float32Array);
    for (const leaf of leaves) leaf.grad = null;

    let state = { hidden: zeros(runtime, [2, 9]), cell: zeros(runtime, [2, 9]) };
    for (let step = 0; step < 4; step++) {
      const now = tensor(runtime, positions(x, step, step + 1).read(), [2, 3]);
      state = lstmCell(now, state.hidden, state.cell, w);
    }
    backwardFrom(state.hidden, dHidden);
    leaves.forEach((leaf, index) => {
      // The same eight products a sum, in another order.
      leaf.grad?.read().forEach((value, at) => {
        expect(value).toBeCloseTo(want[index]?.[at] as number, 5);
      });
    });
  });

  test("throws when the state does not fit", () => {
    const w = weights(3, 4);
    const x = zeros(runtime, [2, 3]);
    const state = zeros(runtime, [2, 4]);
    const wrong = zeros(runtime, [1, 4]);
    expect(() => lstmCell(x, wrong, state, w)).toThrow(
      "lstmCell: hidden must be [2, 4], got [1, 4]",
    );
    expect(() => lstmCell(x, state, wrong, w)).toThrow(ShapeError);
    expect(() => lstmCell(zeros(runtime, [2, 4]), state, state, w)).toThrow(ShapeError);
  });
});

/** Positions [from, to) of a batch-first tensor. */
function positions(x: Tensor, from: number, to: number): Tensor {
  const [batch, steps, width] = x.shape as [number, number, number];
  const values = x.read();
  const rows = Array.from({ length: batch }, (_, row) => [
    ...values.slice((row * steps + from) * width, (row * steps + to) * width),
  ]);
  return tensor(runtime, rows.flat(), [batch, to - from, width]);
}
