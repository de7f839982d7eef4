import { expect, test } from "vitest";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { backward } from "../../src/ops/tape.js";
import { tensor } from "../../src/tensor/create.js";
import { expectClose } from "../support/compare.js";
import { contextCost, expectGradients } from "../support/context-cost.js";
import { withRuntime } from "../support/runtime.js";

const SIZES = { sourceVocab: 23, targetVocab: 29, embedding: 12, hidden: 10, padding: 0 };

test("Seq2Seq names its tensors as a PyTorch user does", () =>
  withRuntime({}, (runtime) => {
    const model = new Seq2Seq(runtime, { ...SIZES, bidirectional: true });
    const shapes = Object.fromEntries([...model.stateDict()].map(([name, x]) => [name, x.shape]));
    expect(shapes).toEqual({
      "encoder.embedding.weight": [23, 12],
      "encoder.rnn.weight_ih_l0": [40, 12],
      "encoder.rnn.weight_hh_l0": [40, 10],
      "encoder.rnn.bias_ih_l0": [40],
      "encoder.rnn.bias_hh_l0": [40],
      "encoder.rnn.weight_ih_l0_reverse": [40, 12],
      "encoder.rnn.weight_hh_l0_reverse": [40, 10],
      "encoder.rnn.bias_ih_l0_reverse": [40],
      "encoder.rnn.bias_hh_l0_reverse": [40],
      "decoder.attention.attn.weight": [10, 30],
      "decoder.attention.attn.bias": [10],
      "decoder.attention.v.weight": [1, 10],
      "decoder.embedding.weight": [29, 12],
      "decoder.rnn.weight_ih_l0": [40, 32],
      "decoder.rnn.weight_hh_l0": [40, 10],
      "decoder.rnn.bias_ih_l0": [40],
      "decoder.rnn.bias_hh_l0": [40],
      "decoder.fc_out.weight": [29, 30],
      "decoder.fc_out.bias": [29],
    });
  }));

test("Seq2Seq has a learned bridge in its encoder when it is asked for", () =>
  withRuntime({}, (runtime) => {
    const names = (bidirectional: boolean): string[] => {
      const model = new Seq2Seq(runtime, { ...SIZES, bidirectional, bridge: "linear" });
      return [...model.stateDict().keys()].filter((name) => name.includes("bridge"));
    };
    expect(names(true)).toEqual([
      "encoder.bridge.hidden.weight",
      "encoder.bridge.hidden.bias",
      "encoder.bridge.cell.weight",
      "encoder.bridge.cell.bias",
    ]);
    expect(names(false)).toEqual([]);
  }));

test.each([
  ["forced", 1],
  ["free", 0],
])("Seq2Seq.lookLoss() is the cost of a target token, told by its context alone: %s", (_, ratio) =>
  withRuntime({}, (runtime) => {
    const model = new Seq2Seq(runtime, { ...SIZES, bidirectional: true });
    const source = tensor(runtime, Int32Array.of(5, 9, 16, 4, 11, 7, 3, 0), [2, 4]);
    const target = tensor(runtime, Int32Array.of(2, 8, 14, 3, 2, 21, 3, 0), [2, 4]);
    const lengths = tensor(runtime, Int32Array.of(4, 3));
    const predictions = model.predict(source, lengths, target, { teacherForcing: ratio });
    // Row 1 of 3 steps predicts 21 first; row 0 predicts 14 second.
    const positions = [3, 1];
    const tokens = [21, 14];
    const loss = model.lookLoss(
      predictions,
      tensor(runtime, Int32Array.from(positions)),
      tensor(runtime, Int32Array.from(tokens)),
    );
    const state = model.stateDict();
    const weight = state.get("decoder.fc_out.weight")?.read() as Float32Array;
    const bias = state.get("decoder.fc_out.bias")?.read() as Float32Array;
    const weights = predictions.weights.read() as Float32Array;
    const values = predictions.encoded.source.values.read() as Float32Array;
    const width = 2 * SIZES.hidden;
    const costs = positions.map((position, index) => {
      const row = Math.floor(position / 3);
      const context = Array.from({ length: width }, (_, i) =>
        [0, 1, 2, 3].reduce(
          (sum, s) =>
            sum +
            (weights[position * 4 + s] as number) * (values[(row * 4 + s) * width + i] as number),
          0,
        ),
      );
      return contextCost({ weight, bias }, context, tokens[index] as number);
    });
    // sums of thirty products in f32
    expectClose([loss.item()], [((costs[0] as number) + (costs[1] as number)) / 2], 1e-6);
    backward(loss);
    expectGradients(model, ["decoder.attention.v.weight", "encoder.rnn.weight_hh_l0"]);
  }),
);
