import { expect, test } from "vitest";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import { backward } from "../../src/ops/tape.js";
import { tensor } from "../../src/tensor/create.js";
import { expectClose } from "../support/compare.js";
import { withRuntime } from "../support/runtime.js";

const SIZES = { vocab: 29, embedding: 12, hidden: 10, layers: 2, padding: 0 };

test("SummarizationModel names its tensors as a PyTorch user does", () =>
  withRuntime({}, (runtime) => {
    const model = new SummarizationModel(runtime, { ...SIZES, layers: 1 });
    const shapes = Object.fromEntries([...model.stateDict()].map(([name, x]) => [name, x.shape]));
    expect(shapes).toEqual({
      "embedding.weight": [29, 12],
      "encoder.weight_ih_l0": [40, 12],
      "encoder.weight_hh_l0": [40, 10],
      "encoder.bias_ih_l0": [40],
      "encoder.bias_hh_l0": [40],
      "encoder.weight_ih_l0_reverse": [40, 12],
      "encoder.weight_hh_l0_reverse": [40, 10],
      "encoder.bias_ih_l0_reverse": [40],
      "encoder.bias_hh_l0_reverse": [40],
      "decoder.weight_ih_l0": [40, 12],
      "decoder.weight_hh_l0": [40, 10],
      "decoder.bias_ih_l0": [40],
      "decoder.bias_hh_l0": [40],
      "attention.weight": [10, 30],
      "attention.bias": [10],
      "v.weight": [1, 10],
      "output_layer.weight": [29, 30],
      "output_layer.bias": [29],
    });
  }));

test("SummarizationModel adds four tensors for a learned bridge, the same for every layer", () =>
  withRuntime({}, (runtime) => {
    const model = new SummarizationModel(runtime, { ...SIZES, bridge: "linear" });
    const shapes = [...model.stateDict()]
      .filter(([name]) => name.startsWith("bridge."))
      .map(([name, { shape }]) => [name, ...shape]);
    expect(shapes).toEqual([
      ["bridge.hidden.weight", 10, 20],
      ["bridge.hidden.bias", 10],
      ["bridge.cell.weight", 10, 20],
      ["bridge.cell.bias", 10],
    ]);
  }));

test("SummarizationModel starts its decoder from the sum of both directions' states", () =>
  withRuntime({}, (runtime) => {
    const { hidden } = SIZES;
    const summed = new SummarizationModel(runtime, SIZES);
    const learned = new SummarizationModel(runtime, { ...SIZES, bridge: "linear" });
    // A projection [1 1] is the sum.
    const state = new Map(summed.stateDict());
    const both = Float32Array.from({ length: 2 * hidden * hidden }, (_, at) =>
      at % hidden === Math.floor(at / (2 * hidden)) ? 1 : 0,
    );
    for (const of of ["hidden", "cell"]) {
      state.set(`bridge.${of}.weight`, tensor(runtime, both, [hidden, 2 * hidden]));
      state.set(`bridge.${of}.bias`, tensor(runtime, new Float32Array(hidden)));
    }
    learned.load(state);
    const source = tensor(runtime, Int32Array.of(5, 9, 16, 4, 11, 7, 3, 0), [2, 4]);
    const lengths = tensor(runtime, Int32Array.of(4, 3));
    const one = summed.encode(source, lengths);
    const two = learned.encode(source, lengths);
    for (const of of ["hidden", "cell"] as const)
      one.state[of].forEach((layer, index) => {
        // one rounding of 2⁻²⁴
        expectClose(two.state[of][index]?.read() ?? [], layer.read(), 1e-7, `${of} of l${index}`);
      });
  }));

test("SummarizationModel.echoLoss() is the cost of a source token, told by its encoding alone", () =>
  withRuntime({}, (runtime) => {
    const { vocab, hidden } = SIZES;
    const model = new SummarizationModel(runtime, SIZES);
    const source = tensor(runtime, Int32Array.of(5, 9, 16, 4, 11, 7, 3, 0), [2, 4]);
    const encoded = model.encode(source, tensor(runtime, Int32Array.of(4, 3)));
    const positions = [1, 6];
    const tokens = [9, 3];
    const loss = model.echoLoss(
      encoded,
      tensor(runtime, Int32Array.from(positions)),
      tensor(runtime, Int32Array.from(tokens)),
    );
    const [weight, bias, values] = [
      model.stateDict().get("output_layer.weight"),
      model.stateDict().get("output_layer.bias"),
      encoded.source.values,
    ].map((x) => x?.read() as Float32Array) as [Float32Array, Float32Array, Float32Array];
    const costs = positions.map((position, index) => {
      const logits = Array.from({ length: vocab }, (_, id) => {
        let sum = bias[id] as number;
        for (let i = 0; i < 2 * hidden; i++)
          sum +=
            (weight[id * 3 * hidden + hidden + i] as number) *
            (values[position * 2 * hidden + i] as number);
        return sum;
      });
      const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
      return Math.log(total) - (logits[tokens[index] as number] as number);
    });
    // sums of thirty products in f32
    expectClose([loss.item()], [((costs[0] as number) + (costs[1] as number)) / 2], 1e-6);
    backward(loss);
    for (const name of ["output_layer.weight", "encoder.weight_hh_l0", "embedding.weight"])
      expect(
        model
          .parameters()
          .get(name)
          ?.grad?.read()
          .some((x) => x !== 0),
        name,
      ).toBe(true);
    expect(model.parameters().get("decoder.weight_hh_l0")?.grad ?? null).toBe(null);
  }));

test("SummarizationModel refuses a bridge that it does not know", () =>
  withRuntime({}, (runtime) => {
    const bridge = "max" as "sum";
    expect(() => new SummarizationModel(runtime, { ...SIZES, bridge })).toThrow(
      'StateBridge: the bridge must be "sum" or "linear", got "max"',
    );
  }));
