import { expectDType } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** Elements a flag of the kernel covers. */
const BLOCK = 4096;

/** Is every number of x finite: no NaN, no infinity? @throws {DTypeError} x is not f32 */
export function allFinite(x: Tensor): boolean {
  expectDType("allFinite", x, "f32", "x");
  const { runtime } = x;
  const blocks = Math.ceil(x.size / BLOCK);
  return runtime.scope(() => {
    const flags = empty(runtime, [blocks], "i32");
    runtime.run("allFiniteF32", [flags.ptr, x.ptr, x.size], blocks, BLOCK / 4);
    return runtime.memory.i32(flags.ptr, blocks).every((flag) => flag === 1);
  });
}
