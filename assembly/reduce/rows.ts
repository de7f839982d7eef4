/**
 * Reductions of one row. Element j of a sum goes to accumulator j mod 32, the tail is filled up with
 * what changes nothing, and the accumulators meet in one fixed tree: a row padded with neutral
 * elements has the bits of the row alone.
 *
 * Hot loops are `do … while` behind an `if`: the V8 of Node 20 then moves what is constant out of the
 * loop, which it does not do for one that may run zero times.
 */
import { madd4 } from "../math/madd";

/** Bytes of one turn: 32 floats, a vector for each of eight accumulators. */
// @ts-ignore: decorator
@inline
export const TURN: usize = 128;

/** The vector at `x` of a row that ends at `stop`; lanes behind the end hold `neutral`. */
// @ts-ignore: decorator
@inline
export function loadPart(x: usize, stop: usize, neutral: v128): v128 {
  if (x + 16 <= stop) return v128.load(x);
  let v = neutral;
  if (x < stop) v = v128.load32_lane(x, v, 0);
  if (x + 4 < stop) v = v128.load32_lane(x + 4, v, 1);
  if (x + 8 < stop) v = v128.load32_lane(x + 8, v, 2);
  return v;
}

/** The largest number of a row, NaN passed over; −∞ when there is none. */
export function rowMax(x: usize, n: i32): f32 {
  // f32x4.pmax is one instruction where f32x4.max, which keeps NaN, is seven.
  const stop = x + ((<usize>n) << 2);
  let a = f32x4.splat(-Infinity);
  let b = a;
  let c = a;
  let d = a;
  if (x + 64 <= stop) {
    do {
      a = f32x4.pmax(a, v128.load(x));
      b = f32x4.pmax(b, v128.load(x, 16));
      c = f32x4.pmax(c, v128.load(x, 32));
      d = f32x4.pmax(d, v128.load(x, 48));
      x += 64;
    } while (x + 64 <= stop);
  }
  for (; x + 16 <= stop; x += 16) a = f32x4.pmax(a, v128.load(x));
  for (; x < stop; x += 4) b = f32x4.pmax(b, v128.load32_splat(x));
  a = f32x4.pmax(f32x4.pmax(a, b), f32x4.pmax(c, d));
  a = f32x4.pmax(a, i32x4.shuffle(a, a, 2, 3, 0, 1));
  return max<f32>(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1));
}

/** The sum of a row, element j in accumulator j mod 32. */
export function rowSum(x: usize, n: i32): f32 {
  const stop = x + ((<usize>n) << 2);
  const none = f32x4.splat(0);
  let a = none;
  let b = a;
  let c = a;
  let d = a;
  let e = a;
  let f = a;
  let g = a;
  let h = a;
  if (x + TURN <= stop) {
    do {
      a = f32x4.add(a, v128.load(x));
      b = f32x4.add(b, v128.load(x, 16));
      c = f32x4.add(c, v128.load(x, 32));
      d = f32x4.add(d, v128.load(x, 48));
      e = f32x4.add(e, v128.load(x, 64));
      f = f32x4.add(f, v128.load(x, 80));
      g = f32x4.add(g, v128.load(x, 96));
      h = f32x4.add(h, v128.load(x, 112));
      x += TURN;
    } while (x + TURN <= stop);
  }
  if (x < stop) {
    a = f32x4.add(a, loadPart(x, stop, none));
    b = f32x4.add(b, loadPart(x + 16, stop, none));
    c = f32x4.add(c, loadPart(x + 32, stop, none));
    d = f32x4.add(d, loadPart(x + 48, stop, none));
    e = f32x4.add(e, loadPart(x + 64, stop, none));
    f = f32x4.add(f, loadPart(x + 80, stop, none));
    g = f32x4.add(g, loadPart(x + 96, stop, none));
    h = f32x4.add(h, loadPart(x + 112, stop, none));
  }
  return sum32(a, b, c, d, e, f, g, h);
}

/** Σ a·b over a row, element j in accumulator j mod 32. */
export function rowDot(a: usize, b: usize, n: i32): f32 {
  const stop = a + ((<usize>n) << 2);
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let s4 = s0;
  let s5 = s0;
  let s6 = s0;
  let s7 = s0;
  if (a + TURN <= stop) {
    do {
      s0 = madd4(v128.load(a), v128.load(b), s0);
      s1 = madd4(v128.load(a, 16), v128.load(b, 16), s1);
      s2 = madd4(v128.load(a, 32), v128.load(b, 32), s2);
      s3 = madd4(v128.load(a, 48), v128.load(b, 48), s3);
      s4 = madd4(v128.load(a, 64), v128.load(b, 64), s4);
      s5 = madd4(v128.load(a, 80), v128.load(b, 80), s5);
      s6 = madd4(v128.load(a, 96), v128.load(b, 96), s6);
      s7 = madd4(v128.load(a, 112), v128.load(b, 112), s7);
      a += TURN;
      b += TURN;
    } while (a + TURN <= stop);
  }
  if (a < stop) {
    const toB = b - a;
    s0 = dotPart(s0, a, stop, toB);
    s1 = dotPart(s1, a + 16, stop, toB);
    s2 = dotPart(s2, a + 32, stop, toB);
    s3 = dotPart(s3, a + 48, stop, toB);
    s4 = dotPart(s4, a + 64, stop, toB);
    s5 = dotPart(s5, a + 80, stop, toB);
    s6 = dotPart(s6, a + 96, stop, toB);
    s7 = dotPart(s7, a + 112, stop, toB);
  }
  return sum32(s0, s1, s2, s3, s4, s5, s6, s7);
}

// @ts-ignore: decorator
@inline
function dotPart(sum: v128, a: usize, stop: usize, toB: usize): v128 {
  const none = f32x4.splat(0);
  return madd4(loadPart(a, stop, none), loadPart(a + toB, stop + toB, none), sum);
}

/** The 32 accumulators in one fixed tree. */
// @ts-ignore: decorator
@inline
export function sum32(a: v128, b: v128, c: v128, d: v128, e: v128, f: v128, g: v128, h: v128): f32 {
  const left = f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
  const right = f32x4.add(f32x4.add(e, f), f32x4.add(g, h));
  const v = f32x4.add(left, right);
  return (
    f32x4.extract_lane(v, 0) +
    f32x4.extract_lane(v, 1) +
    (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
  );
}
