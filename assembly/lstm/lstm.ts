/**
 * The steps of an LSTM over rows that all run at once; src/ops/lstm-order.ts says which rows those
 * are. Units go in groups of eight, so that one part of the range holds all four gates of its
 * units and one dispatch a step is enough:
 *
 *   gates   | group 0: i 8 | f 8 | g 8 | o 8 | group 1: i 8 | … | gap |   32·⌈units/8⌉ + 16 floats
 *   states  | unit 0 | unit 1 | …                                         units floats
 *
 * Without the gap the rows of 256 units would lie 4 KiB apart, in one set of the first cache, and
 * the products would take a tenth longer (bench/lstm.bench.ts). Gates of missing units in the last
 * group come from zero weights and are not used. Gradients of the gates leave in PyTorch's order, [i | f | g | o] of `units` each, ready for the
 * products with the weights as they are.
 */
import { loadFirst4, storeFirst4 } from "../gemm/lanes";
import { PANEL, PANEL_ROW, tileRows, tileStart, tilesOf, tileWide } from "../gemm/tile";
import { madd4 } from "../math/madd";
import { tanh4 } from "../math/tanh";

/**
 * One step, the recurrent product and the cell in one:
 *
 *   (i, f, g, o) = (σ, σ, tanh, σ)(gates + hiddenBefore·W_hhᵀ)
 *   cell = f·cellBefore + i·g,   hidden = o·tanh(cell)
 *
 * `gates` comes in as x·W_ihᵀ + biases and leaves activated, as backward reads it. `hidden` must
 * not overlap `left`; `cell` may be `cellBefore`.
 *
 * @param hidden, cell  f32[rows, units]
 * @param gates         f32[rows, ⌈units/8⌉, 4, 8], with the gap
 * @param left          hiddenBefore f32[rows, units] through packLeftF32
 * @param cellBefore    f32[rows, units]
 * @param panels        W_hh as lstmPackF32 leaves it
 * range: ⌈units/8⌉ groups
 */
export function lstmStepF32(
  hidden: usize,
  cell: usize,
  gates: usize,
  left: usize,
  cellBefore: usize,
  panels: usize,
  rows: i32,
  units: i32,
  begin: i32,
  end: i32,
): void {
  const stateStep = <usize>units << 2;
  const gateStep = gateBytes(units);
  for (let group = begin; group < end; group++) {
    const groupGates = gates + (<usize>group << 7);
    const groupPanels = panels + (<usize>group << 5) * stateStep;
    addProducts(groupGates, left, groupPanels, rows, units, gateStep);

    const count = units - (group << 3);
    let at = <usize>group << 5;
    let gate = groupGates;
    for (let row = 0; row < rows; row++) {
      updateFour(hidden + at, cell + at, gate, cellBefore + at, count);
      if (count > 4) {
        updateFour(hidden + at + 16, cell + at + 16, gate + 16, cellBefore + at + 16, count - 4);
      }
      at += stateStep;
      gate += gateStep;
    }
  }
}

/** Bytes between rows of gates. */
// @ts-ignore: decorator
@inline
function gateBytes(units: i32): usize {
  return (<usize>((units + 7) >> 3) << 7) + 64;
}

/** gates += hidden·panels for the four gates of one group; gateStep in bytes. */
function addProducts(
  gates: usize,
  left: usize,
  panels: usize,
  rows: i32,
  units: i32,
  gateStep: usize,
): void {
  const panelStep = <usize>units * PANEL_ROW;
  if (rows <= 2) {
    for (let row: usize = 0; row < <usize>rows; row++) {
      tileWide(gates + row * gateStep, left + (row << 2), panels, units, 1, panelStep, <usize>rows << 2);
    }
    return;
  }
  const tiles = tilesOf(rows);
  for (let gate: usize = 0; gate < 4; gate++) {
    for (let tile = 0; tile < tiles; tile++) {
      const row = tileStart(tile, rows);
      const height = tileStart(tile + 1, rows) - row;
      const c = gates + gate * PANEL_ROW + <usize>row * gateStep;
      const a = left + ((<usize>row * units) << 2);
      const panel = panels + gate * panelStep;
      tileRows(height, c, a, panel, units, PANEL, gateStep, 1, 4, <usize>height << 2);
    }
  }
}

/**
 * σ(x) = ½ + ½·tanh(x/2), within 2⁻²³ absolute: all that a gate needs, since the cell only adds its
 * products to others. Steps take a twentieth longer with sigmoid4, which is exact near 0 as well.
 */
