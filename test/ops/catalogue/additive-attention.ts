import { additiveAttention } from "../../../src/ops/additive-attention.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/additive-attention.js";
import type { OpCase } from "../op-case.js";

interface Sizes {
  readonly batch: number;
  readonly queries: number;
  readonly positions: number;
  readonly width: number;
  readonly valueWidth: number;
}

function additiveCase(
  name: string,
  result: "context" | "weights",
  sizes: Sizes,
  lengths?: readonly number[],
): OpCase {
  const { batch, queries, positions, width, valueWidth } = sizes;
  return {
    op: "additiveAttention",
    name: `gives the ${result} ${name}`,
    inputs: {
      query: { shape: [batch, queries, width], grad: true },
      keys: { shape: [batch, positions, width], grad: true },
      v: { shape: [width], grad: true },
      values: { shape: [batch, positions, valueWidth], grad: true },
      ...(lengths && {
        lengths: { shape: [batch], dtype: "i32" as const, data: [...lengths] },
      }),
    },
    run: (t) =>
      additiveAttention(
        t.query as Tensor,
        t.keys as Tensor,
        t.v as Tensor,
        t.values as Tensor,
        t.lengths ? { lengths: t.lengths } : {},
      )[result],
    reference: (x) =>
      reference.additiveAttention({
        query: x.query as Float64Array,
        keys: x.keys as Float64Array,
        v: x.v as Float64Array,
        values: x.values as Float64Array,
        lengths: x.lengths ?? new Float64Array(batch).fill(positions),
        ...sizes,
      })[result],
    // A score is a sum of up to 33 terms below 4, each with a tanh of 4 ulp: about 2⁻¹⁹ absolute,
    // which exp hands on as a relative error of the weights.
    tolerance: 4e-6,
  };
}

export const cases: OpCase[] = [
  additiveCase("of one query a row, as a decoder asks", "context", {
    batch: 3,
    queries: 1,
    positions: 7,
    width: 33,
    valueWidth: 18,
  }),
  additiveCase("of one query a row, as a decoder asks", "weights", {
    batch: 3,
    queries: 1,
    positions: 7,
    width: 33,
    valueWidth: 18,
  }),
  additiveCase(
    "of several queries over rows of their own lengths, one of them 0",
    "context",
    { batch: 4, queries: 3, positions: 5, width: 21, valueWidth: 37 },
    [5, 4, 1, 0],
  ),
  additiveCase(
    "of several queries over rows of their own lengths, one of them 0",
    "weights",
    { batch: 4, queries: 3, positions: 5, width: 21, valueWidth: 37 },
    [5, 4, 1, 0],
  ),
];
