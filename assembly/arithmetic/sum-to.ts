/**
 * The gradient of broadcasting is a sum over the repeated axes. The host folds the shape into
 * [outer, middle, inner] and sums the middle away; several repeated axes are several calls.
 */

import { rowSum } from "../reduce/rows";

/** Columns that one unit of the range owns: eight vectors, the accumulators of one pass. */
// @ts-ignore: decorator
@inline
const BLOCK: i32 = 32;

/**
 * y[o, j] = Σₘ x[o, m, j], rows added upwards in one accumulator a column.
 *
 * The range splits outer × ⌈inner / 32⌉ blocks of 32 columns. y must not alias x.
 */
export function sumMiddleF32(
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
    const columns = min(BLOCK, inner - from);
    let yAt = y + ((<usize>(outer * inner + from)) << 2);
    let xAt = x + ((<usize>(outer * middle * inner + from)) << 2);
    if (columns == BLOCK) {
      sumBlock(yAt, xAt, middle, stride);
      continue;
    }
    for (const stop = yAt + ((<usize>(columns >> 2)) << 4); yAt < stop; yAt += 16, xAt += 16) {
      v128.store(yAt, sumVector(xAt, middle, stride));
    }
    for (const stop = yAt + ((<usize>(columns & 3)) << 2); yAt < stop; yAt += 4, xAt += 4) {
      store<f32>(yAt, sumColumn(xAt, middle, stride));
    }
  }
}

/**
 * y[r] = Σⱼ x[r, j]: element j in accumulator j mod 32, the tail padded with zero, the
 * accumulators combined as a fixed tree. The range splits rows.
 */
export function sumLastF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  for (let r = begin; r < end; r++) {
    store<f32>(y + ((<usize>r) << 2), rowSum(x + ((<usize>(r * n)) << 2), n));
  }
}

/** 32 columns of `rows` rows that lie `stride` bytes apart. */
function sumBlock(y: usize, x: usize, rows: i32, stride: usize): void {
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let s4 = s0;
  let s5 = s0;
  let s6 = s0;
  let s7 = s0;
  for (let row = 0; row < rows; row++, x += stride) {
    s0 = f32x4.add(s0, v128.load(x));
    s1 = f32x4.add(s1, v128.load(x, 16));
    s2 = f32x4.add(s2, v128.load(x, 32));
    s3 = f32x4.add(s3, v128.load(x, 48));
    s4 = f32x4.add(s4, v128.load(x, 64));
    s5 = f32x4.add(s5, v128.load(x, 80));
    s6 = f32x4.add(s6, v128.load(x, 96));
    s7 = f32x4.add(s7, v128.load(x, 112));
  }
  v128.store(y, s0);
  v128.store(y, s1, 16);
  v128.store(y, s2, 32);
  v128.store(y, s3, 48);
  v128.store(y, s4, 64);
  v128.store(y, s5, 80);
  v128.store(y, s6, 96);
  v128.store(y, s7, 112);
}

/** Four columns. */
function sumVector(x: usize, rows: i32, stride: usize): v128 {
  let sum = f32x4.splat(0);
  for (let row = 0; row < rows; row++, x += stride) sum = f32x4.add(sum, v128.load(x));
  return sum;
}

/** One column. */
function sumColumn(x: usize, rows: i32, stride: usize): f32 {
  let sum: f32 = 0;
  for (let row = 0; row < rows; row++, x += stride) sum += load<f32>(x);
  return sum;
}
