import { ShapeError } from "../errors.js";
import { expectDType, expectShape, sameRuntime, showShape, sizeOf } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { packed } from "./packing.js";
import { type Matrix, multiplyAdd, multiplyPanels, type Start } from "./product.js";
import { gradientOf, record, wants } from "./tape.js";

/**
 * An affine map of the last axis: y = x·weightᵀ + bias.
 *
 * @param x       f32[..., in]
 * @param weight  f32[out, in]
 * @param bias    f32[out], or none
 * @returns f32[..., out]; a row has the same bits alone as in a batch
 * @throws {ShapeError} the shapes above do not fit
 * @example
 * const y = linear(x, weight, bias);
 */
export function linear(x: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  const { runtime } = x;
  const [outputs, inputs] = checkShapes(x, weight, bias);
  const lead = x.shape.slice(0, -1);
  const rows = sizeOf(lead);
  const y = empty(runtime, [...lead, outputs]);
  const input = (): Matrix => ({ address: x.ptr, rows, columns: inputs });
  const start: Start = bias ? { bias: bias.ptr } : "zero";
  multiplyPanels(runtime, y.ptr, input(), packed(weight, "columns"), outputs, start);

  return record("linear", y, bias ? [x, weight, bias] : [x, weight], (dy) => {
    const dOutput = { address: dy.ptr, rows, columns: outputs };
    const dx = wants(x) ? empty(runtime, x.shape) : null;
    if (dx) multiplyPanels(runtime, dx.ptr, dOutput, packed(weight, "rows"), inputs, "zero");
    const dWeight = gradientOf(weight);
    if (dWeight) multiplyAdd(runtime, dWeight.ptr, { ...dOutput, transposed: true }, input());
    const dBias = bias && gradientOf(bias);
    if (dBias) addRows(dBias, dy, rows, outputs);
    return [dx, null, null];
  });
}

/** y += the sum of x's rows. */
function addRows(y: Tensor, x: Tensor, rows: number, n: number): void {
  y.runtime.run("sumRowsAddF32", [y.ptr, x.ptr, rows, n], Math.ceil(n / 32), 8 * rows);
}

function checkShapes(x: Tensor, weight: Tensor, bias: Tensor | null): [number, number] {
  expectDType("linear", x, "f32", "x");
  expectDType("linear", weight, "f32", "weight");
  const [outputs, inputs] = weight.shape;
  if (weight.rank !== 2 || outputs === undefined || inputs === undefined)
    throw new ShapeError(`linear: weight must be [out, in], got ${showShape(weight.shape)}`);
  if (x.shape.at(-1) !== inputs)
    throw new ShapeError(
      `linear: the last axis of x must be as wide as the weight's, got x ${showShape(x.shape)} ` +
        `and weight ${showShape(weight.shape)}`,
    );
  if (bias) {
    expectDType("linear", bias, "f32", "bias");
    expectShape("linear", bias, [outputs], "bias");
    sameRuntime("linear", x, weight, bias);
  } else sameRuntime("linear", x, weight);
  return [outputs, inputs];
}
