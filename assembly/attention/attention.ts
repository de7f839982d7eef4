import { interleave } from "../gemm/pack-left";
import { PANEL, PANEL_ROW, TILE_ROWS, tileStart, tilesOf } from "../gemm/tile";
import { product } from "./product";
import { rowMax, rowSum } from "../reduce/rows";
import { rowExp } from "../softmax/rows";
import { expRowMarking, floats, scaleRow } from "./row";
import { clearHidden, dropRow, Rules } from "./rules";
import { padded, scoreTile } from "./scores";

/**
 * Scaled dot-product attention: y = softmax(q·kᵀ·scale + mask)·v, five queries at a time. A tile's
 * scores against all keys stand in scratch, so memory is linear in the number of keys; what lies
 * behind a tile's last visible key is not met at all.
 *
 * A unit owns a run of tiles and one block of scratch. The host chooses the number of units: no
 * bit of the result depends on it.
 *
 * @param y            out f32[heads, queries, valueWidth]
 * @param weights      out f32[heads, queries, keys], as they were applied; or 0: not wanted
 * @param stats        out f32[heads, queries, 2]: the shift and 1/sum of each softmax, for backward
 * @param scratch      5·(padded(keys) + padded(max(keys, width))) floats a unit, 16-byte aligned;
 *                     padded() is up to the next multiple of 32
 * @param q            f32[heads, queries, width]
 * @param keyPanels    the keys f32[heads, keys, width] through packHeadsTransposedF32
 * @param valuePanels  the values f32[heads, keys, valueWidth] through packHeadsF32
 * @param rules        see rules.ts
 * @param begin,end    units of [0, units)
 * @source Vaswani et al. 2017, arXiv:1706.03762, eq. 1
 */
export function attentionF32(
  y: usize,
  weights: usize,
  stats: usize,
  scratch: usize,
  q: usize,
  keyPanels: usize,
  valuePanels: usize,
  rules: usize,
  heads: i32,
  queries: i32,
  keys: i32,
  width: i32,
  valueWidth: i32,
  units: i32,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  const perHead = tilesOf(queries);
  const tiles = <i64>heads * perHead;
  const stride = padded(keys);
  const keyStep = floats(((keys + PANEL - 1) / PANEL) * PANEL * width);
  const valueStep = floats(((valueWidth + PANEL - 1) / PANEL) * PANEL * keys);
  const packedFloats = TILE_ROWS * padded(max(keys, width));
  for (let unit = begin; unit < end; unit++) {
    const packed = scratch + <usize>unit * floats(packedFloats + TILE_ROWS * stride);
    const scores = packed + floats(packedFloats);
    const stop = <i32>((<i64>(unit + 1) * tiles) / units);
    for (let t = <i32>((<i64>unit * tiles) / units); t < stop; t++) {
      const head = t / perHead;
      // Tiles come from both ends by turns: with a causal mask each run of them costs the same.
      const place = t % perHead;
      const tile = place & 1 ? perHead - 1 - (place >> 1) : place >> 1;
      const first = tileStart(tile, queries);
      const row = head * queries + first;
      attentionTile(
        y + <usize>row * floats(valueWidth),
        weights ? weights + <usize>row * floats(keys) : 0,
        stats + <usize>row * 8,
        packed,
        scores,
        q + <usize>row * floats(width),
        keyPanels + <usize>head * keyStep,
        valuePanels + <usize>head * valueStep,
        changetype<Rules>(rules),
        head,
        first,
        tileStart(tile + 1, queries) - first,
        queries,
        keys,
        width,
        valueWidth,
        stride,
        scale,
      );
    }
  }
}

/** One tile: up to five queries of one head. */
function attentionTile(
  y: usize,
  weights: usize,
  stats: usize,
  packed: usize,
  scores: usize,
  q: usize,
  keyPanels: usize,
  valuePanels: usize,
  rules: Rules,
  head: i32,
  first: i32,
  rows: i32,
  queries: i32,
  keys: i32,
  width: i32,
  valueWidth: i32,
  stride: i32,
  scale: f32,
): void {
  // 1. scores
  const met = scoreTile(
    scores,
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
  // 2. exponentials and their sums; the division waits for step 4
  for (let row = 0; row < rows; row++) {
    const at = scores + floats(row * stride);
    softrowMax(at, stats + <usize>row * 8, padded(met), rules.selecting);
    dropRow(rules, at, head * queries + first + row, keys, met);
  }
  // 3. weights · values
  interleave(packed, scores, rows, met, floats(stride), 1);
  product(
    y,
    packed,
    valuePanels,
    rows,
    valueWidth,
    met,
    floats(valueWidth),
    floats(rows),
    <usize>keys * PANEL_ROW,
    rules.selecting,
  );
  // 4. one over the sum
  for (let row = 0; row < rows; row++) {
    const factor = load<f32>(stats + <usize>row * 8, 4);
    const at = y + floats(row * valueWidth);
    scaleRow(at, at, valueWidth, factor);
    if (weights) {
      const to = weights + <usize>row * floats(keys);
      const from = scores + floats(row * stride);
      scaleRow(to, from, met, factor);
      if (rules.selecting) clearHidden(to, from, met);
      memory.fill(to + floats(met), 0, floats(keys - met));
    }
  }
}

/**
 * Scores become e^(score − shift) in place, and stats [shift, 1/sum]. The shift is the largest
 * score; a row with nothing to see has shift and 1/sum 0, so that all that follows is 0.
 */
function softrowMax(scores: usize, stats: usize, n: i32, selecting: i32): void {
  const largest = rowMax(scores, n);
  const shift: f32 = largest == -Infinity ? 0 : largest;
  if (selecting) expRowMarking(scores, n, shift);
  else rowExp(scores, scores, n, shift);
  const sum = rowSum(scores, n);
  store<f32>(stats, shift);
  store<f32>(stats, sum == 0 ? 0 : 1 / sum, 4);
}
