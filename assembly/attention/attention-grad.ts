/**
 * The way back through attention, in memory linear in the number of keys. The host goes over the
 * queries in blocks of constant height, upwards. For each block attentionGradScoresF32 computes
 * the weights again from the saved shift and 1/sum, and leaves two matrices [rows, keys] a head:
 *
 *   applied  the weights as they were applied, after dropout
 *   dScores  the gradient of the scores, times scale
 *
 * and the block's dq; then attentionGradKeysF32 adds appliedᵀ·dy to dv and dScoresᵀ·q to dk. So a
 * sum over queries is the sum of its blocks, upwards, and so the same for every cut.
 */
import { interleave } from "../gemm/pack-left";
import { PANEL, PANEL_ROW, TILE_ROWS, tileStart, tilesOf } from "../gemm/tile";
import { product } from "./product";
import { rowDot } from "../reduce/rows";
import { rowExp } from "../softmax/rows";
import { addRow, expRowMarking, floats, scaleRow } from "./row";
import { clearHidden, copyHidden, dropRow, HIDDEN, Rules, scaleShown } from "./rules";
import { padded, scoreTile } from "./scores";

/**
 * Weights, gradients of scores and of queries for one block of rows of some heads. With
 * dw = dropout(dy·vᵀ + dWeights): dScores = scale·w·(dw − Σ w·dw), dq = dScores·k.
 *
 * @param dq           out f32[all heads, queries, width]: the block's rows of these heads
 * @param applied      out f32[heads, rows, padded(keys)]
 * @param dScores      out f32[heads, rows, padded(keys)]
 * @param scratch      5·padded(max(keys, width, valueWidth)) floats a unit
 * @param q            f32[all heads, queries, width]
 * @param keyPanels    all keys through packHeadsTransposedF32
 * @param valuePanels  all values through packHeadsTransposedF32
 * @param keyRows      all keys through packHeadsF32
 * @param dy           f32[all heads, queries, valueWidth]
 * @param dWeights     f32[all heads, queries, keys], or 0: none
 * @param stats        from attentionF32
 * @param rules        as in attentionF32
 * @param begin,end    units of [0, units): runs of tiles, as in attentionF32
 */
export function attentionGradScoresF32(
  dq: usize,
  applied: usize,
  dScores: usize,
  scratch: usize,
  q: usize,
  keyPanels: usize,
  valuePanels: usize,
  keyRows: usize,
  dy: usize,
  dWeights: usize,
  stats: usize,
  rules: usize,
  firstHead: i32,
  heads: i32,
  firstRow: i32,
  rows: i32,
  queries: i32,
  keys: i32,
  width: i32,
  valueWidth: i32,
  units: i32,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  const perHead = tilesOf(rows);
  const tiles = <i64>heads * perHead;
  const stride = padded(keys);
  for (let unit = begin; unit < end; unit++) {
    const packed = scratch + <usize>unit * floats(gradScratch(keys, width, valueWidth));
    const stop = <i32>((<i64>(unit + 1) * tiles) / units);
    for (let t = <i32>((<i64>unit * tiles) / units); t < stop; t++) {
      const head = firstHead + t / perHead;
      const tile = t % perHead;
      const first = tileStart(tile, rows);
      const row = head * queries + firstRow + first;
      const at = <usize>((t / perHead) * rows + first) * floats(stride);
      gradTile(
        dq + <usize>row * floats(width),
        applied + at,
        dScores + at,
        packed,
        q + <usize>row * floats(width),
        keyPanels + <usize>head * rowPanels(width, keys),
        valuePanels + <usize>head * rowPanels(valueWidth, keys),
        keyRows + <usize>head * rowPanels(keys, width),
        dy + <usize>row * floats(valueWidth),
        dWeights ? dWeights + <usize>row * floats(keys) : 0,
        stats + <usize>row * 8,
        changetype<Rules>(rules),
        head,
        firstRow + first,
        tileStart(tile + 1, rows) - first,
        row,
        keys,
        width,
        valueWidth,
        stride,
        scale,
      );
    }
  }
}

