import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ShapeError } from "../../src/errors.js";
import { LSTM } from "../../src/nn/lstm.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor, zeros } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

const [BATCH, LENGTH, INPUTS, HIDDEN] = [3, 5, 7, 6];

let runtime: Runtime;
let x: Tensor;
beforeAll(async () => {
  runtime = await testRuntime();
  x = tensor(runtime, seeded(1).array(BATCH * LENGTH * INPUTS), [BATCH, LENGTH, INPUTS]);
});
afterAll(() => runtime.dispose());

function blank(states: number): Tensor[] {
  return Array.from({ length: states }, () => zeros(runtime, [BATCH, HIDDEN]));
}

/** Step t of x, [B, I]. */
function at(t: number): Tensor {
  const values = x.read();
  const rows = Array.from({ length: BATCH }, (_, b) => {
    const begin = (b * LENGTH + t) * INPUTS;
    return [...values.slice(begin, begin + INPUTS)];
  });
  return tensor(runtime, rows.flat(), [BATCH, INPUTS]);
}

describe("LSTM", () => {
  test("step() by step gives the bits of forward()", () => {
    const lstm = new LSTM(runtime, INPUTS, HIDDEN, { layers: 2 });
    runtime.scope(() => {
      const whole = lstm.forward(x);
      let state: { hidden: Tensor[]; cell: Tensor[] } = { hidden: blank(2), cell: blank(2) };
      for (let t = 0; t < LENGTH; t++) state = lstm.step(at(t), state);
      for (const layer of [0, 1]) {
        const [hidden, cell] = [whole.hidden[layer] as Tensor, whole.cell[layer] as Tensor];
        expectSameBits((state.hidden[layer] as Tensor).read(), hidden.read(), `hidden ${layer}`);
        expectSameBits((state.cell[layer] as Tensor).read(), cell.read(), `cell ${layer}`);
      }
    });
    lstm.dispose();
  });

  test("gives the same bits when it is called again", () => {
    const lstm = new LSTM(runtime, INPUTS, HIDDEN, { bidirectional: true });
    const run = () => runtime.scope(() => lstm.forward(x).output.read());
    expectSameBits(run(), run());
    lstm.dispose();
  });

  test("gives zeros behind each length, and the state at its end", () => {
    const lstm = new LSTM(runtime, INPUTS, HIDDEN, { bidirectional: true });
    runtime.scope(() => {
      const lengths = tensor(runtime, [2, 5, 0], [BATCH], "i32");
      const { output, hidden } = lstm.forward(x, { lengths });
      const values = output.read();
      const row = LENGTH * 2 * HIDDEN;
      expect(values.slice(2 * 2 * HIDDEN, row).every((value) => value === 0)).toBe(true);
      expect(values.slice(2 * row).every((value) => value === 0)).toBe(true);
      const forward = (hidden[0] as Tensor).read();
      expectSameBits(forward.slice(0, HIDDEN), values.slice(2 * HIDDEN, 3 * HIDDEN));
      const backward = (hidden[1] as Tensor).read();
      expectSameBits(backward.slice(0, HIDDEN), values.slice(HIDDEN, 2 * HIDDEN));
      expect(forward.slice(2 * HIDDEN).every((value) => value === 0)).toBe(true);
    });
    lstm.dispose();
  });

  test("reverses the bidirectional half in time", () => {
    const lstm = new LSTM(runtime, INPUTS, HIDDEN, { bidirectional: true });
    const state = lstm.stateDict();
    for (const name of ["weight_ih", "weight_hh", "bias_ih", "bias_hh"])
      (state.get(`${name}_l0_reverse`) as Tensor).write((state.get(`${name}_l0`) as Tensor).read());
    runtime.scope(() => {
      const step = (t: number): number[] => [...at(t).read()];
      const back = Array.from({ length: BATCH }, (_, b) =>
        Array.from({ length: LENGTH }, (__, t) =>
          step(LENGTH - 1 - t).slice(b * INPUTS, (b + 1) * INPUTS),
        ),
      );
      const mirrored = tensor(runtime, back.flat(2), x.shape);
      const [one, two] = [lstm.forward(x).output.read(), lstm.forward(mirrored).output.read()];
      const part = (values: typeof one, t: number, side: number) =>
        values.slice((2 * t + side) * HIDDEN, (2 * t + side + 1) * HIDDEN);
      for (let t = 0; t < LENGTH; t++)
        expectSameBits(part(two, LENGTH - 1 - t, 1), part(one, t, 0), `step ${t}`);
    });
    lstm.dispose();
  });

  test("drops elements between layers in training, not behind the last", () => {
    const lstm = new LSTM(runtime, INPUTS, HIDDEN, { dropout: 0.5 }).train();
    const run = () => runtime.scope(() => lstm.forward(x).output.read());
    expectSameBits(run(), run(), "one layer has nothing to drop");
    const state = { hidden: blank(1), cell: blank(1) };
    const step = () => runtime.scope(() => (lstm.step(at(0), state).hidden[0] as Tensor).read());
    expectSameBits(step(), step(), "nor has one step");
    lstm.dispose();
    const deep = new LSTM(runtime, INPUTS, HIDDEN, { layers: 2, dropout: 0.5 }).train();
    const seed = (value: number) => {
      runtime.seed(value);
      return runtime.scope(() => deep.forward(x).output.read());
    };
    expectSameBits(seed(1), seed(1));
    expect(seed(2)).not.toEqual(seed(1));
    deep.dispose();
  });

  test.each([0, -1, 1.5, Number.NaN])("refuses %d layers", (layers) => {
    expect(() => new LSTM(runtime, INPUTS, HIDDEN, { layers })).toThrow(
      `LSTM: layers must be an integer from 1 up, got ${layers}`,
    );
  });

  test.each([-0.1, 1.1, Number.NaN])("refuses a dropout of %d", (dropout) => {
    expect(() => new LSTM(runtime, INPUTS, HIDDEN, { dropout })).toThrow("must lie in 0 … 1");
  });

  test("refuses a state for another number of layers, and steps in both directions", () => {
    const lstm = new LSTM(runtime, INPUTS, HIDDEN, { layers: 2 });
    runtime.scope(() => {
      const state = { hidden: blank(1), cell: blank(1) };
      expect(() => lstm.forward(x, { state })).toThrow(ShapeError);
      expect(() => lstm.step(at(0), state)).toThrow("one hidden and one cell tensor a layer");
    });
    lstm.dispose();
    const both = new LSTM(runtime, INPUTS, HIDDEN, { bidirectional: true });
    runtime.scope(() => {
      expect(() => both.step(at(0), { hidden: blank(2), cell: blank(2) })).toThrow(
        "must run forward in time, got a bidirectional LSTM",
      );
    });
    both.dispose();
  });
});
