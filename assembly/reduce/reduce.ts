/** Maxima over an axis, and the gradients of reductions; sums stand in arithmetic/sum-to.ts. */
import { loadFirst4, storeFirst4 } from "../gemm/lanes";
import { rowMax, rowSum } from "./rows";

/**
 * y[r] = the largest of row r; NaN when one is there, −∞ for an empty row.
 *
 * @param y  f32[rows]
 * @param x  f32[rows, n]
 * range: rows
 */
export function maxLastF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  for (let row: usize = begin; row < <usize>end; row++) {
    const from = x + ((row * <usize>n) << 2);
    // rowMax passes NaN over, the sum does not: it is NaN for ∞ − ∞ too, but never without cause.
    const sum = rowSum(from, n);
    const largest = sum == sum || !hasNaN(from, n) ? rowMax(from, n) : NaN;
    store<f32>(y + (row << 2), largest);
  }
}

function hasNaN(x: usize, n: i32): bool {
  for (const stop = x + ((<usize>n) << 2); x < stop; x += 4) {
    const value = load<f32>(x);
    if (value != value) return true;
  }
  return false;
}

/** Columns that one unit of maxMiddleF32 and maxGradMiddleF32 owns. */
// @ts-ignore: decorator
@inline
const BLOCK: i32 = 32;

/**
 * y[o, j] = the largest of x[o, m, j] over m; NaN when one is there, −∞ when there is no m.
 *
 * @param y  f32[outer, inner]
 * @param x  f32[outer, middle, inner]
 * range: outer × ⌈inner/32⌉ blocks of 32 columns
 */
export function maxMiddleF32(
  y: usize,
  x: usize,
  middle: i32,
  inner: i32,
  begin: i32,
  end: i32,
): void {
  const blocks = (inner + BLOCK - 1) / BLOCK;
  const stride = (<usize>inner) << 2;
  for (let unit = begin; unit < end; unit++) {
    const outer = unit / blocks;
    const from = (unit - outer * blocks) * BLOCK;
    const stop = min(from + BLOCK, inner);
    const toX = x + <usize>outer * <usize>middle * stride;
    const toY = y + <usize>outer * stride;
    let j = from;
    for (; j + 16 <= stop; j += 16) {
      const at = (<usize>j) << 2;
      maxColumns16(toY + at, toX + at, middle, stride);
    }
    for (; j < stop; j += 4) {
      const at = (<usize>j) << 2;
      maxColumns4(toY + at, toX + at, middle, stride, stop - j);
    }
  }
}

function maxColumns16(y: usize, x: usize, rows: i32, stride: usize): void {
  let a = f32x4.splat(-Infinity);
  let b = a;
  let c = a;
  let d = a;
  for (let row = 0; row < rows; row++, x += stride) {
    a = larger4(a, v128.load(x));
    b = larger4(b, v128.load(x, 16));
    c = larger4(c, v128.load(x, 32));
    d = larger4(d, v128.load(x, 48));
  }
  v128.store(y, a);
  v128.store(y, b, 16);
  v128.store(y, c, 32);
  v128.store(y, d, 48);
}

/** Up to four columns. */
function maxColumns4(y: usize, x: usize, rows: i32, stride: usize, columns: i32): void {
  let largest = f32x4.splat(-Infinity);
  for (let row = 0; row < rows; row++, x += stride)
    largest = larger4(largest, loadFirst4(x, columns));
  storeFirst4(y, largest, columns);
}

/** The larger of both, NaN when one is; f32x4.max in fewer instructions, and −0 may stand for 0. */
// @ts-ignore: decorator
@inline
function larger4(a: v128, b: v128): v128 {
  // pmax keeps a NaN of its first operand; one of the second is put in its place.
  return v128.bitselect(b, f32x4.pmax(a, b), f32x4.ne(b, b));
}

/**
 * dx[r, j] = dy[r] at the first j where x is y, 0 elsewhere; a NaN is where a NaN is.
 *
 * @param dx  f32[rows, n]; may be x
 * @param dy  f32[rows]
 * @param x   f32[rows, n]
 * @param y   f32[rows], what maxLastF32 gave
 * range: rows
 */
