import { dropout, dropoutMask } from "../../../src/ops/dropout.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/dropout.js";
import type { OpCase } from "../op-case.js";

const MASK = Array.from({ length: 35 }, (_, i) => (i % 3 === 0 ? 0 : 1));

export const cases: OpCase[] = [
  {
    op: "dropout",
    name: "with a seed",
    inputs: { x: { shape: [3, 5, 7], grad: true } },
    run: (t) => dropout(t.x as Tensor, 0.4, { seed: 0xdeadbeef }),
    reference: (x) =>
      reference.dropout(x.x as Float64Array, reference.keepMask(105, 0xdeadbeef, 0.4), 0.4),
    // the scale and the product are rounded
    tolerance: 2 * 2 ** -24,
  },
  {
    op: "dropout",
    name: "with a mask given",
    inputs: {
      x: { shape: [5, 7], grad: true },
      mask: { shape: [5, 7], dtype: "u8", data: MASK },
    },
    run: (t) => dropout(t.x as Tensor, 0.25, { mask: t.mask as Tensor }),
    reference: (x) => reference.dropout(x.x as Float64Array, MASK, 0.25),
    // the scale and the product are rounded
    tolerance: 2 * 2 ** -24,
  },
  {
    op: "dropout",
    name: "of everything",
    inputs: { x: { shape: [9], grad: true } },
    run: (t) => dropout(t.x as Tensor, 1),
    reference: () => new Float64Array(9),
    tolerance: 0,
  },
  {
    op: "dropoutMask",
    name: "is the mask that dropout applies",
    inputs: {},
    run: (_, runtime) => dropoutMask(runtime, [7, 11], 0.3, 5),
    reference: () => reference.keepMask(77, 5, 0.3),
    tolerance: 0,
  },
  {
    op: "dropoutMask",
    name: "hides all at p = 1",
    inputs: {},
    run: (_, runtime) => dropoutMask(runtime, [7], 1, 5),
    reference: () => new Float64Array(7),
    tolerance: 0,
  },
];
