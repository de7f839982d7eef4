/**
 * The register tiles of every matrix product: up to five rows of a left operand and one panel of 8
 * columns (or one row and four panels).
 *
 * Each element of c is one accumulator: it adds a[i, kk]·B[kk, j] for kk upwards. Storing and
 * loading an f32 again is exact, so a product may be cut along k at any place, and along rows and
 * columns into any tiles, without changing a bit.
 *
 * Five rows fill V8's fifteen vector registers: ten accumulators, two of B, one of a, one for the
 * product. A sixth row, or unrolling over k, spills and halves the speed. What else there is to lose
 * are the other instructions of the loop, as a core takes in six at a time: rows side by side need
 * one pointer where rows apart need five; and the loop tests at its end and moves its pointers at
 * its start, because only then V8 11.3 keeps the addresses 4 … 16 bytes on in registers and does
 * not widen each pointer at each turn (bench/gemm.bench.ts).
 */
import { madd4 } from "../math/madd";
import { loadFirst4, storeFirst4 } from "./lanes";

/** Columns in a panel. */
export const PANEL: i32 = 8;

/** Bytes between rows of a panel: 8 floats. */
export const PANEL_ROW: usize = 32;

/** Rows of the tallest tile. */
export const TILE_ROWS: i32 = 5;

/** How many tiles of at most five the rows fall into. */
// @ts-ignore: decorator
@inline
export function tilesOf(rows: i32): i32 {
  return (rows + TILE_ROWS - 1) / TILE_ROWS;
}

/**
 * The first row of a tile. Rows are shared out evenly (6 = 3 + 3, not 5 + 1), since low tiles wait
 * for their additions; the higher tiles come first.
 */
// @ts-ignore: decorator
@inline
export function tileStart(tile: i32, rows: i32): i32 {
  const tiles = tilesOf(rows);
  return tile * (rows / tiles) + min(tile, rows % tiles);
}

/**
 * One tile of `rows` rows and a panel. `rows` and `apart` are constants at each call, so that the
 * branches on them fold away. The other parameters are those of tileRows().
 */
// @ts-ignore: decorator
@inline
function tile(
  rows: i32,
  apart: bool,
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  rowStep: usize,
  step: usize,
): void {
  const c1 = c + ldc;
  const c2 = c1 + ldc;
  const c3 = c2 + ldc;
  const c4 = c3 + ldc;
  let s00 = f32x4.splat(0);
  let s01 = s00;
  let s10 = s00;
  let s11 = s00;
  let s20 = s00;
  let s21 = s00;
  let s30 = s00;
  let s31 = s00;
  let s40 = s00;
  let s41 = s00;
  if (adding) {
    s00 = loadLeft(c, width);
    s01 = loadRight(c, width);
    if (rows > 1) s10 = loadLeft(c1, width);
    if (rows > 1) s11 = loadRight(c1, width);
    if (rows > 2) s20 = loadLeft(c2, width);
    if (rows > 2) s21 = loadRight(c2, width);
    if (rows > 3) s30 = loadLeft(c3, width);
    if (rows > 3) s31 = loadRight(c3, width);
    if (rows > 4) s40 = loadLeft(c4, width);
    if (rows > 4) s41 = loadRight(c4, width);
  }
  if (depth > 0) {
    a -= step;
    let a1 = a + rowStep;
    let a2 = a1 + rowStep;
    let a3 = a2 + rowStep;
    let a4 = a3 + rowStep;
    panel -= PANEL_ROW;
    const last = panel + <usize>depth * PANEL_ROW;
    do {
      panel += PANEL_ROW;
      const b0 = v128.load(panel);
      const b1 = v128.load(panel, 16);
      a += step;
      let x = v128.load32_splat(a);
      s00 = madd4(x, b0, s00);
      s01 = madd4(x, b1, s01);
      if (rows > 1) {
        if (apart) a1 += step;
        x = apart ? v128.load32_splat(a1) : v128.load32_splat(a, 4);
        s10 = madd4(x, b0, s10);
        s11 = madd4(x, b1, s11);
      }
      if (rows > 2) {
        if (apart) a2 += step;
        x = apart ? v128.load32_splat(a2) : v128.load32_splat(a, 8);
        s20 = madd4(x, b0, s20);
        s21 = madd4(x, b1, s21);
      }
      if (rows > 3) {
        if (apart) a3 += step;
        x = apart ? v128.load32_splat(a3) : v128.load32_splat(a, 12);
        s30 = madd4(x, b0, s30);
        s31 = madd4(x, b1, s31);
      }
      if (rows > 4) {
        if (apart) a4 += step;
        x = apart ? v128.load32_splat(a4) : v128.load32_splat(a, 16);
        s40 = madd4(x, b0, s40);
        s41 = madd4(x, b1, s41);
      }
    } while (panel != last);
  }
  storeRow(c, s00, s01, width);
  if (rows > 1) storeRow(c1, s10, s11, width);
  if (rows > 2) storeRow(c2, s20, s21, width);
  if (rows > 3) storeRow(c3, s30, s31, width);
  if (rows > 4) storeRow(c4, s40, s41, width);
}

// @ts-ignore: decorator
@inline
function loadLeft(c: usize, width: i32): v128 {
  return width >= 4 ? v128.load(c) : loadFirst4(c, width);
}

