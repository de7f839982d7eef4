import { expectDType, expectShape, sameRuntime } from "../tensor/check.js";
import { empty, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import {
  addWeightGradients,
  backInto,
  checkWeights,
  gateStride,
  type LstmWeights,
  packedGates,
  projectInto,
  projectionOf,
  runStep,
  runStepGrad,
  type StepStates,
  weightList,
} from "./lstm-weights.js";
import { recording, recordMany, wants } from "./tape.js";

export interface LstmCellResult {
  /** f32[B, H] */
  readonly hidden: Tensor;
  /** f32[B, H] */
  readonly cell: Tensor;
}

const WHO = "lstmCell";

/**
 * One step of an LSTM, for decoders: the same bits as that step inside lstmLayer.
 *
 * @param x        f32[B, I]
 * @param hidden   f32[B, H], the state before the step
 * @param cell     f32[B, H]
 * @param weights  in PyTorch's shapes and order of gates, i f g o
 * @returns the state after the step
 * @throws {ShapeError} the shapes above do not fit
 * @throws {DTypeError} an operand is not f32
 * @source Hochreiter & Schmidhuber 1997; torch.nn.LSTMCell
 * @example
 * ({ hidden, cell } = lstmCell(embedded, hidden, cell, weights));
 */
export function lstmCell(
  x: Tensor,
  hidden: Tensor,
  cell: Tensor,
  weights: LstmWeights,
): LstmCellResult {
  const { runtime } = x;
  expectShape(WHO, x, [null, null], "x");
  const units = checkWeights(WHO, x, weights);
  const rows = x.shape[0] as number;
  for (const [name, state] of Object.entries({ hidden, cell })) {
    sameRuntime(WHO, x, state);
    expectDType(WHO, state, "f32", name);
    expectShape(WHO, state, [rows, units], name);
  }

  const after = { hidden: empty(runtime, [rows, units]), cell: empty(runtime, [rows, units]) };
  const gates = empty(runtime, [rows, gateStride(units)]);
  const projection = projectionOf(weights);
  projectInto(gates.ptr, x.ptr, rows, projection);
  projection.bias.dispose();
  const states = (): StepStates => ({
    gates: gates.ptr,
    hidden: after.hidden.ptr,
    cell: after.cell.ptr,
    hiddenBefore: hidden.ptr,
    cellBefore: cell.ptr,
  });
  const scratch = empty(runtime, [rows, units]);
  runStep(runtime, packedGates(weights.weightHh), scratch.ptr, units, rows, states());
  scratch.dispose();

  const all = [x, hidden, cell, ...weightList(weights)];
  if (!recording(all)) {
    gates.dispose();
    return after;
  }
  recordMany(WHO, [after.hidden, after.cell], all, ([dHidden, dCell]) => {
    const dAfter = dHidden ?? zeros(runtime, [rows, units]);
    const dBefore = dCell ? copy(dCell) : zeros(runtime, [rows, units]);
    const dGates = empty(runtime, [rows, 4 * units]);
    const dState = { gates: dGates.ptr, hidden: dAfter.ptr, cell: dBefore.ptr };
    runStepGrad(runtime, units, rows, dState, states());
    addWeightGradients(weights, dGates, x, hidden, rows);
    const back = (input: Tensor, weight: Tensor): Tensor | null => {
      if (!wants(input)) return null;
      const dInput = empty(runtime, input.shape);
      backInto(dInput.ptr, dGates.ptr, rows, weight, "zero");
      return dInput;
    };
    const dx = back(x, weights.weightIh);
    const dHiddenBefore = back(hidden, weights.weightHh);
    return [dx, dHiddenBefore, wants(cell) ? dBefore : null, null, null, null, null];
  });
  return after;
}

function copy(x: Tensor): Tensor {
  const y = empty(x.runtime, x.shape);
  y.runtime.memory.f32(y.ptr, y.size).set(x.runtime.memory.f32(x.ptr, x.size));
  return y;
}
