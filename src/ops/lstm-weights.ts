import { ShapeError } from "../errors.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape, sameRuntime, showShape } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { packed, packLeftInto } from "./packing.js";
import { type Matrix, multiplyAdd, multiplyPanels, type Start } from "./product.js";
import { gradientOf } from "./tape.js";

/** One layer and direction, as torch.nn.LSTM has it: gates in the order i, f, g, o. */
export interface LstmWeights {
  /** f32[4H, I] */
  readonly weightIh: Tensor;
  /** f32[4H, H] */
  readonly weightHh: Tensor;
  /** f32[4H] */
  readonly biasIh: Tensor;
  /** f32[4H] */
  readonly biasHh: Tensor;
}

// As in assembly/lstm: units of a group, floats behind a row of gates.
const GROUP = 8;
const GAP = 16;
/** The five activations of a unit, in the steps that run() counts. */
const CELL_COST = 60;

/** The weights as a list: inputs of the tape. */
export function weightList(weights: LstmWeights): Tensor[] {
  return [weights.weightIh, weights.weightHh, weights.biasIh, weights.biasHh];
}

/** Checks x's width and the four weights against each other. @returns H */
export function checkWeights(who: string, x: Tensor, weights: LstmWeights): number {
  const { weightIh, weightHh, biasIh, biasHh } = weights;
  sameRuntime(who, x, ...weightList(weights));
  expectDType(who, x, "f32", "x");
  for (const [name, weight] of Object.entries({ weightIh, weightHh, biasIh, biasHh }))
    expectDType(who, weight, "f32", name);
  const units = weightHh.shape[1];
  if (weightHh.rank !== 2 || units === undefined || weightHh.shape[0] !== 4 * units)
    throw new ShapeError(`${who}: weightHh must be [4H, H], got ${showShape(weightHh.shape)}`);
  const inputs = x.shape.at(-1) ?? 0;
  expectShape(who, weightIh, [4 * units, inputs], "weightIh");
  expectShape(who, biasIh, [4 * units], "biasIh");
  expectShape(who, biasHh, [4 * units], "biasHh");
  return units;
}

/** Floats between rows of gates: whole groups and a gap (assembly/lstm/lstm.ts says why). */
export function gateStride(units: number): number {
  return gateColumns(units) + GAP;
}

function gateColumns(units: number): number {
  return groups(units) * 4 * GROUP;
}

/** W_ih and both biases, as projectInto() takes them; valid until the scope ends or W_ih is written. */
export interface Projection {
  readonly panels: number;
  readonly bias: Tensor;
  readonly inputs: number;
  readonly units: number;
}

export function projectionOf({ weightIh, biasIh, biasHh }: LstmWeights): Projection {
  const { runtime } = weightIh;
  const [gates, inputs] = weightIh.shape as [number, number];
  const units = gates / 4;
  const panels = packedGates(weightIh);
  const bias = empty(runtime, [gateColumns(units)]);
  runtime.run(
    "lstmPackBiasF32",
    [bias.ptr, biasIh.ptr, biasHh.ptr, units],
    4 * groups(units),
    4 * GROUP,
  );
  return { panels, bias, inputs, units };
}

/** gates = x·W_ihᵀ + both biases for many rows at once, in the kernels' order of gates. */
export function projectInto(gates: number, x: number, rows: number, by: Projection): void {
  const { panels, bias, inputs, units } = by;
  const columns = gateColumns(units);
  const input: Matrix = { address: x, rows, columns: inputs };
  const start: Start = { bias: bias.ptr };
  multiplyPanels(bias.runtime, gates, input, panels, columns, start, gateStride(units));
}

/** Addresses of the gates of a step and of the state rows it reads and writes. */
export interface StepStates {
  readonly gates: number;
  readonly hidden: number;
  readonly cell: number;
  readonly hiddenBefore: number;
  readonly cellBefore: number;
}

/** Addresses of a step's gradients; cell comes in after the step and leaves before it. */
export interface StepGradients {
  readonly gates: number;
  readonly hidden: number;
  readonly cell: number;
}

/**
 * One step of `rows` rows: gates become activated gates, the states move on.
 *
 * @param panels   W_hh from packedGates()
 * @param scratch  rows·units floats
 */
export function runStep(
  runtime: Runtime,
  panels: number,
  scratch: number,
  units: number,
  rows: number,
  { gates, hidden, cell, hiddenBefore, cellBefore }: StepStates,
): void {
  const left = packLeftInto(runtime, scratch, hiddenBefore, rows, units, "rows");
  runtime.run(
    "lstmStepF32",
    [hidden, cell, gates, left, cellBefore, panels, rows, units],
    groups(units),
    rows * GROUP * (2 * units + CELL_COST),
  );
}

/** Backward of one step's cell; the product with W_hh is left to the caller. */
export function runStepGrad(
  runtime: Runtime,
  units: number,
  rows: number,
  gradients: StepGradients,
  { gates, cell, cellBefore }: Pick<StepStates, "gates" | "cell" | "cellBefore">,
): void {
  runtime.run(
    "lstmStepGradF32",
    [gradients.gates, gradients.cell, gradients.hidden, gates, cell, cellBefore, rows, units],
    groups(units),
    rows * GROUP * (CELL_COST / 2),
  );
}

/** dx = start + dGates·weight, dGates f32[rows, 4H]. */
export function backInto(
  dx: number,
  dGates: number,
  rows: number,
  weight: Tensor,
  start: Start,
): void {
  const [columns, width] = weight.shape as [number, number];
  const product: Matrix = { address: dGates, rows, columns };
  multiplyPanels(weight.runtime, dx, product, packed(weight, "rows"), width, start);
}

/** Adds what `rows` rows give to the gradients of those weights that want one. */
export function addWeightGradients(
  weights: LstmWeights,
  dGates: Tensor,
  x: Tensor,
  hiddenBefore: Tensor,
  rows: number,
): void {
  const { runtime } = dGates;
  const { weightIh, weightHh, biasIh, biasHh } = weights;
  const gates = weightIh.shape[0] as number;
  const dRows: Matrix = { address: dGates.ptr, rows, columns: gates, transposed: true };
  for (const [weight, input] of [
    [weightIh, x],
    [weightHh, hiddenBefore],
  ] as const) {
    const gradient = gradientOf(weight);
    const columns = weight.shape[1] as number;
    if (gradient) multiplyAdd(runtime, gradient.ptr, dRows, { address: input.ptr, rows, columns });
  }
  for (const bias of [biasIh, biasHh]) {
    const gradient = gradientOf(bias);
    if (gradient)
      runtime.run(
        "sumRowsAddF32",
        [gradient.ptr, dGates.ptr, rows, gates],
        Math.ceil(gates / 32),
        8 * rows,
      );
  }
}

/** A weight [4H, k] in the panels the kernels want, kept beside it and packed anew when it changed. */
export function packedGates(weight: Tensor): number {
  const { runtime, storage, version } = weight;
  const [rows, k] = weight.shape as [number, number];
  const units = rows / 4;
  const key = `gates ${rows} ${k}`;
  const found = storage.caches.get(key);
  if (found?.version === version) return found.address;
  const address = found?.address ?? runtime.memory.allocate(gateColumns(units) * k * 4);
  storage.caches.set(key, { address, version });
  runtime.run("lstmPackF32", [address, weight.ptr, units, k], 4 * groups(units), 4 * k);
  return address;
}

function groups(units: number): number {
  return Math.ceil(units / GROUP);
}
