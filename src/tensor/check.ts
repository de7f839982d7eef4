import { DTypeError, ShapeError, StateError } from "../errors.js";
import type { DType, Shape, Tensor } from "./tensor.js";

/** Shapes as the error messages show them: [2, 4, 8]. */
export function showShape(shape: Shape): string {
  return `[${shape.join(", ")}]`;
}

/** Elements of a shape; a scalar's shape is []. @throws {ShapeError} an axis is no length */
export function sizeOf(shape: Shape): number {
  let size = 1;
  for (const length of shape) {
    if (!Number.isSafeInteger(length) || length < 0)
      throw new ShapeError(
        `shape: every axis must be an integer from 0 up, got ${showShape(shape)}`,
      );
    size *= length;
  }
  if (!(size <= 2 ** 30))
    throw new ShapeError(`shape: a tensor must have at most 2³⁰ elements, got ${showShape(shape)}`);
  return size;
}

/** A tensor as rows over its last axis: [rows, n]. */
export function asRows(who: string, x: Tensor): [rows: number, n: number] {
  expectDType(who, x, "f32", "x");
  const n = x.shape.at(-1);
  if (n === undefined) throw new ShapeError(`${who}: x must have at least one axis, got []`);
  return [n === 0 ? 0 : x.size / n, n];
}

export function sameShape(who: string, a: Tensor, b: Tensor, names = "a and b"): void {
  if (a.rank !== b.rank || a.shape.some((length, axis) => length !== b.shape[axis]))
    throw new ShapeError(
      `${who}: ${names} must have the same shape, got ${showShape(a.shape)} and ${showShape(b.shape)}`,
    );
}

/** @throws {DTypeError} the element type is another; TypeError x is no tensor */
export function expectDType(who: string, x: Tensor, dtype: DType, name: string): void {
  expectTensor(who, x, name);
  if (x.dtype !== dtype)
    throw new DTypeError(`${who}: ${name} must be ${dtype}, got ${x.dtype}${showShape(x.shape)}`);
}

/** Every axis must match; null stands for any length. */
export function expectShape(
  who: string,
  x: Tensor,
  shape: readonly (number | null)[],
  name: string,
): void {
  const fits =
    x.rank === shape.length && shape.every((want, axis) => want === null || want === x.shape[axis]);
  if (fits) return;
  const wanted = `[${shape.map((length) => length ?? "any").join(", ")}]`;
  throw new ShapeError(`${who}: ${name} must be ${wanted}, got ${showShape(x.shape)}`);
}

/** All tensors must live in one runtime. */
export function sameRuntime(who: string, ...tensors: readonly Tensor[]): void {
  for (const x of tensors) expectTensor(who, x, "every operand");
  const first = tensors[0]?.runtime;
  if (tensors.some((x) => x.runtime !== first))
    throw new StateError(`${who}: all tensors must belong to one runtime, got two`);
}

function expectTensor(who: string, x: unknown, name: string): void {
  // By its mark and not by class, which is imported here as a type: tensor.ts stands on this file.
  if (typeof x !== "object" || x === null || !("dtype" in x && "runtime" in x))
    throw new TypeError(
      `${who}: ${name} must be a tensor, got ${Array.isArray(x) ? "an array" : x === null ? "null" : typeof x}`,
    );
}

/** An axis counted from the front, or from the back when negative. */
export function normalAxis(who: string, axis: number, rank: number): number {
  const normal = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || normal < 0 || normal >= rank)
    throw new ShapeError(`${who}: axis must lie in ${-rank} … ${rank - 1}, got ${axis}`);
  return normal;
}

/** The shape two operands broadcast to, by NumPy's rule. */
export function broadcastShapes(who: string, a: Shape, b: Shape): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const left = a[axis - rank + a.length] ?? 1;
    const right = b[axis - rank + b.length] ?? 1;
    if (left !== right && left !== 1 && right !== 1)
      throw new ShapeError(
        `${who}: shapes must broadcast (equal axes, or 1), got ${showShape(a)} and ${showShape(b)}`,
      );
    return left === 1 ? right : left;
  });
}