// @ts-ignore: decorator
@inline
function gate4(x: v128): v128 {
  const half = f32x4.splat(0.5);
  return madd4(tanh4(f32x4.mul(x, half)), half, half);
}

/** The cell of four units, of which the first `left` exist: activates their gates in place. */
// @ts-ignore: decorator
@inline
function updateFour(hidden: usize, cell: usize, gates: usize, cellBefore: usize, left: i32): void {
  const i = gate4(v128.load(gates));
  const f = gate4(v128.load(gates, 32));
  const g = tanh4(v128.load(gates, 64));
  const o = gate4(v128.load(gates, 96));
  const c = madd4(f, loadLanes(cellBefore, left), f32x4.mul(i, g));
  storeLanes(cell, c, left);
  storeLanes(hidden, f32x4.mul(o, tanh4(c)), left);
  v128.store(gates, i);
  v128.store(gates, f, 32);
  v128.store(gates, g, 64);
  v128.store(gates, o, 96);
}

/**
 * Backward of one step's cell, with c = cell, c₀ = cellBefore and t = tanh c:
 *
 *   dc = dCell + dHidden·o·(1 − t²)
 *   dGates = (dc·g·i·(1 − i), dc·c₀·f·(1 − f), dc·i·(1 − g²), dHidden·t·o·(1 − o))
 *   dCell = dc·f
 *
 * @param dGates   f32[rows, 4, units]
 * @param dCell    f32[rows, units]; comes in after the step, leaves before it
 * @param dHidden  f32[rows, units]
 * @param gates, cell, cellBefore  as lstmStepF32 left them
 * range: ⌈units/8⌉ groups
 */
export function lstmStepGradF32(
  dGates: usize,
  dCell: usize,
  dHidden: usize,
  gates: usize,
  cell: usize,
  cellBefore: usize,
  rows: i32,
  units: i32,
  begin: i32,
  end: i32,
): void {
  const step = <usize>units << 2;
  const gateStep = gateBytes(units);
  // Fours of units: two a group, and none that lies wholly behind the last unit.
  const last = min(end << 1, (units + 3) >> 2);
  for (let four = begin << 1; four < last; four++) {
    const left = units - (four << 2);
    const first = <usize>four << 4;
    const gate = gates + (<usize>(four >> 1) << 7) + (<usize>(four & 1) << 4);
    for (let row: usize = 0; row < <usize>rows; row++) {
      const at = row * step + first;
      gradFour(
        dGates + row * step * 4 + first,
        step,
        dCell + at,
        dHidden + at,
        gate + row * gateStep,
        cell + at,
        cellBefore + at,
        left,
      );
    }
  }
}

/** lstmStepGradF32 for four units, of which the first `left` exist; `step` bytes between dGates. */
// @ts-ignore: decorator
@inline
function gradFour(
  dGates: usize,
  step: usize,
  dCell: usize,
  dHidden: usize,
  gates: usize,
  cell: usize,
  cellBefore: usize,
  left: i32,
): void {
  const dh = loadLanes(dHidden, left);
  const i = v128.load(gates);
  const f = v128.load(gates, 32);
  const g = v128.load(gates, 64);
  const o = v128.load(gates, 96);
  const t = tanh4(loadLanes(cell, left));
  const dc = madd4(f32x4.mul(dh, o), oneMinus(f32x4.mul(t, t)), loadLanes(dCell, left));
  const dcf = f32x4.mul(dc, f);
  const di = f32x4.mul(f32x4.mul(dc, g), f32x4.mul(i, oneMinus(i)));
  const df = f32x4.mul(f32x4.mul(dcf, loadLanes(cellBefore, left)), oneMinus(f));
  const dg = f32x4.mul(f32x4.mul(dc, i), oneMinus(f32x4.mul(g, g)));
  const dO = f32x4.mul(f32x4.mul(dh, t), f32x4.mul(o, oneMinus(o)));
  storeLanes(dCell, dcf, left);
  storeLanes(dGates, di, left);
  storeLanes(dGates + step, df, left);
  storeLanes(dGates + step * 2, dg, left);
  storeLanes(dGates + step * 3, dO, left);
}

// @ts-ignore: decorator
@inline
function oneMinus(x: v128): v128 {
  return f32x4.sub(f32x4.splat(1), x);
}

// @ts-ignore: decorator
@inline
function loadLanes(p: usize, left: i32): v128 {
  return left >= 4 ? v128.load(p) : loadFirst4(p, left);
}

// @ts-ignore: decorator
@inline
function storeLanes(p: usize, x: v128, left: i32): void {
  if (left >= 4) v128.store(p, x);
  else storeFirst4(p, x, left);
}
