import { argmax, topK } from "../../../src/ops/select.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/select.js";
import type { OpCase } from "../op-case.js";

const { NaN: nan } = Number;
/** No two neighbours in size are closer than finite differences step. */
const SPREAD = Array.from({ length: 34 }, (_, i) => ((i * 13) % 34) - 17);

export const cases: OpCase[] = [
  {
    op: "argmax",
    name: "of random rows",
    inputs: { x: { shape: [3, 4, 37] } },
    run: (t) => argmax(t.x as Tensor),
    reference: (x) => reference.argmax(x.x as Float64Array, 37),
    tolerance: 0,
  },
  {
    op: "argmax",
    name: "takes the lowest of equals and the first NaN",
    inputs: { x: { shape: [2, 5], data: [1, 7, 3, 7, 7, 9, nan, 2, nan, 5] } },
    run: (t) => argmax(t.x as Tensor),
    reference: () => [1, 1],
    tolerance: 0,
  },
  {
    op: "topK",
    name: "gives values",
    inputs: { x: { shape: [2, 17], data: SPREAD, grad: true } },
    run: (t) => topK(t.x as Tensor, 5).values,
    reference: (x) => reference.topK(x.x as Float64Array, 17, 5).values,
    tolerance: 0,
  },
  {
    op: "topK",
    name: "gives indices",
    inputs: { x: { shape: [2, 17], data: SPREAD } },
    run: (t) => topK(t.x as Tensor, 17).indices,
    reference: (x) => reference.topK(x.x as Float64Array, 17, 17).indices,
    tolerance: 0,
  },
];
