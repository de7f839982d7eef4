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
