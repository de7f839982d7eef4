import { rowDot, rowMax, rowSum } from "../reduce/rows";
import { inverse, logOfSum, rowExp, rowExpSum, rowScale, rowShift } from "./rows";

/**
 * Softmax of each row: y = e^(x − max) / Σ e^(x − max).
 *
 * A row of −∞ alone gives zeros, a row with NaN or +∞ gives NaN. Backward needs y.
 *
 * @param y  f32[rows, n]; may be x
 * @param x  f32[rows, n]
 * range: rows
 */
export function softmaxF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    rowExp(y + from, x + from, n, rowShift(x + from, n));
    rowScale(y + from, n, inverse(rowSum(y + from, n)));
  }
}

/**
 * dx = y·(dy − Σ dy·y), row by row.
 *
 * @param dx  f32[rows, n]; may be dy
 * @param dy  f32[rows, n]
 * @param y   f32[rows, n], what softmaxF32 gave
 * range: rows
 */
export function softmaxGradF32(
  dx: usize,
  dy: usize,
  y: usize,
  n: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    const dot = rowDot(dy + from, y + from, n);
    const d = f32x4.splat(dot);
    const stop = from + bytes;
    let at = from;
    for (; at + 32 <= stop; at += 32) {
      const a = f32x4.mul(v128.load(y + at), f32x4.sub(v128.load(dy + at), d));
      const b = f32x4.mul(v128.load(y + at, 16), f32x4.sub(v128.load(dy + at, 16), d));
      v128.store(dx + at, a);
      v128.store(dx + at, b, 16);
    }
    for (; at < stop; at += 4) store<f32>(dx + at, load<f32>(y + at) * (load<f32>(dy + at) - dot));
  }
}

/**
 * Logarithm of the softmax of each row: y = x − max − ln Σ e^(x − max).
 *
 * A row of −∞ alone stays −∞, a row with NaN or +∞ gives NaN. Backward needs y.
 *
 * @param y  f32[rows, n]; may be x
 * @param x  f32[rows, n]
 * range: rows
 */
export function logSoftmaxF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    const shift = rowShift(x + from, n);
    const log = logOfSum(rowExpSum(x + from, n, shift));
    const s = f32x4.splat(shift);
    const l = f32x4.splat(log);
    const stop = from + bytes;
    let at = from;
    for (; at + 32 <= stop; at += 32) {
      const a = f32x4.sub(f32x4.sub(v128.load(x + at), s), l);
      const b = f32x4.sub(f32x4.sub(v128.load(x + at, 16), s), l);
      v128.store(y + at, a);
      v128.store(y + at, b, 16);
    }
    for (; at < stop; at += 4) store<f32>(y + at, load<f32>(x + at) - shift - log);
  }
}

/**
 * dx = dy − e^y·Σ dy, row by row; zeros for a row of −∞ alone.
 *
 * @param dx  f32[rows, n]; may be y, not dy
 * @param dy  f32[rows, n]
 * @param y   f32[rows, n], what logSoftmaxF32 gave
 * range: rows
 */
export function logSoftmaxGradF32(
  dx: usize,
  dy: usize,
  y: usize,
  n: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    // A row of NaN has no largest number either, but begins with NaN.
    const hidden = load<f32>(y + from) == -Infinity && rowMax(y + from, n) == -Infinity;
    if (hidden) memory.fill(dx + from, 0, bytes);
    else logGradRow(dx + from, dy + from, y + from, n);
  }
}

function logGradRow(dx: usize, dy: usize, y: usize, n: i32): void {
  const total = rowSum(dy, n);
  rowExp(dx, y, n, 0);
  const t = f32x4.splat(total);
  const stop = dx + ((<usize>n) << 2);
  for (; dx + 32 <= stop; dx += 32, dy += 32) {
    const a = f32x4.sub(v128.load(dy), f32x4.mul(v128.load(dx), t));
    const b = f32x4.sub(v128.load(dy, 16), f32x4.mul(v128.load(dx, 16), t));
    v128.store(dx, a);
    v128.store(dx, b, 16);
  }
  for (; dx < stop; dx += 4, dy += 4) store<f32>(dx, load<f32>(dy) - load<f32>(dx) * total);
}
