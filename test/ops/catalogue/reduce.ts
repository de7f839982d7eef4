import { max, mean, type ReduceOptions, sum } from "../../../src/ops/reduce.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/reduce.js";
import type { OpCase, OpInput } from "../op-case.js";

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const OPERATIONS = {
  sum: { run: sum, of: reference.sum },
  mean: { run: mean, of: reference.mean },
  max: { run: max, of: reference.max },
} as const;
type Name = keyof typeof OPERATIONS;
const NAMES = Object.keys(OPERATIONS) as Name[];

function reduceCase(
  op: Name,
  name: string,
  input: OpInput,
  axis?: number,
  options: ReduceOptions = {},
): OpCase {
  const size = (shape: readonly number[]): number => shape.reduce((all, each) => all * each, 1);
  const { shape } = input;
  const at = axis === undefined || axis >= 0 ? axis : axis + shape.length;
  const sizes: reference.Sizes =
    at === undefined
      ? [1, size(shape), 1]
      : [size(shape.slice(0, at)), shape[at] as number, size(shape.slice(at + 1))];
  return {
    op,
    name,
    inputs: { x: input },
    run: (t) => OPERATIONS[op].run(t.x as Tensor, axis, options),
    reference: (x) => OPERATIONS[op].of(x.x as Float64Array, sizes),
    // a maximum is exact; a sum of n numbers near 1 rounds n times at most, to a size of √n
    tolerance: op === "max" ? 0 : 8 * sizes[1] ** 0.5 * 2 ** -24,
  };
}

/** Distinct, and further apart than finite differences step. */
function distinct(shape: readonly number[]): OpInput {
  const count = shape.reduce((all, each) => all * each, 1);
  const data = Array.from({ length: count }, (_, i) => ((i * 7919) % count) / 16 - 3);
  return { shape, data, grad: true };
}

export const cases: OpCase[] = [
  ...NAMES.flatMap((op) => [
    reduceCase(op, "over the last axis", distinct([2, 3, 37]), 2),
    reduceCase(op, "over the first axis", distinct([5, 3, 11]), 0),
    reduceCase(op, "over a middle axis, from the back", distinct([2, 7, 5, 9]), -3),
    reduceCase(op, "over the last axis of one row", distinct([70]), -1),
    reduceCase(op, "over an axis of one", distinct([3, 1, 4]), 1),
    reduceCase(op, "over an axis before axes of one", distinct([3, 40, 1]), 1),
    reduceCase(op, "that keeps its axis", distinct([3, 4, 5]), 1, { keepDims: true }),
    reduceCase(op, "over all elements", distinct([3, 41])),
    reduceCase(op, "over all of more than a block", distinct([3, 3001])),
    reduceCase(op, "over all of whole blocks", distinct([2, 4096])),
    reduceCase(op, "over all, that keeps the rank", distinct([3, 4]), undefined, {
      keepDims: true,
    }),
    reduceCase(op, "of a single number", distinct([])),
    reduceCase(op, "over rows of which there are none", distinct([0, 4]), 1),
    reduceCase(
      op,
      "with NaN and ∞",
      {
        shape: [4, 3],
        data: [1, nan, 2, inf, 1, 0, -inf, -inf, -inf, inf, -inf, 0],
      },
      1,
    ),
  ]),
  reduceCase("sum", "over an axis without elements, which gives zeros", distinct([3, 0]), 1),
  reduceCase("sum", "over no elements at all, which gives zero", distinct([0, 4])),
  reduceCase(
    "max",
    "sends the gradient to the first of equals",
    {
      shape: [2, 3],
      data: [1, 5, 2, 5, 1, 7],
      grad: true,
    },
    0,
  ),
];
