import { expect, test } from "vitest";
import { Seq2Seq } from "../../src/models/seq2seq.js";
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