/** One tile: up to five queries of one head. `firstOfAll` numbers its rows among all heads. */
function gradTile(
  dq: usize,
  applied: usize,
  dScores: usize,
  packed: usize,
  q: usize,
  keyPanels: usize,
  valuePanels: usize,
  keyRows: usize,
  dy: usize,
  dWeights: usize,
  stats: usize,
  rules: Rules,
  head: i32,
  first: i32,
  rows: i32,
  firstOfAll: i32,
  keys: i32,
  width: i32,
  valueWidth: i32,
  stride: i32,
  scale: f32,
): void {
  const step = floats(stride);
  const packedStep = floats(rows);
  // 1. the scores, as forward computed them
  const met = scoreTile(
    applied,
    packed,
    q,
    keyPanels,
    rules,
    head,
    first,
    rows,
    keys,
    width,
    stride,
    scale,
  );
  // 2. dy·vᵀ
  const columns = (met + PANEL - 1) & ~(PANEL - 1);
  interleave(packed, dy, rows, valueWidth, floats(valueWidth), 1);
  product(
    dScores,
    packed,
    valuePanels,
    rows,
    columns,
    valueWidth,
    step,
    packedStep,
    <usize>valueWidth * PANEL_ROW,
    0,
  );
  // 3. weights and the gradient of the scores, row by row
  for (let row = 0; row < rows; row++) {
    const at = <usize>row * step;
    gradRow(
      applied + at,
      dScores + at,
      dWeights ? dWeights + <usize>row * floats(keys) : 0,
      stats + <usize>row * 8,
      rules,
      firstOfAll + row,
      keys,
      met,
      stride,
      scale,
    );
  }
  // 4. dq
  interleave(packed, dScores, rows, met, step, 1);
  product(
    dq,
    packed,
    keyRows,
    rows,
    width,
    met,
    floats(width),
    packedStep,
    <usize>keys * PANEL_ROW,
    rules.selecting,
  );
}

/** A row of scores becomes applied weights, a row of dy·vᵀ the gradient of the scores. */
function gradRow(
  applied: usize,
  dScores: usize,
  dWeights: usize,
  stats: usize,
  rules: Rules,
  row: i32,
  keys: i32,
  met: i32,
  stride: i32,
  scale: f32,
): void {
  const n = padded(met);
  const factor = load<f32>(stats, 4);
  if (rules.selecting) {
    expRowMarking(applied, n, load<f32>(stats));
    scaleShown(applied, n, factor);
  } else {
    rowExp(applied, applied, n, load<f32>(stats));
    scaleRow(applied, applied, n, factor);
  }

  if (dWeights) addRow(dScores, dWeights, met);
  dropRow(rules, dScores, row, keys, met);
  if (rules.selecting) clearHidden(dScores, applied, met);
  softmaxGradRow(dScores, applied, met, scale);
  if (rules.selecting) copyHidden(dScores, applied, met);
  dropRow(rules, applied, row, keys, met);

  hideRest(applied, met, stride, rules.selecting);
  hideRest(dScores, met, stride, rules.selecting);
}

/** What was not met reaches no sum: zeros, or the mark that the selecting products skip. */
function hideRest(row: usize, met: i32, stride: i32, selecting: i32): void {
  if (selecting) for (let j = met; j < stride; j++) store<i32>(row + floats(j), HIDDEN);
  else memory.fill(row + floats(met), 0, floats(stride - met));
}

/** dw becomes scale·w·(dw − Σ w·dw). */
function softmaxGradRow(dw: usize, w: usize, n: i32, scale: f32): void {
  const mean = f32x4.splat(rowDot(w, dw, n));
  const factor = f32x4.splat(scale);
  // In whole vectors: a row of scratch goes on to a multiple of 32.
  for (const stop = dw + floats(n); dw < stop; dw += 16) {
    const d = f32x4.sub(v128.load(dw), mean);
    v128.store(dw, f32x4.mul(f32x4.mul(v128.load(w), d), factor));
    w += 16;
  }
}

