import { expNegative4 } from "../math/exp";
import { loadPart, rowSum, STRIDE, sumAll } from "../reduce/rows";

/** Stores the lanes of v that lie before `stop`. */
// @ts-ignore: decorator
@inline
function storePart(y: usize, stop: usize, v: v128): void {
  if (y + 16 <= stop) {
    v128.store(y, v);
    return;
  }
  if (y < stop) v128.store32_lane(y, v, 0);
  if (y + 4 < stop) v128.store32_lane(y + 4, v, 1);
  if (y + 8 < stop) v128.store32_lane(y + 8, v, 2);
}

/** y = e^(x − shift) over a row, and its sum, element j in accumulator j mod 32. y may be x. */
export function rowExp(y: usize, x: usize, n: i32, shift: f32): f32 {
  const stop = y + ((<usize>n) << 2);
  const s = f32x4.splat(shift);
  // 1. the exponentials, four vectors side by side to hide their latency
  const toX = x - y;
  let at = y;
  for (; at + 64 <= stop; at += 64) {
    const a = expNegative4(f32x4.sub(v128.load(at + toX), s));
    const b = expNegative4(f32x4.sub(v128.load(at + toX, 16), s));
    const c = expNegative4(f32x4.sub(v128.load(at + toX, 32), s));
    const d = expNegative4(f32x4.sub(v128.load(at + toX, 48), s));
    v128.store(at, a);
    v128.store(at, b, 16);
    v128.store(at, c, 32);
    v128.store(at, d, 48);
  }
  for (; at < stop; at += 16) {
    const part = expNegative4(f32x4.sub(loadPart(at + toX, stop + toX, s), s));
    storePart(at, stop, part);
  }
  // 2. their sum, from the cache
  return rowSum(y, n);
}

/** y = y·factor over a row. */
export function rowScale(y: usize, n: i32, factor: f32): void {
  const stop = y + ((<usize>n) << 2);
  const f = f32x4.splat(factor);
  for (; y + 32 <= stop; y += 32) {
    v128.store(y, f32x4.mul(v128.load(y), f));
    v128.store(y, f32x4.mul(v128.load(y, 16), f), 16);
  }
  for (; y < stop; y += 4) v128.store32_lane(y, f32x4.mul(v128.load32_splat(y), f), 0);
}

/** Σ e^(x − shift) over a row, element j in accumulator j mod 32. */
export function rowExpSum(x: usize, n: i32, shift: f32): f32 {
  const stop = x + ((<usize>n) << 2);
  const s = f32x4.splat(shift);
  const none = f32x4.splat(-Infinity);
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  let e = a;
  let f = a;
  let g = a;
  let h = a;
  for (; x + STRIDE <= stop; x += STRIDE) {
    a = f32x4.add(a, expNegative4(f32x4.sub(v128.load(x), s)));
    b = f32x4.add(b, expNegative4(f32x4.sub(v128.load(x, 16), s)));
    c = f32x4.add(c, expNegative4(f32x4.sub(v128.load(x, 32), s)));
    d = f32x4.add(d, expNegative4(f32x4.sub(v128.load(x, 48), s)));
    e = f32x4.add(e, expNegative4(f32x4.sub(v128.load(x, 64), s)));
    f = f32x4.add(f, expNegative4(f32x4.sub(v128.load(x, 80), s)));
    g = f32x4.add(g, expNegative4(f32x4.sub(v128.load(x, 96), s)));
    h = f32x4.add(h, expNegative4(f32x4.sub(v128.load(x, 112), s)));
  }
  if (x < stop) {
    a = f32x4.add(a, expNegative4(f32x4.sub(loadPart(x, stop, none), s)));
    b = f32x4.add(b, expNegative4(f32x4.sub(loadPart(x + 16, stop, none), s)));
    c = f32x4.add(c, expNegative4(f32x4.sub(loadPart(x + 32, stop, none), s)));
    d = f32x4.add(d, expNegative4(f32x4.sub(loadPart(x + 48, stop, none), s)));
    e = f32x4.add(e, expNegative4(f32x4.sub(loadPart(x + 64, stop, none), s)));
    f = f32x4.add(f, expNegative4(f32x4.sub(loadPart(x + 80, stop, none), s)));
    g = f32x4.add(g, expNegative4(f32x4.sub(loadPart(x + 96, stop, none), s)));
    h = f32x4.add(h, expNegative4(f32x4.sub(loadPart(x + 112, stop, none), s)));
  }
  return sumAll(a, b, c, d, e, f, g, h);
}

