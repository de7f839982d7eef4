import { madd4 } from "./madd";

/**
 * eʳ − 1 for r in [−ln2/2, ln2/2] as r + r²·Q(r), so that the caller's last addition alone rounds at
 * full size. Worst error of the polynomial 0.04 ulp, of all the steps 1 ulp.
 */
// @ts-ignore: decorator
@inline
function expMinusOne4(r: v128): v128 {
  let q = madd4(f32x4.splat(0.0013788106), r, f32x4.splat(0.008368684));
  q = madd4(q, r, f32x4.splat(0.041668907));
  q = madd4(q, r, f32x4.splat(0.16666521));
  q = madd4(q, r, f32x4.splat(0.4999999));
  return madd4(f32x4.mul(r, r), q, r);
}

/**
 * eˣ in four lanes over the whole range, within 2 ulp: −∞ gives 0, overflow ∞, NaN stays NaN,
 * subnormal results are kept.
 */
// @ts-ignore: decorator
@inline
export function exp4(x: v128): v128 {
  // Beyond these the result is 0 or ∞ anyway; pmax and pmin keep a NaN of their first operand.
  const clamped = f32x4.pmin(f32x4.pmax(x, f32x4.splat(-104)), f32x4.splat(89));
  // 1. x = n·ln2 + r; adding 1.5·2²³ leaves the rounded n in the low bits
  const shifted = madd4(clamped, f32x4.splat(1.44269504), f32x4.splat(12582912));
  const n = f32x4.sub(shifted, f32x4.splat(12582912));
  let r = madd4(n, f32x4.splat(-0.693359375), clamped);
  r = madd4(n, f32x4.splat(2.12194440e-4), r);
  // 2. eˣ = eʳ · 2ⁿ, in two factors since 2ⁿ alone leaves the range of f32
  const whole = i32x4.sub(shifted, i32x4.splat(0x4b400000));
  const half = i32x4.shr_s(whole, 1);
  const low = i32x4.shl(i32x4.add(half, i32x4.splat(127)), 23);
  const high = i32x4.shl(i32x4.add(i32x4.sub(whole, half), i32x4.splat(127)), 23);
  return f32x4.mul(madd4(expMinusOne4(r), low, low), high);
}

/**
 * eˣ in four lanes for x ≤ 0 (−∞ and NaN too), within 2 ulp: what a softmax needs, at eight
 * operations less than exp4. Where eˣ < 2⁻¹²⁶·√½ the result is 0.
 */
// @ts-ignore: decorator
@inline
export function expNegative4(x: v128): v128 {
  const clamped = f32x4.pmax(x, f32x4.splat(-88));
  // The low bits hold n + 127, the exponent of 2ⁿ; at n = −127 the factor is 0.
  const shifted = madd4(clamped, f32x4.splat(1.44269504), f32x4.splat(12583039));
  const n = f32x4.sub(shifted, f32x4.splat(12583039));
  let r = madd4(n, f32x4.splat(-0.693359375), clamped);
  r = madd4(n, f32x4.splat(2.12194440e-4), r);
  const power = i32x4.shl(shifted, 23);
  return madd4(expMinusOne4(r), power, power);
}
