import { linear } from "../../../src/ops/linear.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/gemm.js";
import type { OpCase } from "../op-case.js";

function linearCase(name: string, xShape: number[], outputs: number, withBias: boolean): OpCase {
  const inputs = xShape.at(-1) ?? 0;
  const rows = xShape.slice(0, -1).reduce((product, length) => product * length, 1);
  return {
    op: "linear",
    name,
    inputs: {
      x: { shape: xShape, grad: true },
      weight: { shape: [outputs, inputs], scale: 0.3, grad: true },
      ...(withBias && { bias: { shape: [outputs], grad: true } }),
    },
    run: ({ x, weight, bias }) => linear(x as Tensor, weight as Tensor, bias),
    reference: ({ x, weight, bias }) =>
      reference
        .gemm(x ?? [], reference.transpose(weight ?? [], outputs, inputs), rows, outputs, inputs)
        .map((value, i) => value + (bias?.[i % outputs] ?? 0)),
    // depth ≤ 65, weights of 0.3: 66·2⁻²⁴·Σ|x·w|, where Σ|x·w| ≈ 13 and max |y| ≈ 8
    tolerance: 1e-5,
  };
}

export const cases: OpCase[] = [
  linearCase("of rows with a bias", [5, 7], 9, true),
  linearCase("of rows without a bias", [5, 7], 9, false),
  linearCase("of a batch of sequences", [2, 3, 8], 16, true),
  linearCase("of a single vector", [6], 33, true),
  linearCase("to one output", [4, 10], 1, true),
  linearCase("to one output without a bias", [4, 10], 1, false),
  linearCase("over several blocks of work", [2, 22, 65], 40, true),
  linearCase("to more outputs than are read in strides", [40, 3], 130, true),
  linearCase("of no rows", [0, 4], 3, true),
  linearCase("of no inputs, which gives the bias", [3, 0], 5, true),
];
