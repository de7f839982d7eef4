import { add, div, mul, sub } from "../../../src/ops/arithmetic.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import { broadcast } from "../../reference/arithmetic.js";
import type { OpCase } from "../op-case.js";

const OPERATIONS = {
  add: { run: add, of: (a: number, b: number) => a + b },
  sub: { run: sub, of: (a: number, b: number) => a - b },
  mul: { run: mul, of: (a: number, b: number) => a * b },
  div: { run: div, of: (a: number, b: number) => a / b },
} as const;
type Name = keyof typeof OPERATIONS;
const NAMES = Object.keys(OPERATIONS) as Name[];

/** Shapes of a and b, and what makes them special. */
const SHAPES: readonly (readonly [name: string, a: number[], b: number[]])[] = [
  ["of equal shapes", [3, 7, 5], [3, 7, 5]],
  ["of two numbers without axes", [], []],
  ["with a bias on the right", [4, 9, 33], [33]],
  ["with a bias on the left", [33], [4, 9, 33]],
  ["with a column on the right", [4, 9, 33], [4, 9, 1]],
  ["with one number on the right", [5, 13], [1]],
  ["with one number on the left", [], [5, 13]],
  ["with a mask of attention scores", [2, 3, 4, 5], [2, 1, 1, 5]],
  ["with both operands repeated", [3, 1, 5], [4, 1]],
  ["with axes repeated in turn", [2, 1, 3, 1, 2], [1, 3, 1, 4, 1]],
  ["with a leading axis of one", [1, 6], [6]],
];

/** Away from zero, so that quotients are well behaved. */
const DIVISORS = [1.5, -2.25, 0.75, 3, -1.25, 0.625, 2.5];

function shapeCase(op: Name, [name, a, b]: (typeof SHAPES)[number]): OpCase {
  const size = b.reduce((product, each) => product * each, 1);
  const data = Array.from({ length: size }, (_, i) => DIVISORS[i % DIVISORS.length] as number);
  return {
    op,
    name,
    inputs: {
      a: { shape: a, grad: true },
      b: { shape: b, grad: true, ...(op === "div" && { data }) },
    },
    run: (t) => OPERATIONS[op].run(t.a as Tensor, t.b as Tensor),
    reference: (x) => broadcast(OPERATIONS[op].of, x.a as Float64Array, a, x.b as Float64Array, b),
    // one rounding
    tolerance: 2 ** -24,
  };
}

function numberCase(op: Name): OpCase {
  return {
    op,
    name: "with a number on the right",
    inputs: { a: { shape: [3, 17], grad: true } },
    run: (t) => OPERATIONS[op].run(t.a as Tensor, 1.75),
    reference: (x) => (x.a as Float64Array).map((value) => OPERATIONS[op].of(value, 1.75)),
    // one rounding
    tolerance: 2 ** -24,
  };
}

export const cases: OpCase[] = [
  ...NAMES.flatMap((op) => [...SHAPES.map((shape) => shapeCase(op, shape)), numberCase(op)]),
  {
    op: "mul",
    name: "of a tensor with itself",
    inputs: { a: { shape: [23], grad: true } },
    run: (t) => mul(t.a as Tensor, t.a as Tensor),
    reference: (x) => (x.a as Float64Array).map((value) => value * value),
    // one rounding
    tolerance: 2 ** -24,
  },
  {
    op: "div",
    name: "by zero, which gives ±∞ and NaN",
    inputs: {
      a: { shape: [3], data: [1, -1, 0] },
      b: { shape: [3], data: [0, 0, 0] },
    },
    run: (t) => div(t.a as Tensor, t.b as Tensor),
    reference: () => [Infinity, -Infinity, Number.NaN],
    tolerance: 0,
  },
];
