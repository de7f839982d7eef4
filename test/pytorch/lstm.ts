import { LSTM } from "../../src/nn/lstm.js";
import { lstmCell } from "../../src/ops/lstm-cell.js";
import { concat, reshape, slice } from "../../src/ops/shape.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { input, numberOf, type Parity, stateOf, valuesOf } from "./fixture.js";

const lstm: Parity = {
  files: /^lstm(-packed)?(-2-layers)?(-bidirectional)?$/,
  compute(fixture, runtime) {
    const [gates, inputs] = valuesOf(fixture, "param.weight_ih_l0").shape as [number, number];
    const module = new LSTM(runtime, inputs, gates / 4, {
      layers: numberOf(fixture, "num_layers"),
      bidirectional: fixture.config.bidirectional === true,
    }).load(stateOf(fixture));
    const x = input(fixture, runtime, "x");
    const h = input(fixture, runtime, "h");
    const c = input(fixture, runtime, "c");
    const { output, hidden, cell } = module.forward(x, {
      state: { hidden: unstack(h), cell: unstack(c) },
      ...(fixture.config.packed === true && { lengths: input(fixture, runtime, "lengths") }),
    });
    return {
      results: { "output.y": output, "output.h": stack(hidden), "output.c": stack(cell) },
      inputs: { x, h, c },
      parameters: module.parameters(),
    };
  },
};

const cellStep: Parity = {
  files: /^lstm-cell$/,
  compute(fixture, runtime) {
    const parameters = new Map(
      [...stateOf(fixture)].map(([name, { values, shape }]) => {
        const weight = tensor(runtime, values, shape);
        weight.requiresGrad = true;
        return [name, weight];
      }),
    );
    const [x, h, c] = ["x", "h", "c"].map((name) => input(fixture, runtime, name)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const { hidden, cell } = lstmCell(x, h, c, {
      weightIh: parameters.get("weight_ih") as Tensor,
      weightHh: parameters.get("weight_hh") as Tensor,
      biasIh: parameters.get("bias_ih") as Tensor,
      biasHh: parameters.get("bias_hh") as Tensor,
    });
    return {
      results: { "output.h": hidden, "output.c": cell },
      inputs: { x, h, c },
      parameters,
    };
  },
};

/** [n, B, H] → n tensors [B, H]. */
function unstack(x: Tensor): Tensor[] {
  const [count, batch, width] = x.shape as [number, number, number];
  return Array.from({ length: count }, (_, i) => reshape(slice(x, 0, i, i + 1), [batch, width]));
}

/** The way back. */
export function stack(xs: readonly Tensor[]): Tensor {
  return concat(
    xs.map((x) => reshape(x, [1, ...x.shape])),
    0,
  );
}

export const parities: Parity[] = [lstm, cellStep];
