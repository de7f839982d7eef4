import { expNegative4 } from "../math/exp";
import { expRow } from "../math/exp-row";
import { loadPart, rowSum, STRIDE, sumAll } from "../reduce/rows";

/** y = e^(x − shift) over a row, and its sum, element j in accumulator j mod 32. y may be x. */
export function rowExp(y: usize, x: usize, n: i32, shift: f32): f32 {
  expRow(y, x, n, shift);
  return rowSum(y, n); // from the cache
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

