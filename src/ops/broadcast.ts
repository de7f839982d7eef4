/**
 * Broadcasting, folded: neighbouring axes that an operand repeats or walks alike become one, so
 * nearly every pair of shapes is at most three groups and one call of a strided kernel.
 */
import type { KernelName } from "../kernels/kernels.js";
import type { Runtime } from "../runtime/runtime.js";
import { broadcastShapes, expectDType, sameRuntime, sizeOf } from "../tensor/check.js";
import { empty, view } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";

/** Kernels of one operation: same sizes, and broadcasting. */
export interface ZipKernels {
  readonly flat: "addF32" | "subF32" | "mulF32" | "divF32";
  readonly strided: "addStridedF32" | "subStridedF32" | "mulStridedF32" | "divStridedF32";
}

/** Neighbouring axes folded into one: `length` elements that a and b walk, or repeat. */
interface Group {
  readonly length: number;
  readonly a: boolean;
  readonly b: boolean;
}

/** y = a ∘ b with NumPy's broadcasting; not recorded. */
export function zip(who: string, kernels: ZipKernels, a: Tensor, b: Tensor): Tensor {
  expectDType(who, a, "f32", "a");
  expectDType(who, b, "f32", "b");
  sameRuntime(who, a, b);
  const shape = broadcastShapes(who, a.shape, b.shape);
  const y = empty(a.runtime, shape);
  if (y.size === 0) return y;
  const groups = fold(shape, a.shape, b.shape);
  if (groups.every((group) => group.a && group.b))
    a.runtime.run(kernels.flat, [y.ptr, a.ptr, b.ptr], y.size);
  else runStrided(a.runtime, kernels.strided, y.ptr, a.ptr, b.ptr, groups);
  return y;
}

/**
 * The gradient of broadcasting: x summed over every axis that `shape` lacks or has with length 1.
 *
 * Groups are summed from the last to the first, rows upwards, so the bits are fixed.
 * @returns f32 of that shape; it shares x's memory when nothing is summed
 */
export function sumTo(x: Tensor, shape: Shape): Tensor {
  const { runtime } = x;
  if (x.size === sizeOf(shape)) return view(x, shape);
  if (x.size === 0) return zerosOf(runtime, shape);
  return runtime.scope(() => {
    const groups = fold(x.shape, x.shape, shape);
    let sum = x;
    let inner = 1;
    for (const { length, b: kept } of groups.toReversed()) {
      if (kept) inner *= length;
      else sum = sumMiddle(sum, length, inner);
    }
    return view(sum, shape);
  });
}

/** x [outer, middle, inner] summed over the middle. */
function sumMiddle(x: Tensor, middle: number, inner: number): Tensor {
  const { runtime } = x;
  const outer = x.size / (middle * inner);
  const y = empty(runtime, [outer, inner]);
  if (inner === 1) runtime.run("sumLastF32", [y.ptr, x.ptr, middle], outer, middle);
  else {
    const blocks = outer * Math.ceil(inner / 32);
    runtime.run("sumMiddleF32", [y.ptr, x.ptr, middle, inner], blocks, 32 * middle);
  }
  return y;
}

function zerosOf(runtime: Runtime, shape: Shape): Tensor {
  const y = empty(runtime, shape);
  runtime.run("fillF32", [y.ptr, 0], y.size);
  return y;
}

/** The axes of `shape`, those of length 1 left out, folded into groups. */
function fold(shape: Shape, a: Shape, b: Shape): Group[] {
  const groups: Group[] = [];
  shape.forEach((length, axis) => {
    if (length === 1) return;
    const inA = a[axis - shape.length + a.length] === length;
    const inB = b[axis - shape.length + b.length] === length;
    const last = groups.at(-1);
    if (last && last.a === inA && last.b === inB)
      groups[groups.length - 1] = { ...last, length: last.length * length };
    else groups.push({ length, a: inA, b: inB });
  });
  return groups;
}

/** Three groups are one call; each one more in front is a loop around it. */
function runStrided(
  runtime: Runtime,
  kernel: ZipKernels["strided"] & KernelName,
  y: number,
  a: number,
  b: number,
  groups: Group[],
): void {
  if (groups.length > 3) {
    const [first, ...rest] = groups as [Group, ...Group[]];
    const [yStride, aStride, bStride] = strides(first, rest);
    for (let i = 0; i < first.length; i++)
      runStrided(
        runtime,
        kernel,
        y + 4 * i * yStride,
        a + 4 * i * aStride,
        b + 4 * i * bStride,
        rest,
      );
    return;
  }
  const one: Group = { length: 1, a: true, b: true };
  const [outer, row, step] = [one, one, one, ...groups].slice(-3) as [Group, Group, Group];
  const [, aOuter, bOuter] = strides(outer, [row, step]);
  const [, aRow, bRow] = strides(row, [step]);
  const n = step.length;
  runtime.run(
    kernel,
    [y, a, b, row.length, n, aOuter, aRow, Number(step.a), bOuter, bRow, Number(step.b)],
    outer.length * row.length,
    n,
  );
}

/** Floats from one index of a group to the next, in y, a and b. */
function strides(group: Group, behind: Group[]): [y: number, a: number, b: number] {
  const size = (has: (group: Group) => boolean): number =>
    behind.reduce((product, each) => (has(each) ? product * each.length : product), 1);
  return [size(() => true), group.a ? size((g) => g.a) : 0, group.b ? size((g) => g.b) : 0];
}
