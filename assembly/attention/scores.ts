import { interleave } from "../gemm/pack-left";
import { PANEL, PANEL_ROW } from "../gemm/tile";
import { product } from "./product";
import { floats } from "./row";
import { hideScores, maskAt, Rules, visibleEnd } from "./rules";

/** A row of scratch for n keys holds whole groups of 32 floats. */
// @ts-ignore: decorator
@inline
export function padded(n: i32): i32 {
  return (n + 31) & ~31;
}

/**
 * The scores of one tile: rows of (scale·q)·kᵀ, masked, −∞ where hidden.
 *
 * @param scores     out, rows of `stride` floats
 * @param packed     scratch of rows·width floats
 * @param q          the tile's first query
 * @param keyPanels  the head's keys, packed transposed
 * @param first      the tile's first query, by number
 * @returns how many keys the tile meets; each row is filled to padded() of that
 */
export function scoreTile(
  scores: usize,
  packed: usize,
  q: usize,
  keyPanels: usize,
  rules: Rules,
  head: i32,
  first: i32,
  rows: i32,
  keys: i32,
  width: i32,
  stride: i32,
  scale: f32,
): i32 {
  // 1. which keys come in at all
  let met = 0;
  for (let row = 0; row < rows; row++) {
    const query = first + row;
    met = max(met, visibleEnd(rules, maskAt(rules, head, query), query, keys));
  }
  // 2. products, in whole panels
  interleave(packed, q, rows, width, floats(width), scale);
  const columns = (met + PANEL - 1) & ~(PANEL - 1);
  product(
    scores,
    packed,
    keyPanels,
    rows,
    columns,
    width,
    floats(stride),
    floats(rows),
    <usize>width * PANEL_ROW,
    0,
  );
  // 3. what is hidden
  for (let row = 0; row < rows; row++) {
    const query = first + row;
    const mask = maskAt(rules, head, query);
    const end = visibleEnd(rules, mask, query, keys);
    hideScores(rules, scores + floats(row * stride), mask, end, padded(met));
  }
  return met;
}
