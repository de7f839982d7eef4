/**
 * Rows of a layer normalisation, measured from their first element: x − x₀ is exact or nearly so
 * where all elements are large and alike, so a large mean costs no digits. `offset` is μ − x₀.
 */
import { loadFirst4 } from "../gemm/lanes";
import { madd4 } from "../math/madd";
import { loadPart, sum32, TURN } from "../reduce/rows";

/** x − μ in four lanes. */
// @ts-ignore: decorator
@inline
export function centred4(x: v128, first: v128, offset: v128): v128 {
  return f32x4.sub(f32x4.sub(x, first), offset);
}

/** x̂ = (x − μ)·scale in four lanes. */
// @ts-ignore: decorator
@inline
export function normal4(x: v128, first: v128, offset: v128, scale: v128): v128 {
  return f32x4.mul(centred4(x, first, offset), scale);
}

/** μ − x₀ of a row. */
export function rowOffset(x: usize, n: i32): f32 {
  const stop = x + ((<usize>n) << 2);
  const first = v128.load32_splat(x);
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  let e = a;
  let f = a;
  let g = a;
  let h = a;
  if (x + TURN <= stop) {
    do {
      a = f32x4.add(a, f32x4.sub(v128.load(x), first));
      b = f32x4.add(b, f32x4.sub(v128.load(x, 16), first));
      c = f32x4.add(c, f32x4.sub(v128.load(x, 32), first));
      d = f32x4.add(d, f32x4.sub(v128.load(x, 48), first));
      e = f32x4.add(e, f32x4.sub(v128.load(x, 64), first));
      f = f32x4.add(f, f32x4.sub(v128.load(x, 80), first));
      g = f32x4.add(g, f32x4.sub(v128.load(x, 96), first));
      h = f32x4.add(h, f32x4.sub(v128.load(x, 112), first));
      x += TURN;
    } while (x + TURN <= stop);
  }
  if (x < stop) {
    a = f32x4.add(a, f32x4.sub(loadPart(x, stop, first), first));
    b = f32x4.add(b, f32x4.sub(loadPart(x + 16, stop, first), first));
    c = f32x4.add(c, f32x4.sub(loadPart(x + 32, stop, first), first));
    d = f32x4.add(d, f32x4.sub(loadPart(x + 48, stop, first), first));
    e = f32x4.add(e, f32x4.sub(loadPart(x + 64, stop, first), first));
    f = f32x4.add(f, f32x4.sub(loadPart(x + 80, stop, first), first));
    g = f32x4.add(g, f32x4.sub(loadPart(x + 96, stop, first), first));
    h = f32x4.add(h, f32x4.sub(loadPart(x + 112, stop, first), first));
  }
  return sum32(a, b, c, d, e, f, g, h) / <f32>n;
}

/** The mean of (x − μ)² over a row. */
export function rowVariance(x: usize, n: i32, offset: f32): f32 {
  const stop = x + ((<usize>n) << 2);
  const first = v128.load32_splat(x);
  const o = f32x4.splat(offset);
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  let e = a;
  let f = a;
  let g = a;
  let h = a;
  if (x + TURN <= stop) {
    do {
      a = addSquare4(a, centred4(v128.load(x), first, o));
      b = addSquare4(b, centred4(v128.load(x, 16), first, o));
      c = addSquare4(c, centred4(v128.load(x, 32), first, o));
      d = addSquare4(d, centred4(v128.load(x, 48), first, o));
      e = addSquare4(e, centred4(v128.load(x, 64), first, o));
      f = addSquare4(f, centred4(v128.load(x, 80), first, o));
      g = addSquare4(g, centred4(v128.load(x, 96), first, o));
      h = addSquare4(h, centred4(v128.load(x, 112), first, o));
      x += TURN;
    } while (x + TURN <= stop);
  }
  if (x < stop) {
    a = addSquare4(a, centredPart(x, stop, first, o));
    b = addSquare4(b, centredPart(x + 16, stop, first, o));
    c = addSquare4(c, centredPart(x + 32, stop, first, o));
    d = addSquare4(d, centredPart(x + 48, stop, first, o));
    e = addSquare4(e, centredPart(x + 64, stop, first, o));
    f = addSquare4(f, centredPart(x + 80, stop, first, o));
    g = addSquare4(g, centredPart(x + 96, stop, first, o));
    h = addSquare4(h, centredPart(x + 112, stop, first, o));
  }
  return sum32(a, b, c, d, e, f, g, h) / <f32>n;
}

