import { lstmLayer } from "../../../src/ops/lstm.js";
import { lstmCell } from "../../../src/ops/lstm-cell.js";
import type { LstmWeights } from "../../../src/ops/lstm-weights.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/lstm.js";
import type { OpCase, OpInput } from "../op-case.js";

interface Sizes {
  readonly batch: number;
  readonly steps: number;
  readonly inputs: number;
  readonly units: number;
}

interface LayerOptions {
  readonly lengths?: readonly number[];
  readonly reverse?: boolean;
  /** Starts from given states, and wants their gradients. */
  readonly state?: boolean;
}

// A gate is a sum of up to 26 products below 2, then σ or tanh of 4 ulp: about 2⁻²¹ a step, which
// the cell carries through at most seven steps.
const TOLERANCE = 4e-6;

const parameters = ({ inputs, units }: Sizes): Record<string, OpInput> => ({
  weightIh: { shape: [4 * units, inputs], scale: 1 / Math.sqrt(inputs), grad: true },
  weightHh: { shape: [4 * units, units], scale: 1 / Math.sqrt(units), grad: true },
  biasIh: { shape: [4 * units], scale: 0.5, grad: true },
  biasHh: { shape: [4 * units], scale: 0.5, grad: true },
});

const states = ({ batch, units }: Sizes): Record<string, OpInput> => ({
  hidden: { shape: [batch, units], scale: 0.5, grad: true },
  cell: { shape: [batch, units], grad: true },
});

function layerCase(
  result: "output" | "hidden" | "cell",
  name: string,
  sizes: Sizes,
  { lengths, reverse = false, state = false }: LayerOptions = {},
): OpCase {
  const { batch, steps, inputs, units } = sizes;
  return {
    op: "lstmLayer",
    name: `gives the ${result} ${name}`,
    inputs: {
      x: { shape: [batch, steps, inputs], grad: true },
      ...parameters(sizes),
      ...(state && states(sizes)),
      ...(lengths && { lengths: { shape: [batch], data: lengths, dtype: "i32" } }),
    },
    run: (t) =>
      lstmLayer(t.x as Tensor, weightsOf(t), {
        ...(t.hidden && t.cell && { hidden: t.hidden, cell: t.cell }),
        ...(t.lengths && { lengths: t.lengths }),
        reverse,
      })[result],
    reference: (x) =>
      reference.lstmLayer(
        {
          x: array(x.x),
          hidden: x.hidden ?? new Float64Array(batch * units),
          cell: x.cell ?? new Float64Array(batch * units),
          lengths: lengths ?? Array<number>(batch).fill(steps),
          steps,
          reverse,
        },
        parametersOf(x, sizes),
      )[result],
    tolerance: TOLERANCE,
  };
}

function cellCase(result: "hidden" | "cell", name: string, sizes: Sizes): OpCase {
  const { batch, inputs } = sizes;
  return {
    op: "lstmCell",
    name: `gives the ${result} ${name}`,
    inputs: {
      x: { shape: [batch, inputs], grad: true },
      ...states(sizes),
      ...parameters(sizes),
    },
    run: (t) => lstmCell(t.x as Tensor, t.hidden as Tensor, t.cell as Tensor, weightsOf(t))[result],
    reference: (x) =>
      reference.lstmLayer(
        {
          x: array(x.x),
          hidden: array(x.hidden),
          cell: array(x.cell),
          lengths: Array<number>(batch).fill(1),
          steps: 1,
          reverse: false,
        },
        parametersOf(x, sizes),
      )[result],
    tolerance: TOLERANCE,
  };
}

function weightsOf(t: Record<string, Tensor>): LstmWeights {
  return {
    weightIh: t.weightIh as Tensor,
    weightHh: t.weightHh as Tensor,
    biasIh: t.biasIh as Tensor,
    biasHh: t.biasHh as Tensor,
  };
}

function parametersOf(x: Record<string, Float64Array>, sizes: Sizes): reference.LstmParameters {
  return {
    weightIh: array(x.weightIh),
    weightHh: array(x.weightHh),
    biasIh: array(x.biasIh),
    biasHh: array(x.biasHh),
    units: sizes.units,
    inputs: sizes.inputs,
  };
}

function array(values: Float64Array | undefined): Float64Array {
  return values ?? new Float64Array(0);
}

export const cases: OpCase[] = [
  layerCase("output", "of one row of one unit", { batch: 1, steps: 3, inputs: 1, units: 1 }),
  layerCase(
    "output",
    "from given states, one row in whole groups of units",
    { batch: 1, steps: 4, inputs: 5, units: 16 },
    { state: true },
  ),
  layerCase(
    "output",
    "one unit short of a group",
    { batch: 4, steps: 3, inputs: 3, units: 7 },
    { state: true },
  ),
  layerCase(
    "output",
    "of rows of mixed lengths, one of them empty",
    { batch: 5, steps: 6, inputs: 4, units: 9 },
    { lengths: [3, 6, 0, 1, 3], state: true },
  ),
  layerCase(
    "output",
    "backwards from each row's own end",
    { batch: 6, steps: 5, inputs: 4, units: 8 },
    { lengths: [5, 2, 4, 0, 1, 5], reverse: true, state: true },
  ),
  layerCase(
    "output",
    "backwards over whole rows",
    { batch: 2, steps: 7, inputs: 3, units: 5 },
    { reverse: true },
  ),
  layerCase("output", "of a batch without rows", { batch: 0, steps: 3, inputs: 2, units: 3 }),
  layerCase(
    "hidden",
    "at each row's own end",
    { batch: 5, steps: 4, inputs: 3, units: 9 },
    { lengths: [1, 4, 2, 0, 4], state: true },
  ),
  layerCase(
    "cell",
    "at each row's own end",
    { batch: 5, steps: 4, inputs: 3, units: 9 },
    { lengths: [1, 4, 2, 0, 4], state: true },
  ),
  layerCase(
    "hidden",
    "it started from when there are no steps",
    { batch: 2, steps: 0, inputs: 3, units: 3 },
    { state: true },
  ),
  layerCase(
    "cell",
    "of a reversed direction",
    { batch: 3, steps: 2, inputs: 2, units: 4 },
    { lengths: [2, 1, 2], reverse: true, state: true },
  ),
  cellCase("hidden", "of one row", { batch: 1, steps: 1, inputs: 6, units: 8 }),
  cellCase("cell", "of one row", { batch: 1, steps: 1, inputs: 6, units: 8 }),
  cellCase("hidden", "of a tile and one row", { batch: 6, steps: 1, inputs: 3, units: 10 }),
  cellCase("cell", "of a tile and one row", { batch: 6, steps: 1, inputs: 3, units: 10 }),
];
