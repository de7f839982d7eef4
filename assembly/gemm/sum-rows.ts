import { loadFirst4, storeFirst4 } from "./lanes";

/**
 * y[j] += Σᵢ x[i, j], rows added upwards: the gradient of a bias.
 *
 * @param y  f32[n]; must not overlap x
 * @param x  f32[rows, n]
 * range: ⌈n/32⌉ groups of 32 columns
 */
export function sumRowsAddF32(
  y: usize,
  x: usize,
  rows: i32,
  n: i32,
  begin: i32,
  end: i32,
): void {
  for (let group = begin; group < end; group++) {
    const column = group * 32;
    const offset = (<usize>column) << 2;
    sumGroup(y + offset, x + offset, rows, min(32, n - column), (<usize>n) << 2);
  }
}

/** Up to 32 columns; rows are `step` bytes apart. */
function sumGroup(y: usize, x: usize, rows: i32, width: i32, step: usize): void {
  if (width == 32) {
    let s0 = v128.load(y);
    let s1 = v128.load(y, 16);
    let s2 = v128.load(y, 32);
    let s3 = v128.load(y, 48);
    let s4 = v128.load(y, 64);
    let s5 = v128.load(y, 80);
    let s6 = v128.load(y, 96);
    let s7 = v128.load(y, 112);
    for (let row = 0; row < rows; row++) {
      s0 = f32x4.add(s0, v128.load(x));
      s1 = f32x4.add(s1, v128.load(x, 16));
      s2 = f32x4.add(s2, v128.load(x, 32));
      s3 = f32x4.add(s3, v128.load(x, 48));
      s4 = f32x4.add(s4, v128.load(x, 64));
      s5 = f32x4.add(s5, v128.load(x, 80));
      s6 = f32x4.add(s6, v128.load(x, 96));
      s7 = f32x4.add(s7, v128.load(x, 112));
      x += step;
    }
    v128.store(y, s0);
    v128.store(y, s1, 16);
    v128.store(y, s2, 32);
    v128.store(y, s3, 48);
    v128.store(y, s4, 64);
    v128.store(y, s5, 80);
    v128.store(y, s6, 96);
    v128.store(y, s7, 112);
    return;
  }
  for (let j = 0; j < width; j += 4) {
    const offset = (<usize>j) << 2;
    let sum = loadFirst4(y + offset, width - j);
    let at = x + offset;
    for (let row = 0; row < rows; row++) {
      sum = f32x4.add(sum, loadFirst4(at, width - j));
      at += step;
    }
    storeFirst4(y + offset, sum, width - j);
  }
}
