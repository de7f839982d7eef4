import { logSoftmax, softmax } from "../../../src/ops/softmax.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/softmax.js";
import type { OpCase, OpInput } from "../op-case.js";

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const OPERATIONS = {
  softmax: { run: softmax, of: reference.softmax },
  logSoftmax: { run: logSoftmax, of: reference.logSoftmax },
} as const;
type Name = keyof typeof OPERATIONS;
const NAMES = Object.keys(OPERATIONS) as Name[];

function softmaxCase(op: Name, name: string, x: OpInput): OpCase {
  const n = x.shape.at(-1) as number;
  return {
    op,
    name,
    inputs: { x },
    run: (t) => OPERATIONS[op].run(t.x as Tensor),
    reference: (inputs) => OPERATIONS[op].of(inputs.x as Float64Array, n),
    // an exponential, its exponent, a sum and a quotient (or a logarithm): about two roundings each
    tolerance: 8 * 2 ** -24,
  };
}

export const cases: OpCase[] = NAMES.flatMap((op) => [
  softmaxCase(op, "of random rows", { shape: [2, 3, 37], scale: 2, grad: true }),
  softmaxCase(op, "of rows of a thousand", { shape: [3, 1000], grad: true }),
  softmaxCase(op, "of one row without other axes", { shape: [5], grad: true }),
  softmaxCase(op, "of rows of one", { shape: [4, 1], grad: true }),
  softmaxCase(op, "of many short rows", { shape: [70, 3], grad: true }),
  softmaxCase(op, "without rows", { shape: [0, 4], grad: true }),
  softmaxCase(op, "without columns", { shape: [4, 0], grad: true }),
  softmaxCase(op, "of numbers far apart", {
    shape: [2, 4],
    data: [1e4, -1e4, 0, 1e4, 1e38, -1e38, 1, 2],
  }),
  softmaxCase(op, "with a fully masked row beside others", {
    shape: [3, 5],
    data: [1, 2, 3, 4, 5, -inf, -inf, -inf, -inf, -inf, 0, 1, -1, 2, 0.5],
    grad: true,
  }),
  softmaxCase(op, "with a masked part of a row", {
    shape: [2, 4],
    data: [-inf, 1, -inf, 2, 0.5, -inf, -inf, -inf],
    // Differences know no gradient of an output that is −∞: logSoftmax() passes it on, as PyTorch.
    grad: op === "softmax",
  }),
  softmaxCase(op, "with NaN or ∞ in rows beside others", {
    shape: [3, 3],
    data: [1, nan, 2, 0, 1, 2, 1, inf, -inf],
  }),
]);