/**
 * dk += dScoresᵀ·q and dv += appliedᵀ·dy over one block of rows of some heads: the block's sum,
 * rows upwards, is added to what stands there.
 *
 * @param dk         in and out f32[all heads, keys, width]
 * @param dv         in and out f32[all heads, keys, valueWidth]
 * @param scratch    5·padded(max(keys, width, valueWidth)) floats a unit
 * @param applied    f32[heads, rows, padded(keys)] of attentionGradScoresF32
 * @param dScores    f32[heads, rows, padded(keys)]
 * @param queryRows  all queries through packHeadsF32
 * @param dyRows     dy through packHeadsF32
 * @param rules      as in attentionF32
 * @param begin,end  units of [0, units): runs of tiles of at most five keys
 */
export function attentionGradKeysF32(
  dk: usize,
  dv: usize,
  scratch: usize,
  applied: usize,
  dScores: usize,
  queryRows: usize,
  dyRows: usize,
  rules: usize,
  firstHead: i32,
  heads: i32,
  firstRow: i32,
  rows: i32,
  queries: i32,
  keys: i32,
  width: i32,
  valueWidth: i32,
  units: i32,
  begin: i32,
  end: i32,
): void {
  const perHead = tilesOf(keys);
  const tiles = <i64>heads * perHead;
  const step = floats(padded(keys));
  const panelStep = <usize>queries * PANEL_ROW;
  const shift = changetype<Rules>(rules).shift;
  const selecting = changetype<Rules>(rules).selecting;
  for (let unit = begin; unit < end; unit++) {
    const sum = scratch + <usize>unit * floats(gradScratch(keys, width, valueWidth));
    const stop = <i32>((<i64>(unit + 1) * tiles) / units);
    for (let t = <i32>((<i64>unit * tiles) / units); t < stop; t++) {
      const local = t / perHead;
      const tile = t % perHead;
      const key = tileStart(tile, keys);
      const height = tileStart(tile + 1, keys) - key;
      // Rows that cannot see the tile's first key see none of it.
      const hidden = max(0, min(rows, key - shift - firstRow));
      const at = <usize>(local * rows + hidden) * step + floats(key);
      const head = firstHead + local;
      const keyRow = <usize>(head * keys + key);
      const panelStart = <usize>(firstRow + hidden) * PANEL_ROW;
      addColumns(
        dk + keyRow * floats(width),
        sum,
        dScores + at,
        queryRows + <usize>head * rowPanels(queries, width) + panelStart,
        height,
        width,
        rows - hidden,
        step,
        panelStep,
        selecting,
      );
      addColumns(
        dv + keyRow * floats(valueWidth),
        sum,
        applied + at,
        dyRows + <usize>head * rowPanels(queries, valueWidth) + panelStart,
        height,
        valueWidth,
        rows - hidden,
        step,
        panelStep,
        selecting,
      );
    }
  }
}

/** to += aᵀ·B for `height` columns of a row-major a. */
function addColumns(
  to: usize,
  sum: usize,
  a: usize,
  panels: usize,
  height: i32,
  width: i32,
  depth: i32,
  step: usize,
  panelStep: usize,
  selecting: i32,
): void {
  product(sum, a, panels, height, width, depth, floats(width), step, panelStep, selecting);
  addRow(to, sum, height * width);
}

/** Floats of scratch a unit. */
// @ts-ignore: decorator
@inline
function gradScratch(keys: i32, width: i32, valueWidth: i32): i32 {
  return TILE_ROWS * padded(max(keys, max(width, valueWidth)));
}

/** Bytes of a head of [rows, columns] through packHeadsF32, of [columns, rows] transposed. */
// @ts-ignore: decorator
@inline
function rowPanels(rows: i32, columns: i32): usize {
  return floats(((columns + PANEL - 1) / PANEL) * PANEL * rows);
}