export function maxGradLastF32(
  dx: usize,
  dy: usize,
  x: usize,
  y: usize,
  n: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>n) << 2;
  for (let row: usize = begin; row < <usize>end; row++) {
    const from = row * bytes;
    const largest = load<f32>(y + (row << 2));
    const at = from + firstOf(x + from, n, largest);
    memory.fill(dx + from, 0, bytes);
    if (at < from + bytes) store<f32>(dx + at, load<f32>(dy + (row << 2)));
  }
}

/** Bytes before the first element that is `value`, or NaN; those of the row when there is none. */
function firstOf(x: usize, n: i32, value: f32): usize {
  const from = x;
  const stop = x + ((<usize>n) << 2);
  const v = f32x4.splat(value);
  for (; x + 16 <= stop; x += 16) if (v128.any_true(isThere4(v128.load(x), v))) break;
  for (; x < stop; x += 4) if (v128.any_true(isThere4(v128.load32_splat(x), v))) break;
  return x - from;
}

/** Where x is the largest: equal to it, or NaN, which only stands where the largest is NaN. */
// @ts-ignore: decorator
@inline
function isThere4(x: v128, largest: v128): v128 {
  return v128.or(f32x4.eq(x, largest), f32x4.ne(x, x));
}

/**
 * dx[o, m, j] = dy[o, j] at the first m where x is y, 0 elsewhere; a NaN is where a NaN is.
 *
 * @param dx  f32[outer, middle, inner]; may be x
 * @param dy  f32[outer, inner]
 * @param x   f32[outer, middle, inner]
 * @param y   f32[outer, inner], what maxMiddleF32 gave
 * range: outer × ⌈inner/32⌉ blocks of 32 columns
 */
export function maxGradMiddleF32(
  dx: usize,
  dy: usize,
  x: usize,
  y: usize,
  middle: i32,
  inner: i32,
  begin: i32,
  end: i32,
): void {
  const blocks = (inner + BLOCK - 1) / BLOCK;
  const stride = (<usize>inner) << 2;
  for (let unit = begin; unit < end; unit++) {
    const outer = unit / blocks;
    const from = (unit - outer * blocks) * BLOCK;
    const stop = min(from + BLOCK, inner);
    const row = <usize>outer * stride;
    for (let j = from; j < stop; j += 4) {
      const at = (<usize>j) << 2;
      const all = row * <usize>middle + at;
      gradColumns4(dx + all, dy + row + at, x + all, y + row + at, middle, stride, stop - j);
    }
  }
}

/** Up to four columns. */
function gradColumns4(
  dx: usize,
  dy: usize,
  x: usize,
  y: usize,
  rows: i32,
  stride: usize,
  columns: i32,
): void {
  const largest = loadFirst4(y, columns);
  let gradient = loadFirst4(dy, columns);
  for (let row = 0; row < rows; row++, x += stride, dx += stride) {
    const there = isThere4(loadFirst4(x, columns), largest);
    storeFirst4(dx, v128.and(gradient, there), columns);
    gradient = v128.andnot(gradient, there); // given away once
  }
}

/**
 * dx[o, m, j] = dy[o, j]: the gradient of a sum.
 *
 * @param dx  f32[outer, middle, inner]
 * @param dy  f32[outer, inner]
 * range: outer × middle rows of inner
 */
export function spreadF32(
  dx: usize,
  dy: usize,
  middle: i32,
  inner: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>inner) << 2;
  for (let row = begin; row < end; ) {
    const outer = row / middle;
    const from = dy + <usize>outer * bytes;
    const stop = min((outer + 1) * middle, end);
    if (inner == 1) {
      fill(dx + <usize>row * bytes, stop - row, load<f32>(from));
      row = stop;
    }
    for (; row < stop; row++) copy(dx + <usize>row * bytes, from, inner);
  }
}

function fill(y: usize, n: i32, value: f32): void {
  const stop = y + ((<usize>n) << 2);
  const v = f32x4.splat(value);
  for (; y + 16 <= stop; y += 16) v128.store(y, v);
  for (; y < stop; y += 4) store<f32>(y, value);
}

function copy(y: usize, x: usize, n: i32): void {
  const stop = y + ((<usize>n) << 2);
  for (; y + 16 <= stop; y += 16, x += 16) v128.store(y, v128.load(x));
  for (; y < stop; y += 4, x += 4) store<f32>(y, load<f32>(x));
}
