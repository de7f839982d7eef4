import { DTypeError, ShapeError, StateError } from "../errors.js";
import { held, type Runtime } from "../runtime/runtime.js";
import { showShape, sizeOf } from "./check.js";
import type { Storage } from "./storage.js";

/** f32 numbers, i32 ids and lengths, u8 masks. */
export type DType = "f32" | "i32" | "u8";
export type Shape = readonly number[];
export type TypedArray = Float32Array | Int32Array | Uint8Array;

/** How a tensor was made: what backward() needs to walk from a result to its inputs. */
export interface TapeNode {
  /** Rises with every recorded op of the process: backward() visits in falling order. */
  readonly sequence: number;
  readonly name: string;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** Of the inputs, then of the outputs, when the op ran. */
  readonly versions: readonly number[];
  /** Null once used. */
  backward: ((gradients: (Tensor | null)[]) => (Tensor | null)[]) | null;
}

/**
 * A contiguous row-major array in a runtime's memory.
 *
 * Ops are functions, not methods (ops/): a tensor only knows its shape, its bytes and its gradient.
 */
export class Tensor {
  readonly runtime: Runtime;
  readonly storage: Storage;
  readonly shape: Shape;
  readonly dtype: DType;
  readonly size: number;
  /** A leaf that wants a gradient: parameters, or inputs under study. */
  requiresGrad = false;
  /** ∂loss/∂this after backward(), for leaves that asked; added to until zeroed. */
  grad: Tensor | null = null;
  node: TapeNode | null = null;

  constructor(runtime: Runtime, storage: Storage, shape: Shape, dtype: DType) {
    this.runtime = runtime;
    this.storage = storage;
    this.shape = shape;
    this.dtype = dtype;
    this.size = sizeOf(shape);
  }

  /** A gradient is kept with its tensor. */
  get [held](): Storage[] {
    return this.grad ? [this.storage, this.grad.storage] : [this.storage];
  }

  get rank(): number {
    return this.shape.length;
  }

  /** Address of the first element. @throws {StateError} the tensor was freed or its runtime is gone */
  get ptr(): number {
    const { lost } = this.runtime;
    if (lost) throw new StateError(`tensor ${this}: its runtime must be alive, but ${lost}`);
    if (this.storage.released)
      throw new StateError(
        `tensor ${this}: must not be used after it was freed. Return it from scope() to keep it`,
      );
    return this.storage.address;
  }

  /** Rises whenever the values are written in place; caches of packed weights follow it. */
  get version(): number {
    return this.storage.version;
  }

  /** The values, copied out. */
  read(): Float32Array | Int32Array | Uint8Array {
    return this.#view().slice();
  }

  /** The values, copied into the caller's array of the same kind and length. */
  readInto<T extends TypedArray>(target: T): T {
    const view = this.#view();
    if (target.constructor !== view.constructor)
      throw new DTypeError(
        `readInto: target must be a ${view.constructor.name}, got ${target.constructor.name}`,
      );
    if (target.length !== this.size)
      throw new ShapeError(`readInto: target must hold ${this.size} values, got ${target.length}`);
    target.set(view);
    return target;
  }

  /** The only value of a tensor of one element. */
  item(): number {
    if (this.size !== 1)
      throw new ShapeError(`item: the tensor must hold one value, got ${showShape(this.shape)}`);
    return this.#view()[0] as number;
  }

  /**
   * Overwrites all values in place.
   *
   * @throws {ShapeError} the count of values is not the tensor's
   * @throws {TypeError} a value is no number
   */
  write(values: ArrayLike<number>): this {
    if (values.length !== this.size)
      throw new ShapeError(
        `write: ${showShape(this.shape)} must get ${this.size} values, got ${values.length}`,
      );
    expectNumbers(values);
    this.#view().set(values);
    this.touch();
    return this;
  }

  /** Says that the values were changed in place. */
  touch(): void {
    this.storage.version++;
  }

  /** Frees the memory now, for every tensor that shares it. May be called twice. */
  dispose(): void {
    this.storage.release();
    this.grad?.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return `${this.dtype}${showShape(this.shape)}`;
  }

  #view(): TypedArray {
    const { memory } = this.runtime;
    return memory[this.dtype](this.ptr, this.size);
  }
}

/** What is no number would be stored as NaN: rows of a nested array, strings, undefined. */
function expectNumbers(values: ArrayLike<unknown>): void {
  if (
    ArrayBuffer.isView(values) &&
    !(values instanceof BigInt64Array || values instanceof BigUint64Array)
  )
    return;
  for (let i = 0; i < values.length; i++)
    if (typeof values[i] !== "number")
      throw new TypeError(
        `write: every value must be a number, got ${Array.isArray(values[i]) ? "an array" : typeof values[i]} at ${i}. Flatten rows, and convert other values`,
      );
}
