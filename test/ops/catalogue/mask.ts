import { causalMask, paddingMask } from "../../../src/ops/mask.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import type { OpCase } from "../op-case.js";

function causalCase(
  name: string,
  sizes: readonly [queries: number, keys: number],
  align: "start" | "end",
  expected: readonly (readonly number[])[],
): OpCase {
  return {
    op: "causalMask",
    name,
    inputs: {},
    run: (_, runtime) => causalMask(runtime, ...sizes, { align }),
    reference: () => expected.flat(),
    tolerance: 0,
  };
}

export const cases: OpCase[] = [
  {
    op: "causalMask",
    name: "of a square",
    inputs: {},
    run: (_, runtime) => causalMask(runtime, 3),
    reference: () => [1, 0, 0, 1, 1, 0, 1, 1, 1],
    tolerance: 0,
  },
  causalCase("with more keys, aligned at the start", [2, 4], "start", [
    [1, 0, 0, 0],
    [1, 1, 0, 0],
  ]),
  causalCase("with more keys, aligned at the end", [2, 4], "end", [
    [1, 1, 1, 0],
    [1, 1, 1, 1],
  ]),
  causalCase("with fewer keys, aligned at the start", [4, 2], "start", [
    [1, 0],
    [1, 1],
    [1, 1],
    [1, 1],
  ]),
  causalCase("with fewer keys, aligned at the end: the first queries see nothing", [4, 2], "end", [
    [0, 0],
    [0, 0],
    [1, 0],
    [1, 1],
  ]),
  {
    op: "paddingMask",
    name: "shows as many positions as a row is long",
    inputs: { lengths: { shape: [3], dtype: "i32", data: [2, 0, 4] } },
    run: (t) => paddingMask(t.lengths as Tensor, 4),
    reference: () => [1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
    tolerance: 0,
  },
];
