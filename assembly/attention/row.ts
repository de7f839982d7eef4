import { loadFirst4, storeFirst4 } from "../gemm/lanes";
import { expNegative4 } from "../math/exp";
import { madd4 } from "../math/madd";

/** The bytes of n floats. */
// @ts-ignore: decorator
@inline
export function floats(n: i32): usize {
  return (<usize>n) << 2;
}

/** The 32 accumulators of a row, in a fixed tree. */
// @ts-ignore: decorator
@inline
export function sum32(
  a0: v128,
  a1: v128,
  a2: v128,
  a3: v128,
  a4: v128,
  a5: v128,
  a6: v128,
  a7: v128,
): f32 {
  const even = f32x4.add(f32x4.add(a0, a4), f32x4.add(a2, a6));
  const odd = f32x4.add(f32x4.add(a1, a5), f32x4.add(a3, a7));
  const sum = f32x4.add(even, odd);
  return (
    f32x4.extract_lane(sum, 0) +
    f32x4.extract_lane(sum, 2) +
    (f32x4.extract_lane(sum, 1) + f32x4.extract_lane(sum, 3))
  );
}

/** Σ a·b of one row: element j in accumulator j mod 32, the tail padded with zeros. */
export function dotRow(a: usize, b: usize, n: i32): f32 {
  const stop = a + floats(n & ~31);
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let a4 = a0;
  let a5 = a0;
  let a6 = a0;
  let a7 = a0;
  while (a < stop) {
    a0 = madd4(v128.load(a), v128.load(b), a0);
    a1 = madd4(v128.load(a, 16), v128.load(b, 16), a1);
    a2 = madd4(v128.load(a, 32), v128.load(b, 32), a2);
    a3 = madd4(v128.load(a, 48), v128.load(b, 48), a3);
    a4 = madd4(v128.load(a, 64), v128.load(b, 64), a4);
    a5 = madd4(v128.load(a, 80), v128.load(b, 80), a5);
    a6 = madd4(v128.load(a, 96), v128.load(b, 96), a6);
    a7 = madd4(v128.load(a, 112), v128.load(b, 112), a7);
    a += 128;
    b += 128;
  }
  const rest = n & 31;
  if (rest > 0) a0 = dotTail(a0, a, b, rest);
  if (rest > 4) a1 = dotTail(a1, a + 16, b + 16, rest - 4);
  if (rest > 8) a2 = dotTail(a2, a + 32, b + 32, rest - 8);
  if (rest > 12) a3 = dotTail(a3, a + 48, b + 48, rest - 12);
  if (rest > 16) a4 = dotTail(a4, a + 64, b + 64, rest - 16);
  if (rest > 20) a5 = dotTail(a5, a + 80, b + 80, rest - 20);
  if (rest > 24) a6 = dotTail(a6, a + 96, b + 96, rest - 24);
  if (rest > 28) a7 = dotTail(a7, a + 112, b + 112, rest - 28);
  return sum32(a0, a1, a2, a3, a4, a5, a6, a7);
}

function dotTail(sum: v128, a: usize, b: usize, n: i32): v128 {
  return madd4(loadFirst4(a, n), loadFirst4(b, n), sum);
}

