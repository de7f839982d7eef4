/**
 * The products of attention, a·B for a few rows and a B packed in panels of 8 columns.
 *
 * Unlike gemm's tiles these want the left operand packed too, the rows of one kk side by side: one
 * pointer walks it where five would, which is worth a fifth of the speed and costs little, since a
 * tile of attention uses its left operand for every panel. The columns of a row-major matrix stand
 * like that by themselves: the gradients of keys and values use this.
 *
 * Each element is one accumulator that adds kk upwards from 0.
 */
import { storeFirst4 } from "../gemm/lanes";
import { PANEL, PANEL_ROW } from "../gemm/tile";
import { madd4 } from "../math/madd";
import { floats } from "./row";
import { HIDDEN } from "./rules";

/** Queries of the tallest tile: ten accumulators and what feeds them fill V8's registers. */
export const ROWS: i32 = 5;

/**
 * c = a·B over `columns` columns.
 *
 * @param c          out, rows of `ldc` bytes
 * @param a          element (i, kk) at a + 4·i + kk·step
 * @param panels     the first row to use of panel 0; panels are panelStep bytes apart
 * @param rows       1 … 5
 * @param selecting  skip the a that are −0: the same bits, but what B holds there is not read
 */
export function product(
  c: usize,
  a: usize,
  panels: usize,
  rows: i32,
  columns: i32,
  depth: i32,
  ldc: usize,
  step: usize,
  panelStep: usize,
  selecting: i32,
): void {
  for (let column = 0; column < columns; column += PANEL) {
    const to = c + floats(column);
    const width = min(PANEL, columns - column);
    if (selecting) {
      for (let row = 0; row < rows; row++) {
        const rowOfC = to + <usize>row * ldc;
        selectingTile(rowOfC, a + floats(row), panels, depth, width, step);
      }
    } else if (rows == 5) tile5(to, a, panels, depth, width, ldc, step);
    else if (rows == 4) tile4(to, a, panels, depth, width, ldc, step);
    else if (rows == 3) tile3(to, a, panels, depth, width, ldc, step);
    else if (rows == 2) tile2(to, a, panels, depth, width, ldc, step);
    else tile1(to, a, panels, depth, width, ldc, step);
    panels += panelStep;
  }
}

/**
 * `rows` rows and one panel, of which `width` columns exist. `rows` is a constant at each call: its
 * branches fold away.
 *
 * Each height is a function of its own, not inlined: V8 unrolls a loop that stands inside another
 * one, hoists its loads and then spills the accumulators, at half the speed.
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
  // The V8 of Node 20 computes each address anew in a loop that tests first; this form is 8 % faster.
  const end = panel + <usize>depth * PANEL_ROW;
  if (panel < end) {
    do {
      const b0 = v128.load(panel);
      const b1 = v128.load(panel, 16);
      let x = v128.load32_splat(a);
      s00 = madd4(x, b0, s00);
      s01 = madd4(x, b1, s01);
      if (rows > 1) {
        x = v128.load32_splat(a, 4);
        s10 = madd4(x, b0, s10);
        s11 = madd4(x, b1, s11);
      }
      if (rows > 2) {
        x = v128.load32_splat(a, 8);
        s20 = madd4(x, b0, s20);
        s21 = madd4(x, b1, s21);
      }
      if (rows > 3) {
        x = v128.load32_splat(a, 12);
        s30 = madd4(x, b0, s30);
        s31 = madd4(x, b1, s31);
      }
      if (rows > 4) {
        x = v128.load32_splat(a, 16);
        s40 = madd4(x, b0, s40);
        s41 = madd4(x, b1, s41);
      }
      a += step;
      panel += PANEL_ROW;
    } while (panel < end);
  }
  storeRow(c, s00, s01, width);
  if (rows > 1) storeRow(c1, s10, s11, width);
  if (rows > 2) storeRow(c2, s20, s21, width);
  if (rows > 3) storeRow(c3, s30, s31, width);
  if (rows > 4) storeRow(c4, s40, s41, width);
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

function tile5(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  step: usize,
): void {
  tile(5, c, a, panel, depth, width, ldc, step);
}

function tile4(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  step: usize,
): void {
  tile(4, c, a, panel, depth, width, ldc, step);
}

function tile3(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  step: usize,
): void {
  tile(3, c, a, panel, depth, width, ldc, step);
}

function tile2(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  step: usize,
): void {
  tile(2, c, a, panel, depth, width, ldc, step);
}

function tile1(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  ldc: usize,
  step: usize,
): void {
  tile(1, c, a, panel, depth, width, ldc, step);
}

/** One row and one panel, skipping what is hidden. */
function selectingTile(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  step: usize,
): void {
  let left = f32x4.splat(0);
  let right = left;
  for (const end = panel + <usize>depth * PANEL_ROW; panel < end; panel += PANEL_ROW) {
    if (load<i32>(a) != HIDDEN) {
      const x = v128.load32_splat(a);
      left = madd4(x, v128.load(panel), left);
      right = madd4(x, v128.load(panel, 16), right);
    }
    a += step;
  }
  storeRow(c, left, right, width);
}

/**
 * Packs up to five rows side by side, times a factor: element (i, kk) to 4·(rows·kk + i).
 *
 * @param to    out: rows·n floats
 * @param from  rows of `step` bytes
 */
export function interleave(
  to: usize,
  from: usize,
  rows: i32,
  n: i32,
  step: usize,
  factor: f32,
): void {
  const toStep = floats(rows);
  let kk = 0;
  if (rows >= 4) {
    const f = f32x4.splat(factor);
    for (; kk + 4 <= n; kk += 4) {
      // Four rows of four are transposed in registers, a fifth is stored lane by lane.
      const r0 = f32x4.mul(f, v128.load(from));
      const r1 = f32x4.mul(f, v128.load(from + step));
      const r2 = f32x4.mul(f, v128.load(from + 2 * step));
      const r3 = f32x4.mul(f, v128.load(from + 3 * step));
      const ab01 = i32x4.shuffle(r0, r1, 0, 4, 1, 5);
      const ab23 = i32x4.shuffle(r0, r1, 2, 6, 3, 7);
      const cd01 = i32x4.shuffle(r2, r3, 0, 4, 1, 5);
      const cd23 = i32x4.shuffle(r2, r3, 2, 6, 3, 7);
      v128.store(to, i64x2.shuffle(ab01, cd01, 0, 2));
      v128.store(to + toStep, i64x2.shuffle(ab01, cd01, 1, 3));
      v128.store(to + 2 * toStep, i64x2.shuffle(ab23, cd23, 0, 2));
      v128.store(to + 3 * toStep, i64x2.shuffle(ab23, cd23, 1, 3));
      if (rows == 5) {
        const r4 = f32x4.mul(f, v128.load(from + 4 * step));
        v128.store32_lane(to, r4, 0, 16);
        v128.store32_lane(to + toStep, r4, 1, 16);
        v128.store32_lane(to + 2 * toStep, r4, 2, 16);
        v128.store32_lane(to + 3 * toStep, r4, 3, 16);
      }
      from += 16;
      to += 4 * toStep;
    }
  }
  for (; kk < n; kk++) {
    for (let row = 0; row < rows; row++) {
      store<f32>(to + floats(row), factor * load<f32>(from + <usize>row * step));
    }
    from += 4;
    to += toStep;
  }
}
