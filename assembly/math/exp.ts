import { madd4 } from "./madd";

// x = n·ln2 + r: log₂e, and −ln2 in two parts, of which n times the first is exact for |n| < 2¹⁵.
export const EXP_LOG2E: f32 = 1.44269504;
export const EXP_LN2: f32 = -0.693359375;
export const EXP_LN2_REST: f32 = 2.1219444e-4;
// eʳ = 1 + r + r²·(C2 + C3·r + …)
export const EXP_C2: f32 = 0.4999999;
export const EXP_C3: f32 = 0.16666521;
export const EXP_C4: f32 = 0.041668907;
export const EXP_C5: f32 = 0.008368684;
export const EXP_C6: f32 = 0.0013788106;

/**
 * eʳ − 1 for r in [−ln2/2, ln2/2] as r + r²·Q(r), so that the caller's last addition alone rounds
 * at full size. Worst error of the polynomial 0.04 ulp, of all the steps of an exponential 1 ulp.
 */
// @ts-ignore: decorator
@inline
export function expMinusOneWith4(
  r: v128,
  c6: v128,
  c5: v128,
  c4: v128,
  c3: v128,
  c2: v128,
): v128 {
  let q = madd4(c6, r, c5);
  q = madd4(q, r, c4);
  q = madd4(q, r, c3);
  q = madd4(q, r, c2);
  return madd4(f32x4.mul(r, r), q, r);
}

// @ts-ignore: decorator
@inline
function expMinusOne4(r: v128): v128 {
  const c6 = f32x4.splat(EXP_C6);
  const c5 = f32x4.splat(EXP_C5);
  const c4 = f32x4.splat(EXP_C4);
  return expMinusOneWith4(r, c6, c5, c4, f32x4.splat(EXP_C3), f32x4.splat(EXP_C2));
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
  const shifted = madd4(clamped, f32x4.splat(EXP_LOG2E), f32x4.splat(12582912));
  const n = f32x4.sub(shifted, f32x4.splat(12582912));
  let r = madd4(n, f32x4.splat(EXP_LN2), clamped);
  r = madd4(n, f32x4.splat(EXP_LN2_REST), r);
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
  const shifted = madd4(clamped, f32x4.splat(EXP_LOG2E), f32x4.splat(12583039));
  const n = f32x4.sub(shifted, f32x4.splat(12583039));
  let r = madd4(n, f32x4.splat(EXP_LN2), clamped);
  r = madd4(n, f32x4.splat(EXP_LN2_REST), r);
  const power = i32x4.shl(shifted, 23);
  return madd4(expMinusOne4(r), power, power);
}
