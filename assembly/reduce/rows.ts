/**
 * Sums over one row. Element j goes to accumulator j mod 32, the tail is filled up with what changes
 * nothing, and the accumulators meet in one fixed tree: a row padded with neutral elements has the
 * bits of the row alone.
 */

/** Lanes that a row reduction keeps apart: element j goes to accumulator j mod 32. */
export const STRIDE: usize = 32 * 4;

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

/**
 * The largest element of a row; −∞ for an empty row, NaN when one is there. NaN is looked for beside
 * the maximum: f32x4.max, which passes it on, is eight instructions in V8, pmax is one.
 */
export function rowMax(x: usize, n: i32): f32 {
  const stop = x + ((<usize>n) << 2);
  const low = f32x4.splat(-Infinity);
  let a = low;
  let b = low;
  let numbers = i32x4.splat(-1);
  for (; x + 32 <= stop; x += 32) {
    const left = v128.load(x);
    const right = v128.load(x, 16);
    a = f32x4.pmax(a, left);
    b = f32x4.pmax(b, right);
    numbers = v128.and(numbers, v128.and(f32x4.eq(left, left), f32x4.eq(right, right)));
  }
  for (; x < stop; x += 16) {
    const part = loadPart(x, stop, low);
    a = f32x4.pmax(a, part);
    numbers = v128.and(numbers, f32x4.eq(part, part));
  }
  if (!i32x4.all_true(numbers)) return NaN;
  a = f32x4.pmax(a, b);
  const c = max<f32>(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1));
  const d = max<f32>(f32x4.extract_lane(a, 2), f32x4.extract_lane(a, 3));
  return max<f32>(c, d);
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
  for (; x + STRIDE <= stop; x += STRIDE) {
    a = f32x4.add(a, v128.load(x));
    b = f32x4.add(b, v128.load(x, 16));
    c = f32x4.add(c, v128.load(x, 32));
    d = f32x4.add(d, v128.load(x, 48));
    e = f32x4.add(e, v128.load(x, 64));
    f = f32x4.add(f, v128.load(x, 80));
    g = f32x4.add(g, v128.load(x, 96));
    h = f32x4.add(h, v128.load(x, 112));
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
  return sumAll(a, b, c, d, e, f, g, h);
}

/** Σ a·b over a row, element j in accumulator j mod 32. */
export function rowDot(a: usize, b: usize, n: i32): f32 {
  const stop = a + ((<usize>n) << 2);
  const toB = b - a;
  const none = f32x4.splat(0);
  let s0 = none;
  let s1 = none;
  let s2 = none;
  let s3 = none;
  let s4 = none;
  let s5 = none;
  let s6 = none;
  let s7 = none;
  let at = a;
  for (; at + STRIDE <= stop; at += STRIDE) {
    s0 = f32x4.add(s0, f32x4.mul(v128.load(at), v128.load(at + toB)));
    s1 = f32x4.add(s1, f32x4.mul(v128.load(at, 16), v128.load(at + toB, 16)));
    s2 = f32x4.add(s2, f32x4.mul(v128.load(at, 32), v128.load(at + toB, 32)));
    s3 = f32x4.add(s3, f32x4.mul(v128.load(at, 48), v128.load(at + toB, 48)));
    s4 = f32x4.add(s4, f32x4.mul(v128.load(at, 64), v128.load(at + toB, 64)));
    s5 = f32x4.add(s5, f32x4.mul(v128.load(at, 80), v128.load(at + toB, 80)));
    s6 = f32x4.add(s6, f32x4.mul(v128.load(at, 96), v128.load(at + toB, 96)));
    s7 = f32x4.add(s7, f32x4.mul(v128.load(at, 112), v128.load(at + toB, 112)));
  }
  if (at < stop) {
    s0 = f32x4.add(s0, productPart(at, stop, toB));
    s1 = f32x4.add(s1, productPart(at + 16, stop, toB));
    s2 = f32x4.add(s2, productPart(at + 32, stop, toB));
    s3 = f32x4.add(s3, productPart(at + 48, stop, toB));
    s4 = f32x4.add(s4, productPart(at + 64, stop, toB));
    s5 = f32x4.add(s5, productPart(at + 80, stop, toB));
    s6 = f32x4.add(s6, productPart(at + 96, stop, toB));
    s7 = f32x4.add(s7, productPart(at + 112, stop, toB));
  }
  return sumAll(s0, s1, s2, s3, s4, s5, s6, s7);
}

// @ts-ignore: decorator
@inline
function productPart(a: usize, stop: usize, toB: usize): v128 {
  const none = f32x4.splat(0);
  return f32x4.mul(loadPart(a, stop, none), loadPart(a + toB, stop + toB, none));
}

/** Σ (x − mean)² over a row, element j in accumulator j mod 32. */
export function rowSquares(x: usize, n: i32, mean: f32): f32 {
  const stop = x + ((<usize>n) << 2);
  const m = f32x4.splat(mean);
  const none = f32x4.splat(0);
  let a = none;
  let b = a;
  let c = a;
  let d = a;
  let e = a;
  let f = a;
  let g = a;
  let h = a;
  for (; x + STRIDE <= stop; x += STRIDE) {
    a = f32x4.add(a, squareOf(v128.load(x), m));
    b = f32x4.add(b, squareOf(v128.load(x, 16), m));
    c = f32x4.add(c, squareOf(v128.load(x, 32), m));
    d = f32x4.add(d, squareOf(v128.load(x, 48), m));
    e = f32x4.add(e, squareOf(v128.load(x, 64), m));
    f = f32x4.add(f, squareOf(v128.load(x, 80), m));
    g = f32x4.add(g, squareOf(v128.load(x, 96), m));
    h = f32x4.add(h, squareOf(v128.load(x, 112), m));
  }
  if (x < stop) {
    a = f32x4.add(a, squareOf(loadPart(x, stop, m), m));
    b = f32x4.add(b, squareOf(loadPart(x + 16, stop, m), m));
    c = f32x4.add(c, squareOf(loadPart(x + 32, stop, m), m));
    d = f32x4.add(d, squareOf(loadPart(x + 48, stop, m), m));
    e = f32x4.add(e, squareOf(loadPart(x + 64, stop, m), m));
    f = f32x4.add(f, squareOf(loadPart(x + 80, stop, m), m));
    g = f32x4.add(g, squareOf(loadPart(x + 96, stop, m), m));
    h = f32x4.add(h, squareOf(loadPart(x + 112, stop, m), m));
  }
  return sumAll(a, b, c, d, e, f, g, h);
}

// @ts-ignore: decorator
@inline
function squareOf(x: v128, mean: v128): v128 {
  const centred = f32x4.sub(x, mean);
  return f32x4.mul(centred, centred);
}

/** The 32 accumulators in one fixed tree. */
// @ts-ignore: decorator
@inline
export function sumAll(a: v128, b: v128, c: v128, d: v128, e: v128, f: v128, g: v128, h: v128): f32 {
  const left = f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
  const right = f32x4.add(f32x4.add(e, f), f32x4.add(g, h));
  const v = f32x4.add(left, right);
  return (
    f32x4.extract_lane(v, 0) +
    f32x4.extract_lane(v, 1) +
    (f32x4.extract_lane(v, 2) + f32x4.extract_lane(v, 3))
  );
}
