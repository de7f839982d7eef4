import { IndexError } from "../errors.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape, sameRuntime } from "../tensor/check.js";
import { empty, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { chunksOf, type LstmOrder, lstmOrder } from "./lstm-order.js";
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
  weightList,
} from "./lstm-weights.js";
import { recording, recordMany, wants } from "./tape.js";

export type { LstmWeights } from "./lstm-weights.js";

export interface LstmLayerOptions {
  /** f32[B, H], the state before the first step; zeros by default */
  readonly hidden?: Tensor;
  /** f32[B, H], likewise */
  readonly cell?: Tensor;
  /** i32[B]: row b runs its first lengths[b] steps, 0 … L; all L by default */
  readonly lengths?: Tensor;
  /** Runs from each row's own end to its start. */
  readonly reverse?: boolean;
}

export interface LstmLayerResult {
  /** f32[B, L, H], in the order of x in either direction; zeros behind a row's length */
  readonly output: Tensor;
  /** f32[B, H], the state after each row's own last step; the one it began with when it has none */
  readonly hidden: Tensor;
  readonly cell: Tensor;
}

const WHO = "lstmLayer";
/**
 * Rows whose inputs are projected together: sixteen blocks of gemm. Their inputs and gates stay in
 * the second cache, and inference needs no memory for the gates of a whole sequence.
 */
const CHUNK_ROWS = 640;

/** What backward reads: rows in packed order, and the states of all steps behind the initial ones. */
interface Saved {
  readonly order: LstmOrder;
  readonly x: Tensor;
  readonly gates: Tensor;
  readonly hidden: Tensor;
  readonly cell: Tensor;
}

/**
 * One layer and direction of an LSTM over a padded batch:
 *
 *   (i, f, g, o) = (σ, σ, tanh, σ)(x·W_ihᵀ + b_ih + h·W_hhᵀ + b_hh)
 *   c ← f·c + i·g,   h ← o·tanh c
 *
 * A row has the same bits alone and unpadded as in any batch, and padding is never read.
 *
 * @param x        f32[B, L, I]
 * @param weights  in PyTorch's shapes and order of gates, i f g o
 * @throws {ShapeError} the shapes above do not fit
 * @throws {DTypeError} lengths are not i32, or another operand is not f32
 * @throws {IndexError} a length lies outside 0 … L
 * @source Hochreiter & Schmidhuber 1997; forget gate: Gers et al. 2000; both biases: torch.nn.LSTM
 * @example
 * const { output, hidden, cell } = lstmLayer(x, weights, { lengths });
 */
export function lstmLayer(
  x: Tensor,
  weights: LstmWeights,
  options: LstmLayerOptions = {},
): LstmLayerResult {
  const { runtime } = x;
  const { hidden: hidden0 = null, cell: cell0 = null } = options;
  expectShape(WHO, x, [null, null, null], "x");
  const units = checkWeights(WHO, x, weights);
  const [batch, steps] = x.shape as [number, number, number];
  checkState(x, hidden0, [batch, units], "hidden");
  checkState(x, cell0, [batch, units], "cell");
  const lengths = lengthsOf(options.lengths, x, batch, steps);

  const states = [hidden0, cell0].filter((state) => state !== null);
  const inputs = [x, ...weightList(weights), ...states];
  const keep = recording(inputs);
  const { result, saved } = runtime.scope(() => {
    const order = lstmOrder(runtime, lengths, steps, options.reverse ?? false);
    const ran = forward(x, weights, order, hidden0, cell0, keep);
    return { result: ran.result, saved: keep ? ran.saved : null };
  });
  if (saved) {
    const { output, hidden, cell } = result;
    recordMany(WHO, [output, hidden, cell], inputs, ([dOutput, dHidden, dCell]) => {
      const gradients = { output: dOutput ?? null, hidden: dHidden ?? null, cell: dCell ?? null };
      const before = backward(x, weights, saved, gradients, hidden0 !== null && wants(hidden0));
      const dStates = [
        ...(hidden0 ? [wants(hidden0) ? before.hidden : null] : []),
        ...(cell0 ? [wants(cell0) ? before.cell : null] : []),
      ];
      return [before.x, null, null, null, null, ...dStates];
    });
  }
  return result;
}

