import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, ShapeError } from "../../src/errors.js";
import { RecurrentModel } from "../../src/models/recurrent-model.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import { padRows } from "../../src/train/batches.js";
import { expectSameBits } from "../support/compare.js";
import { testRuntime } from "../support/runtime.js";

const ROWS = [[5, 9, 16, 4, 3, 7], [11, 7, 3], [8]];

let runtime: Runtime;
let model: RecurrentModel;
beforeAll(async () => {
  runtime = await testRuntime();
  runtime.seed(3);
  model = new RecurrentModel(runtime, { vocab: 17, width: 6 });
});
afterAll(() => runtime.dispose());

describe("RecurrentModel", () => {
  test("has an LSTM where LongRangeDependencyModel has attention and positions", () => {
    expect([...model.stateDict().keys()]).toEqual([
      "embedding.weight",
      "rnn.weight_ih_l0",
      "rnn.weight_hh_l0",
      "rnn.bias_ih_l0",
      "rnn.bias_hh_l0",
      "norm.weight",
      "norm.bias",
    ]);
  });

  test("gives each row of a padded batch the bits it gives alone", () => {
    runtime.scope(() => {
      const { values, lengths, longest } = padRows(ROWS, 0);
      const ids = tensor(runtime, values, [3, longest]);
      const output = model.forward(ids, { lengths: tensor(runtime, lengths) });
      expect(output.shape).toEqual([3, 6, 6]);
      expect(model.logits(output).shape).toEqual([3, 6, 17]);
      ROWS.forEach((row, index) => {
        const alone = model.forward(tensor(runtime, row, [1, row.length], "i32"));
        const mine = output.read().slice(index * 36, index * 36 + row.length * 6);
        expectSameBits(mine, alone.read(), `row ${index}`);
      });
    });
  });

  test("refuses what are no ids", () => {
    runtime.scope(() => {
      expect(() => model.forward(tensor(runtime, [1, 2], [1, 2]))).toThrow(DTypeError);
      expect(() => model.forward(tensor(runtime, [1, 2], [2], "i32"))).toThrow(ShapeError);
    });
  });
});