// @ts-ignore: decorator
@inline
function addSquare4(sum: v128, x: v128): v128 {
  return madd4(x, x, sum);
}

/** x − μ of the last elements of a row; lanes behind its end are 0. */
// @ts-ignore: decorator
@inline
function centredPart(x: usize, stop: usize, first: v128, offset: v128): v128 {
  const lanes = i32x4.add(i32x4.splat(<i32>x), i32x4(0, 4, 8, 12));
  const inside = i32x4.lt_u(lanes, i32x4.splat(<i32>stop));
  return v128.and(centred4(loadPart(x, stop, first), first, offset), inside);
}

/** Σ dy·γ·(x − μ) over a row. */
export function rowSlope(dy: usize, x: usize, gamma: usize, n: i32, offset: f32): f32 {
  const stop = x + ((<usize>n) << 2);
  const first = v128.load32_splat(x);
  const o = f32x4.splat(offset);
  let a = f32x4.splat(0);
  let b = a;
  let c = a;
  let d = a;
  let e = a;
  let f = a;
  let g = a;
  let h = a;
  if (x + TURN <= stop) {
    do {
      a = madd4(product4(dy, gamma), centred4(v128.load(x), first, o), a);
      b = madd4(product4(dy + 16, gamma + 16), centred4(v128.load(x, 16), first, o), b);
      c = madd4(product4(dy + 32, gamma + 32), centred4(v128.load(x, 32), first, o), c);
      d = madd4(product4(dy + 48, gamma + 48), centred4(v128.load(x, 48), first, o), d);
      e = madd4(product4(dy + 64, gamma + 64), centred4(v128.load(x, 64), first, o), e);
      f = madd4(product4(dy + 80, gamma + 80), centred4(v128.load(x, 80), first, o), f);
      g = madd4(product4(dy + 96, gamma + 96), centred4(v128.load(x, 96), first, o), g);
      h = madd4(product4(dy + 112, gamma + 112), centred4(v128.load(x, 112), first, o), h);
      x += TURN;
      dy += TURN;
      gamma += TURN;
    } while (x + TURN <= stop);
  }
  if (x < stop) {
    const left = <i32>(stop - x) >> 2;
    a = slopePart(a, dy, x, gamma, left, first, o);
    b = slopePart(b, dy + 16, x + 16, gamma + 16, left - 4, first, o);
    c = slopePart(c, dy + 32, x + 32, gamma + 32, left - 8, first, o);
    d = slopePart(d, dy + 48, x + 48, gamma + 48, left - 12, first, o);
    e = slopePart(e, dy + 64, x + 64, gamma + 64, left - 16, first, o);
    f = slopePart(f, dy + 80, x + 80, gamma + 80, left - 20, first, o);
    g = slopePart(g, dy + 96, x + 96, gamma + 96, left - 24, first, o);
    h = slopePart(h, dy + 112, x + 112, gamma + 112, left - 28, first, o);
  }
  return sum32(a, b, c, d, e, f, g, h);
}

// @ts-ignore: decorator
@inline
function product4(a: usize, b: usize): v128 {
  return f32x4.mul(v128.load(a), v128.load(b));
}

/** The last elements of a row; in lanes behind its end dy is 0. */
function slopePart(
  sum: v128,
  dy: usize,
  x: usize,
  gamma: usize,
  left: i32,
  first: v128,
  offset: v128,
): v128 {
  if (left <= 0) return sum;
  const g = f32x4.mul(loadFirst4(dy, left), loadFirst4(gamma, left));
  const stop = x + ((<usize>left) << 2);
  return madd4(g, centred4(loadPart(x, stop, first), first, offset), sum);
}
