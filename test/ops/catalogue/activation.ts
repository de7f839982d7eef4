import {
  exp,
  gelu,
  log,
  neg,
  relu,
  sigmoid,
  silu,
  sqrt,
  tanh,
} from "../../../src/ops/activation.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/activation.js";
import type { OpCase } from "../op-case.js";

type Sample = readonly [
  op: string,
  name: string,
  run: (x: Tensor) => Tensor,
  exact: (x: number) => number,
  tolerance: number,
];

const ULP = 2 ** -23;

const SAMPLES: readonly Sample[] = [
  ["relu", "of normal numbers", relu, reference.relu, 0],
  // 4 ulp of erf or tanh, and two roundings
  ["gelu", "through erf", gelu, reference.geluErf, 6 * ULP],
  ["gelu", "through tanh", (x) => gelu(x, { approximate: "tanh" }), reference.geluTanh, 6 * ULP],
  // 4 ulp of σ, and one rounding
  ["silu", "of normal numbers", silu, reference.silu, 5 * ULP],
  // what the words of math promise
  ["tanh", "of normal numbers", tanh, Math.tanh, 4 * ULP],
  ["sigmoid", "of normal numbers", sigmoid, reference.sigmoid, 4 * ULP],
  ["exp", "of normal numbers", exp, Math.exp, 2 * ULP],
  ["neg", "of normal numbers", neg, (x) => -x, 0],
];

/** Of positive numbers, from 2⁻⁴ to about 8. */
const POSITIVE: readonly Sample[] = [
  ["log", "of positive numbers", log, Math.log, 4 * ULP],
  ["sqrt", "of positive numbers", sqrt, Math.sqrt, ULP],
];

const SHAPE = [3, 7, 11];

function caseOf([op, name, run, exact, tolerance]: Sample, data?: number[]): OpCase {
  return {
    op,
    name,
    inputs: { x: { shape: SHAPE, scale: 2, grad: true, ...(data && { data }) } },
    run: (t) => run(t.x as Tensor),
    reference: (x) => (x.x as Float64Array).map(exact),
    tolerance,
  };
}

const positive = Array.from({ length: 231 }, (_, i) => 1 / 16 + i / 29);

export const cases: OpCase[] = [
  ...SAMPLES.map((sample) => caseOf(sample)),
  ...POSITIVE.map((sample) => caseOf(sample, positive)),
  {
    op: "tanh",
    name: "of one number without axes",
    inputs: { x: { shape: [], grad: true } },
    run: (t) => tanh(t.x as Tensor),
    reference: (x) => (x.x as Float64Array).map(Math.tanh),
    tolerance: 4 * ULP,
  },
  {
    op: "gelu",
    name: "of nothing",
    inputs: { x: { shape: [0, 5], grad: true } },
    run: (t) => gelu(t.x as Tensor),
    reference: () => [],
    tolerance: 0,
  },
];
