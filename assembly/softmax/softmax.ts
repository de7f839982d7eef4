import { log4 } from "../math/log";
import { rowDot, rowMax, rowSum } from "../reduce/rows";
import { rowExp, rowExpSum, rowScale } from "./rows";

/**
 * Softmax of each row: y = e^(x − max) / Σ e^(x − max). A row of −∞ alone gives zeros.
 *
 * y f32[rows, n], x f32[rows, n]; y may be x. Backward needs y. Range: rows.
 */
export function softmaxF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    const largest = rowMax(x + from, n);
    if (largest == -Infinity) {
      memory.fill(y + from, 0, bytes);
      continue;
    }
    const sum = rowExp(y + from, x + from, n, largest);
    rowScale(y + from, n, <f32>1 / sum);
  }
}

/**
 * dx = y·(dy − Σ dy·y), row by row.
 *
 * dx, dy, y f32[rows, n]; dx may be dy. Range: rows.
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
    const dot = f32x4.splat(rowDot(dy + from, y + from, n));
    const stop = from + bytes;
    let at = from;
    for (; at + 16 <= stop; at += 16) {
      const centred = f32x4.sub(v128.load(dy + at), dot);
      v128.store(dx + at, f32x4.mul(v128.load(y + at), centred));
    }
    for (; at < stop; at += 4) {
      const centred = f32x4.sub(v128.load32_splat(dy + at), dot);
      v128.store32_lane(dx + at, f32x4.mul(v128.load32_splat(y + at), centred), 0);
    }
  }
}

/**
 * Logarithm of the softmax of each row: y = x − max − ln Σ e^(x − max).
 *
 * y f32[rows, n], x f32[rows, n]; y may be x. Backward needs y. Range: rows.
 */
export function logSoftmaxF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    const largest = rowMax(x + from, n);
    // A row of −∞ alone has no distribution: −∞ everywhere, as log of the zeros softmax gives.
    const shift: f32 = largest == -Infinity ? 0 : largest;
    const sum = rowExpSum(x + from, n, shift);
    const log = f32x4.extract_lane(log4(f32x4.splat(sum)), 0);
    const offset = largest == -Infinity ? f32x4.splat(0) : f32x4.splat(log);
    const s = f32x4.splat(shift);
    const stop = from + bytes;
    let at = from;
    for (; at + 16 <= stop; at += 16) {
      v128.store(y + at, f32x4.sub(f32x4.sub(v128.load(x + at), s), offset));
    }
    for (; at < stop; at += 4) {
      v128.store32_lane(y + at, f32x4.sub(f32x4.sub(v128.load32_splat(x + at), s), offset), 0);
    }
  }
}

/**
 * dx = dy − e^y·Σ dy, row by row.
 *
 * dx, dy, y f32[rows, n]. Range: rows.
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
    const total = f32x4.splat(rowSum(dy + from, n));
    // e^y first, into dx: its sum is not needed here.
    rowExp(dx + from, y + from, n, 0);
    const stop = from + bytes;
    let at = from;
    for (; at + 16 <= stop; at += 16) {
      const part = f32x4.mul(v128.load(dx + at), total);
      v128.store(dx + at, f32x4.sub(v128.load(dy + at), part));
    }
    for (; at < stop; at += 4) {
      const part = f32x4.mul(v128.load32_splat(dx + at), total);
      v128.store32_lane(dx + at, f32x4.sub(v128.load32_splat(dy + at), part), 0);
    }
  }
}
