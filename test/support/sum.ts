import { record } from "../../src/ops/tape.js";
import { ones, tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";

/** The sum of all elements, as a loss: a gradient of ones. */
export function sumOf(x: Tensor): Tensor {
  let total = 0;
  for (const value of x.read()) total += value;
  return record("sumOf", tensor(x.runtime, [total], []), [x], () => [ones(x.runtime, x.shape)]);
}
