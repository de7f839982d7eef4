import { concat, reshape, slice, transpose } from "../../../src/ops/shape.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/shape.js";
import type { OpCase } from "../op-case.js";

function transposeCase(name: string, shape: number[], axes: number[]): OpCase {
  return {
    op: "transpose",
    name,
    inputs: { x: { shape, grad: true } },
    run: (t) => transpose(t.x as Tensor, axes),
    reference: (x) => reference.transpose(x.x as Float64Array, shape, axes),
    tolerance: 0,
  };
}

function sliceCase(name: string, shape: number[], axis: number, from: number, to: number): OpCase {
  return {
    op: "slice",
    name,
    inputs: { x: { shape, grad: true } },
    run: (t) => slice(t.x as Tensor, axis, from, to),
    reference: (x) =>
      reference.slice(x.x as Float64Array, shape, fromFront(axis, shape.length), from, to),
    tolerance: 0,
  };
}

function concatCase(name: string, shapes: number[][], axis: number): OpCase {
  return {
    op: "concat",
    name,
    inputs: Object.fromEntries(shapes.map((shape, i) => [`x${i}`, { shape, grad: true }])),
    run: (t) =>
      concat(
        shapes.map((_, i) => t[`x${i}`] as Tensor),
        axis,
      ),
    reference: (x) =>
      reference.concat(
        shapes.map((_, i) => x[`x${i}`] as Float64Array),
        shapes,
        fromFront(axis, shapes[0]?.length ?? 0),
      ),
    tolerance: 0,
  };
}

function fromFront(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

export const cases: OpCase[] = [
  {
    op: "reshape",
    name: "with one axis left open",
    inputs: { x: { shape: [2, 3, 4], grad: true } },
    run: (t) => reshape(t.x as Tensor, [6, -1]),
    reference: (x) => x.x as Float64Array,
    tolerance: 0,
  },
  {
    op: "reshape",
    name: "to no axes",
    inputs: { x: { shape: [1, 1], grad: true } },
    run: (t) => reshape(t.x as Tensor, []),
    reference: (x) => x.x as Float64Array,
    tolerance: 0,
  },
  transposeCase("of a matrix", [19, 37], [1, 0]),
  transposeCase("of the last two axes of a batch", [3, 2, 5, 17], [0, 1, 3, 2]),
  transposeCase("that brings heads in front of positions", [2, 5, 3, 8], [0, 2, 1, 3]),
  transposeCase("that turns heads over as well", [2, 5, 3, 4], [0, 2, 3, 1]),
  transposeCase("that reverses six axes", [2, 3, 2, 3, 2, 3], [5, 4, 3, 2, 1, 0]),
  transposeCase("that moves nothing", [2, 3, 4], [0, 1, 2]),
  transposeCase("that moves only axes of one", [1, 6, 1], [1, 2, 0]),
  transposeCase("of an empty tensor", [2, 0, 3], [2, 1, 0]),
  sliceCase("of a middle axis", [3, 7, 5], 1, 2, 5),
  sliceCase("of the last axis", [4, 9], -1, 0, 4),
  sliceCase("of the first axis", [6, 5], 0, 4, 6),
  sliceCase("of long rows", [5, 300], 0, 1, 4),
  sliceCase("that takes nothing", [4, 3], 0, 2, 2),
  concatCase(
    "along the last axis",
    [
      [3, 4],
      [3, 1],
      [3, 6],
    ],
    -1,
  ),
  concatCase(
    "along the first axis",
    [
      [2, 300],
      [1, 300],
    ],
    0,
  ),
  concatCase(
    "along a middle axis, one of them empty",
    [
      [2, 2, 3],
      [2, 0, 3],
      [2, 1, 3],
    ],
    1,
  ),
  concatCase("of one tensor", [[4, 5]], 0),
  {
    op: "concat",
    name: "of a tensor with itself",
    inputs: { x: { shape: [2, 3], grad: true } },
    run: (t) => concat([t.x as Tensor, t.x as Tensor], 0),
    reference: (x) => [...(x.x as Float64Array), ...(x.x as Float64Array)],
    tolerance: 0,
  },
  ...(["i32", "u8"] as const).flatMap((dtype): OpCase[] => {
    const data = [1, 2, 3, 4, 5, 6];
    const inputs = { x: { shape: [2, 3], dtype, data } };
    return [
      {
        op: "slice",
        name: `of ${dtype}`,
        inputs,
        run: (t) => slice(t.x as Tensor, 1, 1, 3),
        reference: () => [2, 3, 5, 6],
        tolerance: 0,
      },
      {
        op: "concat",
        name: `of ${dtype}`,
        inputs,
        run: (t) => concat([t.x as Tensor, t.x as Tensor], 1),
        reference: () => [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6],
        tolerance: 0,
      },
    ];
  }),
  {
    op: "transpose",
    name: "of i32",
    inputs: { x: { shape: [2, 3], dtype: "i32", data: [1, 2, 3, 4, 5, 6] } },
    run: (t) => transpose(t.x as Tensor, [-1, 0]),
    reference: () => [1, 4, 2, 5, 3, 6],
    tolerance: 0,
  },
];
