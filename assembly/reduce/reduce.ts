/** Maxima over an axis, and the gradients of reductions; sums over an axis stand in arithmetic/sum-to.ts. */
import { rowMax } from "./rows";

/** y[r] = the largest of row r; NaN when one is there. y f32[rows], x f32[rows, n]. Range: rows. */
export function maxRowF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  for (let row = begin; row < end; row++)
    store<f32>(y + ((<usize>row) << 2), rowMax(x + ((<usize>row * <usize>n) << 2), n));
}

/**
 * y[o, i] = the largest over the middle axis of x[o, m, i].
 *
 * y f32[outer, inner], x f32[outer, middle, inner]. Range: outer · ⌈inner/32⌉ blocks of columns.
 */
export function maxMiddleF32(
  y: usize,
  x: usize,
  middle: i32,
  inner: i32,
  begin: i32,
  end: i32,
): void {
  const blocks = (inner + 31) / 32;
  const bytes = (<usize>inner) << 2;
  for (let block = begin; block < end; block++) {
    const outer = block / blocks;
    const from = x + <usize>outer * <usize>middle * bytes;
    const to = y + <usize>outer * bytes;
    let column = (block % blocks) * 32;
    const stop = min(column + 32, inner);
    for (; column + 4 <= stop; column += 4) {
      const at = (<usize>column) << 2;
      let largest = f32x4.splat(-Infinity);
      for (let m: usize = 0; m < <usize>middle; m++)
        largest = f32x4.max(largest, v128.load(from + m * bytes + at));
      v128.store(to + at, largest);
    }
    for (; column < stop; column++) {
      const at = (<usize>column) << 2;
      let largest = f32x4.splat(-Infinity);
      for (let m: usize = 0; m < <usize>middle; m++)
        largest = f32x4.max(largest, v128.load32_splat(from + m * bytes + at));
      v128.store32_lane(to + at, largest, 0);
    }
  }
}

/**
 * The gradient of a maximum goes to the first element that has it: dx[o, m, i] = dy[o, i] at the
 * first m with x = y, else 0. NaN counts as equal to NaN.
 *
 * dx, x f32[outer, middle, inner]; dy, y f32[outer, inner]. Range: outer · inner.
 */
export function maxGradF32(
  dx: usize,
  dy: usize,
  x: usize,
  y: usize,
  middle: i32,
  inner: i32,
  begin: i32,
  end: i32,
): void {
  for (let unit = begin; unit < end; unit++) {
    const outer = <usize>(unit / inner);
    const column = <usize>(unit % inner);
    const at = (<usize>unit) << 2;
    const largest = load<f32>(y + at);
    const gradient = load<f32>(dy + at);
    let open = true;
    for (let m: usize = 0; m < <usize>middle; m++) {
      const from = ((outer * <usize>middle + m) * <usize>inner + column) << 2;
      const v = load<f32>(x + from);
      const hit = open && (v == largest || (v != v && largest != largest));
      store<f32>(dx + from, hit ? gradient : 0);
      if (hit) open = false;
    }
  }
}

/**
 * dx[o, m, i] = dy[o, i]·scale: the gradient of a sum or a mean.
 *
 * dx f32[outer, middle, inner], dy f32[outer, inner]. Range: outer · middle rows of inner.
 */
export function spreadF32(
  dx: usize,
  dy: usize,
  middle: i32,
  inner: i32,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>inner) << 2;
  const s = f32x4.splat(scale);
  for (let row = begin; row < end; row++) {
    let to = dx + <usize>row * bytes;
    let from = dy + <usize>(row / middle) * bytes;
    const stop = to + bytes;
    for (; to + 16 <= stop; to += 16, from += 16) v128.store(to, f32x4.mul(v128.load(from), s));
    for (; to < stop; to += 4, from += 4)
      v128.store32_lane(to, f32x4.mul(v128.load32_splat(from), s), 0);
  }
}
