import { madd4 } from "./madd";

/**
 * ln x in four lanes, within 4 ulp: 0 gives −∞, negative numbers and NaN give NaN, ∞ gives ∞,
 * subnormal x are taken at their value.
 */
// @ts-ignore: decorator
@inline
export function log4(x: v128): v128 {
  // 1. x = m·2ᵉ with m in [√½, √2); subnormal x are scaled up by 2²³ first
  const small = f32x4.lt(x, f32x4.splat(1.17549435e-38));
  const scaled = v128.bitselect(f32x4.mul(x, f32x4.splat(8388608)), x, small);
  const offset = i32x4.sub(scaled, i32x4.splat(0x3f3504f3));
  const e = f32x4.sub(
    f32x4.convert_i32x4_s(i32x4.shr_s(offset, 23)),
    v128.and(f32x4.splat(23), small),
  );
  const m = i32x4.add(v128.and(offset, i32x4.splat(0x007fffff)), i32x4.splat(0x3f3504f3));
  const f = f32x4.sub(m, f32x4.splat(1));
  // 2. ln(1 + f) = f − f²/2 + f³·P(f)
  const z = f32x4.mul(f, f);
  let p = madd4(f, f32x4.splat(7.0376836292e-2), f32x4.splat(-1.1514610310e-1));
  p = madd4(p, f, f32x4.splat(1.1676998740e-1));
  p = madd4(p, f, f32x4.splat(-1.2420140846e-1));
  p = madd4(p, f, f32x4.splat(1.4249322787e-1));
  p = madd4(p, f, f32x4.splat(-1.6668057665e-1));
  p = madd4(p, f, f32x4.splat(2.0000714765e-1));
  p = madd4(p, f, f32x4.splat(-2.4999993993e-1));
  p = madd4(p, f, f32x4.splat(3.3333331174e-1));
  p = f32x4.mul(f32x4.mul(p, f), z);
  p = madd4(e, f32x4.splat(-2.12194440e-4), p);
  p = madd4(z, f32x4.splat(-0.5), p);
  const y = madd4(e, f32x4.splat(0.693359375), f32x4.add(f, p));
  // 3. what lies outside (0, ∞)
  const infinity = f32x4.splat(Infinity);
  const kept = v128.bitselect(y, x, f32x4.lt(x, infinity)); // ∞ and NaN as they came
  const zero = f32x4.eq(x, f32x4.splat(0));
  const negative = f32x4.lt(x, f32x4.splat(0));
  return v128.or(v128.bitselect(f32x4.splat(-Infinity), kept, zero), negative);
}