// @ts-ignore: decorator
@inline
function loadRight(c: usize, width: i32): v128 {
  return width == PANEL ? v128.load(c, 16) : loadFirst4(c + 16, width - 4);
}

/** A row of a tile into the first `width` columns at c. */
// @ts-ignore: decorator
@inline
export function storeRow(c: usize, left: v128, right: v128, width: i32): void {
  if (width == PANEL) {
    v128.store(c, left);
    v128.store(c, right, 16);
  } else {
    storeFirst4(c, left, width);
    storeFirst4(c + 16, right, width - 4);
  }
}

/**
 * The tile of 1 to 5 rows on one panel, with element (i, kk) of a at a + i·rowStep + kk·step. Steps
 * are in bytes.
 *
 * @param width    columns that exist, 1 … 8: only those of c are loaded and stored
 * @param ldc      between rows of c
 * @param adding   1: the sums start from c; 0: they start from zero
 * @param rowStep  4, rows side by side as pack-left.ts leaves them, or anything: a tenth slower
 */
export function tileRows(
  rows: i32,
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  rowStep: usize,
  step: usize,
): void {
  if (rows == 1) tile1(c, a, panel, depth, width, ldc, adding, step);
  else if (rowStep == 4) {
    if (rows == 5) tile5(c, a, panel, depth, width, ldc, adding, step);
    else if (rows == 4) tile4(c, a, panel, depth, width, ldc, adding, step);
    else if (rows == 3) tile3(c, a, panel, depth, width, ldc, adding, step);
    else tile2(c, a, panel, depth, width, ldc, adding, step);
  } else if (rows == 5) apart5(c, a, panel, depth, width, ldc, adding, rowStep, step);
  else if (rows == 4) apart4(c, a, panel, depth, width, ldc, adding, rowStep, step);
  else if (rows == 3) apart3(c, a, panel, depth, width, ldc, adding, rowStep, step);
  else apart2(c, a, panel, depth, width, ldc, adding, rowStep, step);
}

// A function for each height: V8 replaces its first, slow code only when a function is called
// again, and allocates registers well only when one hot loop is all there is.
function tile5(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  step: usize,
): void {
  tile(5, false, c, a, panel, depth, width, ldc, adding, 0, step);
}

function tile4(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  step: usize,
): void {
  tile(4, false, c, a, panel, depth, width, ldc, adding, 0, step);
}

function tile3(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  step: usize,
): void {
  tile(3, false, c, a, panel, depth, width, ldc, adding, 0, step);
}

function tile2(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  step: usize,
): void {
  tile(2, false, c, a, panel, depth, width, ldc, adding, 0, step);
}

function tile1(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  step: usize,
): void {
  tile(1, false, c, a, panel, depth, width, ldc, adding, 0, step);
}

function apart5(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  rowStep: usize,
  step: usize,
): void {
  tile(5, true, c, a, panel, depth, width, ldc, adding, rowStep, step);
}

function apart4(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  rowStep: usize,
  step: usize,
): void {
  tile(4, true, c, a, panel, depth, width, ldc, adding, rowStep, step);
}

function apart3(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  rowStep: usize,
  step: usize,
): void {
  tile(3, true, c, a, panel, depth, width, ldc, adding, rowStep, step);
}

function apart2(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  adding: i32,
  rowStep: usize,
  step: usize,
): void {
  tile(2, true, c, a, panel, depth, width, ldc, adding, rowStep, step);
}

/**
 * One row on four whole panels, `panelStep` bytes apart: eight accumulators hide the latency of the
 * addition where a single panel's two cannot.
 */
export function tileWide(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  adding: i32,
  panelStep: usize,
  step: usize,
): void {
  let p1 = panel + panelStep;
  let p2 = p1 + panelStep;
  let p3 = p2 + panelStep;
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let s4 = s0;
  let s5 = s0;
  let s6 = s0;
  let s7 = s0;
  if (adding) {
    s0 = v128.load(c);
    s1 = v128.load(c, 16);
    s2 = v128.load(c, 32);
    s3 = v128.load(c, 48);
    s4 = v128.load(c, 64);
    s5 = v128.load(c, 80);
    s6 = v128.load(c, 96);
    s7 = v128.load(c, 112);
  }
  for (const end = panel + (<usize>depth) * PANEL_ROW; panel < end; panel += PANEL_ROW) {
    const x = v128.load32_splat(a);
    s0 = madd4(x, v128.load(panel), s0);
    s1 = madd4(x, v128.load(panel, 16), s1);
    s2 = madd4(x, v128.load(p1), s2);
    s3 = madd4(x, v128.load(p1, 16), s3);
    s4 = madd4(x, v128.load(p2), s4);
    s5 = madd4(x, v128.load(p2, 16), s5);
    s6 = madd4(x, v128.load(p3), s6);
    s7 = madd4(x, v128.load(p3, 16), s7);
    p1 += PANEL_ROW;
    p2 += PANEL_ROW;
    p3 += PANEL_ROW;
    a += step;
  }
  v128.store(c, s0);
  v128.store(c, s1, 16);
  v128.store(c, s2, 32);
  v128.store(c, s3, 48);
  v128.store(c, s4, 64);
  v128.store(c, s5, 80);
  v128.store(c, s6, 96);
  v128.store(c, s7, 112);
}
