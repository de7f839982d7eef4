import { indices } from "./arithmetic.js";

type Shape = readonly number[];

function offset(index: Shape, shape: Shape): number {
  return index.reduce((sum, i, axis) => sum * (shape[axis] as number) + i, 0);
}

/** Axis i of the result is axis axes[i] of x. */
export function transpose(x: ArrayLike<number>, shape: Shape, axes: Shape): Float64Array {
  const y: number[] = [];
  for (const index of indices(axes.map((axis) => shape[axis] as number))) {
    const from = shape.map((_, axis) => index[axes.indexOf(axis)] as number);
    y.push(x[offset(from, shape)] as number);
  }
  return Float64Array.from(y);
}

/** The part [from, to) of one axis. */
export function slice(
  x: ArrayLike<number>,
  shape: Shape,
  axis: number,
  from: number,
  to: number,
): Float64Array {
  const y: number[] = [];
  for (const index of indices(shape)) {
    const i = index[axis] as number;
    if (i >= from && i < to) y.push(x[offset(index, shape)] as number);
  }
  return Float64Array.from(y);
}

/** Arrays one behind the other along an axis. */
export function concat(
  xs: readonly ArrayLike<number>[],
  shapes: readonly Shape[],
  axis: number,
): Float64Array {
  const total = shapes.reduce((sum, shape) => sum + (shape[axis] as number), 0);
  const y: number[] = [];
  for (const index of indices((shapes[0] as Shape).with(axis, total))) {
    let which = 0;
    let i = index[axis] as number;
    while (i >= (shapes[which]?.[axis] as number)) i -= shapes[which++]?.[axis] as number;
    y.push(xs[which]?.[offset(index.with(axis, i), shapes[which] as Shape)] as number);
  }
  return Float64Array.from(y);
}
