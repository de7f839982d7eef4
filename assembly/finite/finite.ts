/**
 * flags[b] = 1 when every number of block b of 4096 is finite, 0 when a NaN or an infinity is
 * among them. A float is finite when its bits without the sign are below those of infinity.
 *
 * @param flags  i32[⌈n / 4096⌉]
 * @param x      f32[n]
 *
 * The range splits blocks.
 */
export function allFiniteF32(flags: usize, x: usize, n: i32, begin: i32, end: i32): void {
  for (let block = begin; block < end; block++) {
    const from = block << 12;
    const largest = largestBits(x + ((<usize>from) << 2), min(4096, n - from));
    store<i32>(flags + ((<usize>block) << 2), largest < INFINITY_BITS ? 1 : 0);
  }
}

// @ts-ignore: decorator
@inline
const INFINITY_BITS: u32 = 0x7f800000;

/** The largest of the n numbers' bits without the sign. */
function largestBits(x: usize, n: i32): u32 {
  const magnitude = i32x4.splat(0x7fffffff);
  let a = i32x4.splat(0);
  let b = a;
  let stop = x + ((<usize>(n >> 3)) << 5);
  for (; x < stop; x += 32) {
    a = i32x4.max_u(a, v128.and(v128.load(x), magnitude));
    b = i32x4.max_u(b, v128.and(v128.load(x, 16), magnitude));
  }
  stop = x + ((<usize>(n & 7)) << 2);
  for (; x < stop; x += 4) a = i32x4.max_u(a, v128.and(v128.load32_zero(x), magnitude));
  a = i32x4.max_u(a, b);
  a = i32x4.max_u(a, i32x4.shuffle(a, a, 2, 3, 0, 1));
  return max(<u32>i32x4.extract_lane(a, 0), <u32>i32x4.extract_lane(a, 1));
}
