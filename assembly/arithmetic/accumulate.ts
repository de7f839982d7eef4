/** In-place and fused sums: y += x, a + scale·b, constant fill. */
import { madd4 } from "../math/madd";

/** y += x, elements [begin, end): how gradients from several places meet. */
export function accumulateF32(y: usize, x: usize, begin: i32, end: i32): void {
  const stop = y + ((<usize>end) << 2);
  y += (<usize>begin) << 2;
  x += (<usize>begin) << 2;
  for (; y + 32 <= stop; y += 32, x += 32) {
    v128.store(y, f32x4.add(v128.load(y), v128.load(x)));
    v128.store(y, f32x4.add(v128.load(y, 16), v128.load(x, 16)), 16);
  }
  for (; y < stop; y += 4, x += 4) store<f32>(y, load<f32>(y) + load<f32>(x));
}

/** y = a + scale·b, elements [begin, end). y may be a or b. One rounding in the relaxed builds. */
export function addScaledF32(y: usize, a: usize, b: usize, scale: f32, begin: i32, end: i32): void {
  const s = f32x4.splat(scale);
  const stop = y + ((<usize>end) << 2);
  const at = (<usize>begin) << 2;
  y += at;
  a += at;
  b += at;
  for (; y + 32 <= stop; y += 32, a += 32, b += 32) {
    v128.store(y, madd4(s, v128.load(b), v128.load(a)));
    v128.store(y, madd4(s, v128.load(b, 16), v128.load(a, 16)), 16);
  }
  for (; y < stop; y += 4, a += 4, b += 4) {
    v128.store32_lane(y, madd4(s, v128.load32_zero(b), v128.load32_zero(a)), 0);
  }
}

/** y = value, elements [begin, end). */
export function fillF32(y: usize, value: f32, begin: i32, end: i32): void {
  const v = f32x4.splat(value);
  const stop = y + ((<usize>end) << 2);
  y += (<usize>begin) << 2;
  for (; y + 32 <= stop; y += 32) {
    v128.store(y, v);
    v128.store(y, v, 16);
  }
  for (; y < stop; y += 4) store<f32>(y, value);
}
