import { expectDType } from "../tensor/check.js";
import { emptyLike } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { sumTo, type ZipKernels, zip } from "./broadcast.js";
import { record, wants } from "./tape.js";

const ADD: ZipKernels = { flat: "addF32", strided: "addStridedF32" };
const SUB: ZipKernels = { flat: "subF32", strided: "subStridedF32" };
const MUL: ZipKernels = { flat: "mulF32", strided: "mulStridedF32" };
const DIV: ZipKernels = { flat: "divF32", strided: "divStridedF32" };

/**
 * a + b, element by element; shapes broadcast as in NumPy.
 *
 * @param a  f32[...]
 * @param b  f32[...] or a number
 * @throws {ShapeError} the shapes do not broadcast
 * @throws {DTypeError} an operand is not f32
 * @example
 * const y = add(linear, bias); // [B, L, E] + [E]
 */
export function add(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === "number") return addNumber("add", a, b);
  return record("add", zip("add", ADD, a, b), [a, b], (dy) => [
    wants(a) ? sumTo(dy, a.shape) : null,
    wants(b) ? sumTo(dy, b.shape) : null,
  ]);
}

/**
 * a − b, element by element; shapes broadcast as in NumPy.
 *
 * @param a  f32[...]
 * @param b  f32[...] or a number
 * @throws {ShapeError} the shapes do not broadcast
 * @throws {DTypeError} an operand is not f32
 */
export function sub(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === "number") return addNumber("sub", a, -b);
  return record("sub", zip("sub", SUB, a, b), [a, b], (dy) => [
    wants(a) ? sumTo(dy, a.shape) : null,
    wants(b) ? scaled(sumTo(dy, b.shape), -1) : null,
  ]);
}

/**
 * a·b, element by element; shapes broadcast as in NumPy.
 *
 * @param a  f32[...]
 * @param b  f32[...] or a number
 * @throws {ShapeError} the shapes do not broadcast
 * @throws {DTypeError} an operand is not f32
 */
export function mul(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === "number") {
    expectDType("mul", a, "f32", "a");
    return record("mul", scaled(a, b), [a], (dy) => [scaled(dy, b)]);
  }
  const { runtime } = a;
  return record("mul", zip("mul", MUL, a, b), [a, b], (dy) => [
    wants(a) ? runtime.scope(() => sumTo(zip("mul", MUL, dy, b), a.shape)) : null,
    wants(b) ? runtime.scope(() => sumTo(zip("mul", MUL, dy, a), b.shape)) : null,
  ]);
}

/**
 * a / b, element by element; shapes broadcast as in NumPy.
 *
 * @param a  f32[...]
 * @param b  f32[...] or a number
 * @throws {ShapeError} the shapes do not broadcast
 * @throws {DTypeError} an operand is not f32
 */
export function div(a: Tensor, b: Tensor | number): Tensor {
  if (typeof b === "number") {
    expectDType("div", a, "f32", "a");
    return record("div", divided(a, b), [a], (dy) => [divided(dy, b)]);
  }
  const { runtime } = a;
  const y = zip("div", DIV, a, b);
  return record("div", y, [a, b], (dy) => {
    // ∂/∂a = dy/b and ∂/∂b = −dy·a/b² = −(dy/b)·y: both start from dy/b.
    return runtime.scope(() => {
      const quotient = zip("div", DIV, dy, b);
      return [
        wants(a) ? sumTo(quotient, a.shape) : null,
        wants(b) ? scaled(sumTo(zip("mul", MUL, quotient, y), b.shape), -1) : null,
      ];
    });
  });
}

function addNumber(who: string, a: Tensor, value: number): Tensor {
  expectDType(who, a, "f32", "a");
  const y = emptyLike(a);
  a.runtime.run("addScalarF32", [y.ptr, a.ptr, value], a.size);
  return record(who, y, [a], (dy) => [dy]);
}

function scaled(x: Tensor, scale: number): Tensor {
  const y = emptyLike(x);
  x.runtime.run("scaleF32", [y.ptr, x.ptr, scale], x.size);
  return y;
}

function divided(x: Tensor, divisor: number): Tensor {
  const y = emptyLike(x);
  x.runtime.run("divScalarF32", [y.ptr, x.ptr, divisor], x.size);
  return y;
}
