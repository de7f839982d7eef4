import { backwardFrom } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor, TypedArray } from "../../src/tensor/tensor.js";
import type { OpCase, OpInput } from "../ops/op-case.js";
import { seeded } from "./random.js";

/** Any seed will do; it stands in every error. */
export const SEED = 17;

export type Arrays = Record<string, TypedArray>;

export interface Evaluation {
  readonly y: TypedArray;
  readonly gradients: Record<string, Float32Array>;
  /** The inputs after all. */
  readonly inputs: Arrays;
}

/** The case's inputs as the runtime will hold them. */
export function arraysOf(c: OpCase): Arrays {
  const random = seeded(SEED);
  return mapValues(c.inputs, ({ shape, data, scale, dtype = "f32" }: OpInput) => {
    const size = shape.reduce((product, length) => product * length, 1);
    if (data && data.length !== size)
      throw new Error(`${c.op}() ${c.name}: data must have ${size} values, got ${data.length}`);
    if (dtype === "f32") return data ? Float32Array.from(data) : random.array(size, scale);
    if (!data) throw new Error(`${c.op}() ${c.name}: ${dtype} inputs need data`);
    return dtype === "i32" ? Int32Array.from(data) : Uint8Array.from(data);
  });
}

/** The gradient that is sent back through an output: never the same for two elements. */
export function cotangentOf(size: number): Float32Array {
  return seeded(SEED + 1).array(size);
}

/** The inputs of a case in a runtime; those to be checked want a gradient. */
export function tensorsOf(runtime: Runtime, c: OpCase, arrays: Arrays): Record<string, Tensor> {
  return mapValues(c.inputs, ({ shape, dtype = "f32", grad = false }, name) => {
    const x = tensor(runtime, arrays[name] as TypedArray, shape, dtype);
    x.requiresGrad = grad;
    return x;
  });
}

/** Runs a case forward and, where an input asks for it, backward; frees all it made. */
export function evaluate(runtime: Runtime, c: OpCase, arrays: Arrays): Evaluation {
  runtime.seed(SEED);
  return runtime.scope(() => {
    const tensors = tensorsOf(runtime, c, arrays);
    const y = c.run(tensors, runtime);
    const values = y.read();
    if (gradientNames(c).length > 0) backwardFrom(y, tensor(runtime, cotangentOf(y.size), y.shape));
    const gradients: Record<string, Float32Array> = {};
    for (const name of gradientNames(c)) {
      const x = tensors[name] as Tensor;
      gradients[name] = x.grad ? (x.grad.read() as Float32Array) : new Float32Array(x.size);
      x.grad?.dispose();
      x.grad = null;
    }
    return { y: values, gradients, inputs: mapValues(tensors, (x) => x.read()) };
  });
}

export function gradientNames(c: OpCase): string[] {
  return Object.keys(c.inputs).filter((name) => c.inputs[name]?.grad);
}

/** float64 copies, as the reference takes them. */
export function widened(arrays: Arrays): Record<string, Float64Array> {
  return mapValues(arrays, (values) => Float64Array.from(values));
}

function mapValues<A, B>(
  record: Readonly<Record<string, A>>,
  fn: (value: A, name: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, fn(value, name)]));
}