function forward(
  x: Tensor,
  weights: LstmWeights,
  order: LstmOrder,
  hidden0: Tensor | null,
  cell0: Tensor | null,
  keep: boolean,
): { result: LstmLayerResult; saved: Saved } {
  const { runtime } = x;
  const { batch, total } = order;
  const [, steps, inputs] = x.shape as [number, number, number];
  const units = weights.weightHh.shape[1] as number;
  const stride = gateStride(units);
  const bytes = units * 4;
  const projection = projectionOf(weights);
  const panels = packedGates(weights.weightHh);
  const chunks = chunksOf(order, CHUNK_ROWS);

  // Inputs, gates and cells of all steps are only kept for backward.
  const room = keep ? total : chunks.reduce((most, chunk) => Math.max(most, chunk.rows), 0);
  const packed = empty(runtime, [room, inputs]);
  const gates = empty(runtime, [room, stride]);
  const hidden = empty(runtime, [batch + total, units]);
  const cell = empty(runtime, [keep ? batch + total : batch, units]);
  const scratch = empty(runtime, [batch, units]);
  startFrom(hidden, hidden0, order);
  startFrom(cell, cell0, order);
  const at = { packed: packed.ptr, gates: gates.ptr, hidden: hidden.ptr, cell: cell.ptr };

  for (const chunk of chunks) {
    // 1. inputs of many steps at once
    const first = keep ? 0 : chunk.packed; // of the packed rows there is room for
    const input = at.packed + (chunk.packed - first) * inputs * 4;
    const positions = order.positionOf.ptr + chunk.packed * 4;
    gatherRows(runtime, input, x.ptr, positions, chunk.rows, inputs);
    projectInto(at.gates + (chunk.packed - first) * stride * 4, input, chunk.rows, projection);
    // 2. step by step
    for (const step of chunk.steps)
      runStep(runtime, panels, scratch.ptr, units, step.rows, {
        gates: at.gates + (step.packed - first) * stride * 4,
        hidden: at.hidden + step.after * bytes,
        cell: at.cell + (keep ? step.after : 0) * bytes,
        hiddenBefore: at.hidden + step.before * bytes,
        cellBefore: at.cell + (keep ? step.before : 0) * bytes,
      });
  }

  // 3. back into the order of the batch
  const result = {
    output: empty(runtime, [batch, steps, units]),
    hidden: empty(runtime, [batch, units]),
    cell: empty(runtime, [batch, units]),
  };
  gather(result.output.ptr, hidden.ptr + batch * bytes, order.packedOf, units);
  gather(result.hidden.ptr, hidden.ptr, order.last, units);
  gather(result.cell.ptr, cell.ptr, keep ? order.last : order.rankOf, units);
  return { result, saved: { order, x: packed, gates, hidden, cell } };
}

