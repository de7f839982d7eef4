import { layerNorm } from "../../../src/ops/layer-norm.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/layer-norm.js";
import type { OpCase, OpInput } from "../op-case.js";

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

function layerNormCase(name: string, x: OpInput, options: { readonly eps?: number } = {}): OpCase {
  const n = x.shape.at(-1) as number;
  const { grad = false } = x;
  return {
    op: "layerNorm",
    name,
    inputs: { x, gamma: { shape: [n], grad }, beta: { shape: [n], grad } },
    run: (t) => layerNorm(t.x as Tensor, t.gamma as Tensor, t.beta as Tensor, options),
    reference: ({ x, gamma, beta }) =>
      reference.layerNorm(
        x as Float64Array,
        gamma as Float64Array,
        beta as Float64Array,
        options.eps ?? 1e-5,
      ),
    // sums of n terms in 32 accumulators, a root and a quotient: a few roundings of x̂
    tolerance: 8 * 2 ** -24,
  };
}

export const cases: OpCase[] = [
  layerNormCase("of random rows", { shape: [2, 3, 37], scale: 3, grad: true }),
  layerNormCase("of rows of 768", { shape: [4, 768], grad: true }),
  layerNormCase("with another eps", { shape: [3, 20], scale: 0.01, grad: true }, { eps: 1e-3 }),
  layerNormCase("of one row without other axes", { shape: [6], grad: true }),
  layerNormCase("of rows of one, which gives beta", { shape: [4, 1], grad: true }),
  layerNormCase("of many short rows", { shape: [70, 5], grad: true }),
  layerNormCase("without rows", { shape: [0, 4], grad: true }),
  layerNormCase("without columns", { shape: [4, 0], grad: true }),
  layerNormCase("of a constant row and of a large mean", {
    shape: [2, 4],
    data: [1234, 1234, 1234, 1234, 40_000, 40_001, 40_002, 40_003],
  }),
  layerNormCase("with NaN or ∞ in rows beside others", {
    shape: [4, 3],
    data: [1, nan, 2, 0, 1, 3, 1, inf, 0, -inf, 1, 2],
  }),
];
