/**
 * The register tiles of every matrix product: c += a·B for a few rows and one panel of 8 columns
 * (or one row and four panels). Element (i, kk) of a stands at a + i·rowStep + kk·depthStep, so the
 * same tile multiplies a and aᵀ.
 *
 * Each element of c is one accumulator: it starts from what c holds and adds a[i, kk]·B[kk, j] for
 * kk upwards. Storing and loading an f32 again is exact, so a product may be cut along k at any
 * place, and along rows and columns into any tiles, without changing a bit.
 *
 * Five rows fill V8's fifteen vector registers: ten accumulators, two of B, one of a, one for the
 * product. A sixth row, or unrolling over k, spills and halves the speed (bench/gemm.bench.ts).
 */
import { madd4 } from "../math/madd";
import { loadFirst4, storeFirst4 } from "./lanes";

/** Columns in a panel. */
export const PANEL: i32 = 8;

/** Bytes between rows of a panel: 8 floats. */
export const PANEL_ROW: usize = 32;

/** Rows of the tallest tile. */
export const TILE_ROWS: i32 = 5;

/**
 * One tile of `rows` rows and a panel. `rows` is a constant at each call, so that the branches on
 * it fold away; `width` is the number of columns that exist, 1 to 8: only those are loaded and
 * stored. `ldc`, `rowStep` and `depthStep` are in bytes.
 */
// @ts-ignore: decorator
@inline
function tile(
  rows: i32,
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  rowStep: usize,
  depthStep: usize,
): void {
  let a0 = a;
  let a1 = a0 + rowStep;
  let a2 = a1 + rowStep;
  let a3 = a2 + rowStep;
  let a4 = a3 + rowStep;
  const c1 = c + ldc;
  const c2 = c1 + ldc;
  const c3 = c2 + ldc;
  const c4 = c3 + ldc;
  let s00 = loadLeft(c, width);
  let s01 = loadRight(c, width);
  let s10 = rows > 1 ? loadLeft(c1, width) : s00;
  let s11 = rows > 1 ? loadRight(c1, width) : s00;
  let s20 = rows > 2 ? loadLeft(c2, width) : s00;
  let s21 = rows > 2 ? loadRight(c2, width) : s00;
  let s30 = rows > 3 ? loadLeft(c3, width) : s00;
  let s31 = rows > 3 ? loadRight(c3, width) : s00;
  let s40 = rows > 4 ? loadLeft(c4, width) : s00;
  let s41 = rows > 4 ? loadRight(c4, width) : s00;
  for (const end = panel + (<usize>depth) * PANEL_ROW; panel < end; panel += PANEL_ROW) {
    const b0 = v128.load(panel);
    const b1 = v128.load(panel, 16);
    let x = v128.load32_splat(a0);
    s00 = madd4(x, b0, s00);
    s01 = madd4(x, b1, s01);
    a0 += depthStep;
    if (rows > 1) {
      x = v128.load32_splat(a1);
      s10 = madd4(x, b0, s10);
      s11 = madd4(x, b1, s11);
      a1 += depthStep;
    }
    if (rows > 2) {
      x = v128.load32_splat(a2);
      s20 = madd4(x, b0, s20);
      s21 = madd4(x, b1, s21);
      a2 += depthStep;
    }
    if (rows > 3) {
      x = v128.load32_splat(a3);
      s30 = madd4(x, b0, s30);
      s31 = madd4(x, b1, s31);
      a3 += depthStep;
    }
    if (rows > 4) {
      x = v128.load32_splat(a4);
      s40 = madd4(x, b0, s40);
      s41 = madd4(x, b1, s41);
      a4 += depthStep;
    }
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

// @ts-ignore: decorator
@inline
function storeRow(c: usize, left: v128, right: v128, width: i32): void {
  if (width == PANEL) {
    v128.store(c, left);
    v128.store(c, right, 16);
  } else {
    storeFirst4(c, left, width);
    storeFirst4(c + 16, right, width - 4);
  }
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
  rowStep: usize,
  depthStep: usize,
): void {
  tile(5, c, a, panel, depth, width, ldc, rowStep, depthStep);
}

function tile4(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  rowStep: usize,
  depthStep: usize,
): void {
  tile(4, c, a, panel, depth, width, ldc, rowStep, depthStep);
}

function tile3(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  rowStep: usize,
  depthStep: usize,
): void {
  tile(3, c, a, panel, depth, width, ldc, rowStep, depthStep);
}

function tile2(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  rowStep: usize,
  depthStep: usize,
): void {
  tile(2, c, a, panel, depth, width, ldc, rowStep, depthStep);
}

function tile1(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  rowStep: usize,
  depthStep: usize,
): void {
  tile(1, c, a, panel, depth, width, ldc, rowStep, depthStep);
}

/** The tile of 1 to 5 rows on one panel. */
export function tileRows(
  rows: i32,
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  rowStep: usize,
  depthStep: usize,
): void {
  if (rows == 5) tile5(c, a, panel, depth, width, ldc, rowStep, depthStep);
  else if (rows == 4) tile4(c, a, panel, depth, width, ldc, rowStep, depthStep);
  else if (rows == 3) tile3(c, a, panel, depth, width, ldc, rowStep, depthStep);
  else if (rows == 2) tile2(c, a, panel, depth, width, ldc, rowStep, depthStep);
  else tile1(c, a, panel, depth, width, ldc, rowStep, depthStep);
}

/**
 * One row on four whole panels, `panelStep` bytes apart: eight accumulators hide the latency of
 * the addition where a single panel's two cannot.
 */
export function tileWide(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  panelStep: usize,
  depthStep: usize,
): void {
  let p1 = panel + panelStep;
  let p2 = p1 + panelStep;
  let p3 = p2 + panelStep;
  let s0 = v128.load(c);
  let s1 = v128.load(c, 16);
  let s2 = v128.load(c, 32);
  let s3 = v128.load(c, 48);
  let s4 = v128.load(c, 64);
  let s5 = v128.load(c, 80);
  let s6 = v128.load(c, 96);
  let s7 = v128.load(c, 112);
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
    a += depthStep;
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