/** Adds the gradients of the weights in place. @returns those of x and of the initial states */
function backward(
  x: Tensor,
  weights: LstmWeights,
  saved: Saved,
  gradients: { output: Tensor | null; hidden: Tensor | null; cell: Tensor | null },
  wantsHidden: boolean,
): { x: Tensor | null; hidden: Tensor; cell: Tensor } {
  const { runtime } = x;
  const { order, gates, hidden, cell } = saved;
  const { batch, total } = order;
  const { weightIh, weightHh } = weights;
  const [columns, units] = weightHh.shape as [number, number];
  const bytes = units * 4;

  // 1. what comes from above, in the order of the states
  const dHidden = zeros(runtime, [batch + total, units]);
  if (gradients.output)
    gather(dHidden.ptr + batch * bytes, gradients.output.ptr, order.positionOf, units);
  if (gradients.hidden)
    runtime.run(
      "lstmScatterAddF32",
      [dHidden.ptr, gradients.hidden.ptr, order.last.ptr, units],
      batch,
      units,
    );
  const dCell = empty(runtime, [batch, units]); // of the rows that are still running, by rank
  startFrom(dCell, gradients.cell, order);

  // 2. the steps, from the last to the first
  const dGates = empty(runtime, [total, columns]);
  const from = { gates: gates.ptr, cell: cell.ptr };
  const to = { gates: dGates.ptr, hidden: dHidden.ptr, cell: dCell.ptr };
  for (const { rows, packed, before, after } of order.steps.toReversed()) {
    const dStep = {
      gates: to.gates + packed * columns * 4,
      hidden: to.hidden + after * bytes,
      cell: to.cell,
    };
    runStepGrad(runtime, units, rows, dStep, {
      gates: from.gates + packed * gateStride(units) * 4,
      cell: from.cell + after * bytes,
      cellBefore: from.cell + before * bytes,
    });
    if (packed > 0 || wantsHidden)
      backInto(to.hidden + before * bytes, dStep.gates, rows, weightHh, "c");
  }

  // 3. weights and x, as products over all steps
  const hiddenBefore = empty(runtime, [total, units]);
  gather(hiddenBefore.ptr, hidden.ptr, order.before, units);
  addWeightGradients(weights, dGates, saved.x, hiddenBefore, total);
  const before = { hidden: empty(runtime, [batch, units]), cell: empty(runtime, [batch, units]) };
  gather(before.hidden.ptr, dHidden.ptr, order.rankOf, units);
  gather(before.cell.ptr, dCell.ptr, order.rankOf, units);
  if (!wants(x)) return { x: null, ...before };
  const dRows = empty(runtime, saved.x.shape);
  backInto(dRows.ptr, dGates.ptr, total, weightIh, "zero");
  const dx = empty(runtime, x.shape);
  gather(dx.ptr, dRows.ptr, order.packedOf, x.shape[2] as number);
  return { x: dx, ...before };
}

/** The first rows of a state, by rank: what was given, or zeros. */
function startFrom(state: Tensor, given: Tensor | null, order: LstmOrder): void {
  const { runtime } = state;
  const units = state.shape[1] as number;
  if (given) gather(state.ptr, given.ptr, order.batchOf, units);
  else runtime.memory.f32(state.ptr, order.batch * units).fill(0);
}

/** y[r] = x[index[r]], zeros where the index is −1. */
function gather(y: number, x: number, index: Tensor, n: number): void {
  gatherRows(index.runtime, y, x, index.ptr, index.size, n);
}

function gatherRows(
  runtime: Runtime,
  y: number,
  x: number,
  index: number,
  rows: number,
  n: number,
): void {
  runtime.run("lstmGatherF32", [y, x, index, n], rows, n / 2);
}

function checkState(x: Tensor, state: Tensor | null, shape: number[], name: string): void {
  if (!state) return;
  sameRuntime(WHO, x, state);
  expectDType(WHO, state, "f32", name);
  expectShape(WHO, state, shape, name);
}

function lengthsOf(
  lengths: Tensor | undefined,
  x: Tensor,
  batch: number,
  steps: number,
): ArrayLike<number> {
  if (!lengths) return new Int32Array(batch).fill(steps);
  sameRuntime(WHO, x, lengths);
  expectDType(WHO, lengths, "i32", "lengths");
  expectShape(WHO, lengths, [batch], "lengths");
  const values = lengths.read();
  const wrong = values.find((length) => length < 0 || length > steps);
  if (wrong !== undefined)
    throw new IndexError(`${WHO}: each length must lie within 0 … ${steps}, got ${wrong}`);
  return values;
}
