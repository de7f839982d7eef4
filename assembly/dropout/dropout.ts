/**
 * Inverted dropout: y = keep ? scale·x : 0 with scale = 1/(1 − p). The decision is a hash of
 * (seed, element index), so the mask needs no memory: backward calls the same kernel on dy.
 */
import { keepBits } from "./philox";

/**
 * y[i] = keep(seed, i) ? scale·x[i] : 0.
 *
 * @param y          f32[n]; may be x
 * @param threshold  p·2³², unsigned
 *
 * The range splits ⌈n / 32⌉ blocks of 32 elements. Backward needs the seed.
 */
export function dropoutF32(
  y: usize,
  x: usize,
  n: i32,
  seed: i32,
  threshold: i32,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  const s = f32x4.splat(scale);
  for (let block = begin; block < end; block++) {
    let bits = keepBits(block, seed, threshold);
    const from = block << 5;
    let at = (<usize>from) << 2;
    const stop = (<usize>min(from + 32, n)) << 2;
    for (; at + 16 <= stop; at += 16, bits >>= 4) {
      v128.store(y + at, v128.and(lanesOf(bits), f32x4.mul(s, v128.load(x + at))));
    }
    for (; at < stop; at += 4, bits >>= 1) {
      const kept = f32x4.mul(s, v128.load32_zero(x + at));
      v128.store32_lane(y + at, v128.and(lanesOf(bits), kept), 0);
    }
  }
}

/** All ones in the lanes whose bit is set among the lowest four. */
// @ts-ignore: decorator
@inline
function lanesOf(bits: i32): v128 {
  const lanes = i32x4(1, 2, 4, 8);
  return i32x4.eq(v128.and(i32x4.splat(bits), lanes), lanes);
}

/**
 * mask[i] = 1 where dropoutF32 keeps element i, 0 where it drops it: what was applied, to show.
 * mask is u8[n]. The range splits ⌈n / 32⌉ blocks of 32 elements.
 */
export function dropoutMaskU8(
  mask: usize,
  n: i32,
  seed: i32,
  threshold: i32,
  begin: i32,
  end: i32,
): void {
  for (let block = begin; block < end; block++) {
    let bits = keepBits(block, seed, threshold);
    const stop = min((block + 1) << 5, n);
    for (let i = block << 5; i < stop; i++, bits >>= 1) store<u8>(mask + i, bits & 1);
  }
}

/**
 * y[i] = mask[i] ? scale·x[i] : 0, for a mask u8 that the caller made; any byte but 0 keeps.
 * y may be x. The range splits elements. Backward needs the mask.
 */
export function dropoutMaskedF32(
  y: usize,
  x: usize,
  mask: usize,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  const s = f32x4.splat(scale);
  const zero = i32x4.splat(0);
  let i = begin;
  for (; i + 4 <= end; i += 4) {
    const at = (<usize>i) << 2;
    const bytes = v128.load32_zero(mask + i);
    const lanes = i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(bytes));
    v128.store(y + at, v128.andnot(f32x4.mul(s, v128.load(x + at)), i32x4.eq(lanes, zero)));
  }
  for (; i < end; i++) {
    const at = (<usize>i) << 2;
    store<f32>(y + at, load<u8>(mask + i) ? scale * load<f32>(x + at) : 0);
  }
}
