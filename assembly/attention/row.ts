import { loadFirst4, storeFirst4 } from "../gemm/lanes";
import { expAt } from "../softmax/rows";

/** The bytes of n floats. */
// @ts-ignore: decorator
@inline
export function floats(n: i32): usize {
  return (<usize>n) << 2;
}

/**
 * rowExp in place on a scratch row (a multiple of four long) where hidden pairs must stay known: a
 * score of −∞ becomes −0, the others get the same bits.
 */
export function expRowMarking(x: usize, n: i32, shift: f32): void {
  const s = f32x4.splat(shift);
  for (const stop = x + floats(n); x < stop; x += 16) {
    const hidden = f32x4.eq(v128.load(x), f32x4.splat(-Infinity));
    v128.store(x, v128.bitselect(f32x4.splat(-0.0), expAt(x, s), hidden));
  }
}

/** y = x·factor over any row; y may be x. */
export function scaleRow(y: usize, x: usize, n: i32, factor: f32): void {
  const f = f32x4.splat(factor);
  for (; n >= 4; n -= 4) {
    v128.store(y, f32x4.mul(f, v128.load(x)));
    x += 16;
    y += 16;
  }
  if (n > 0) storeFirst4(y, f32x4.mul(f, loadFirst4(x, n)), n);
}

/** y += x over any row. */
export function addRow(y: usize, x: usize, n: i32): void {
  for (; n >= 4; n -= 4) {
    v128.store(y, f32x4.add(v128.load(y), v128.load(x)));
    x += 16;
    y += 16;
  }
  if (n > 0) storeFirst4(y, f32x4.add(loadFirst4(y, n), loadFirst4(x, n)), n);
}
