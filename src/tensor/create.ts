import { DTypeError, ShapeError } from "../errors.js";
import type { Runtime } from "../runtime/runtime.js";
import { showShape, sizeOf } from "./check.js";
import { Storage } from "./storage.js";
import { type DType, type Shape, Tensor } from "./tensor.js";

const BYTES = { f32: 4, i32: 4, u8: 1 } as const;

/** A tensor whose values are not set yet. */
export function empty(runtime: Runtime, shape: Shape, dtype: DType = "f32"): Tensor {
  if (!Object.hasOwn(BYTES, dtype))
    throw new DTypeError(`tensor: dtype must be "f32", "i32" or "u8", got ${String(dtype)}`);
  const bytes = sizeOf(shape) * BYTES[dtype];
  return new Tensor(runtime, new Storage(runtime, bytes), [...shape], dtype);
}

/** A tensor of x's shape and dtype whose values are not set yet. */
export function emptyLike(x: Tensor): Tensor {
  return empty(x.runtime, x.shape, x.dtype);
}

export function zeros(runtime: Runtime, shape: Shape, dtype: DType = "f32"): Tensor {
  return full(runtime, shape, 0, dtype);
}

export function ones(runtime: Runtime, shape: Shape, dtype: DType = "f32"): Tensor {
  return full(runtime, shape, 1, dtype);
}

export function full(runtime: Runtime, shape: Shape, value: number, dtype: DType = "f32"): Tensor {
  const x = empty(runtime, shape, dtype);
  runtime.memory[dtype](x.ptr, x.size).fill(value);
  return x;
}

/**
 * A tensor with the given values.
 *
 * @param values  as many numbers as the shape has elements
 * @param dtype   defaults to that of a typed array, else f32
 * @throws {ShapeError} the count of values does not fit the shape
 * @throws {TypeError} a value is no number
 */
export function tensor(
  runtime: Runtime,
  values: ArrayLike<number>,
  shape: Shape = [values.length],
  dtype: DType = dtypeOf(values),
): Tensor {
  const size = sizeOf(shape);
  if (values.length !== size)
    throw new ShapeError(
      `tensor: shape ${showShape(shape)} must get ${size} values, got ${values.length}`,
    );
  const x = empty(runtime, shape, dtype);
  try {
    return x.write(values);
  } catch (error) {
    x.dispose();
    throw error;
  }
}

/** The same memory under another shape of as many elements. Not recorded for gradients: see reshape. */
export function view(x: Tensor, shape: Shape): Tensor {
  if (sizeOf(shape) !== x.size)
    throw new ShapeError(
      `view: the shapes must have as many elements, got ${showShape(x.shape)} and ${showShape(shape)}`,
    );
  return new Tensor(x.runtime, x.storage, [...shape], x.dtype);
}

function dtypeOf(values: ArrayLike<number>): DType {
  if (values instanceof Int32Array) return "i32";
  if (values instanceof Uint8Array) return "u8";
  return "f32";
}