/** Σ x of one row: element j in accumulator j mod 32, the tail padded with zeros. */
export function sumRow(x: usize, n: i32): f32 {
  const stop = x + floats(n & ~31);
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let a4 = a0;
  let a5 = a0;
  let a6 = a0;
  let a7 = a0;
  while (x < stop) {
    a0 = f32x4.add(a0, v128.load(x));
    a1 = f32x4.add(a1, v128.load(x, 16));
    a2 = f32x4.add(a2, v128.load(x, 32));
    a3 = f32x4.add(a3, v128.load(x, 48));
    a4 = f32x4.add(a4, v128.load(x, 64));
    a5 = f32x4.add(a5, v128.load(x, 80));
    a6 = f32x4.add(a6, v128.load(x, 96));
    a7 = f32x4.add(a7, v128.load(x, 112));
    x += 128;
  }
  const rest = n & 31;
  if (rest > 0) a0 = f32x4.add(a0, loadFirst4(x, rest));
  if (rest > 4) a1 = f32x4.add(a1, loadFirst4(x + 16, rest - 4));
  if (rest > 8) a2 = f32x4.add(a2, loadFirst4(x + 32, rest - 8));
  if (rest > 12) a3 = f32x4.add(a3, loadFirst4(x + 48, rest - 12));
  if (rest > 16) a4 = f32x4.add(a4, loadFirst4(x + 64, rest - 16));
  if (rest > 20) a5 = f32x4.add(a5, loadFirst4(x + 80, rest - 20));
  if (rest > 24) a6 = f32x4.add(a6, loadFirst4(x + 96, rest - 24));
  if (rest > 28) a7 = f32x4.add(a7, loadFirst4(x + 112, rest - 28));
  return sum32(a0, a1, a2, a3, a4, a5, a6, a7);
}

// The rows below are scratch: 16-byte aligned, n a multiple of 32.

/** The largest number of a scratch row; a NaN is passed over, it shows in the sum. */
export function maxRow(x: usize, n: i32): f32 {
  let a0 = f32x4.splat(-Infinity);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  for (const stop = x + floats(n); x < stop; x += 64) {
    // pmax is one instruction where max is six; it keeps its first operand beside a NaN.
    a0 = f32x4.pmax(a0, v128.load(x));
    a1 = f32x4.pmax(a1, v128.load(x, 16));
    a2 = f32x4.pmax(a2, v128.load(x, 32));
    a3 = f32x4.pmax(a3, v128.load(x, 48));
  }
  const all = f32x4.pmax(f32x4.pmax(a0, a1), f32x4.pmax(a2, a3));
  return max(
    max(f32x4.extract_lane(all, 0), f32x4.extract_lane(all, 1)),
    max(f32x4.extract_lane(all, 2), f32x4.extract_lane(all, 3)),
  );
}

/**
 * x becomes e^(x − shift) in a scratch row. Eight vectors side by side, as one exponential is a
 * chain of dependent steps: 0.9 ns an element instead of 1.6 for one.
 */
export function expRow(x: usize, n: i32, shift: f32): void {
  const s = f32x4.splat(shift);
  for (const stop = x + floats(n); x < stop; x += 128) {
    const e0 = expNegative4(f32x4.sub(v128.load(x), s));
    const e1 = expNegative4(f32x4.sub(v128.load(x, 16), s));
    const e2 = expNegative4(f32x4.sub(v128.load(x, 32), s));
    const e3 = expNegative4(f32x4.sub(v128.load(x, 48), s));
    const e4 = expNegative4(f32x4.sub(v128.load(x, 64), s));
    const e5 = expNegative4(f32x4.sub(v128.load(x, 80), s));
    const e6 = expNegative4(f32x4.sub(v128.load(x, 96), s));
    const e7 = expNegative4(f32x4.sub(v128.load(x, 112), s));
    v128.store(x, e0);
    v128.store(x, e1, 16);
    v128.store(x, e2, 32);
    v128.store(x, e3, 48);
    v128.store(x, e4, 64);
    v128.store(x, e5, 80);
    v128.store(x, e6, 96);
    v128.store(x, e7, 112);
  }
}

/** expRow where hidden pairs must stay known: a score of −∞ becomes −0, NaN or not. */
export function expRowMarking(x: usize, n: i32, shift: f32): void {
  const s = f32x4.splat(shift);
  for (const stop = x + floats(n); x < stop; x += 16) {
    const score = v128.load(x);
    const hidden = f32x4.eq(score, f32x4.splat(-Infinity));
    const e = expNegative4(f32x4.sub(score, s));
    v128.store(x, v128.bitselect(f32x4.splat(-0.0), e, hidden));
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
