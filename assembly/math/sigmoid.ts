import {
  EXP_C2,
  EXP_C3,
  EXP_C4,
  EXP_C5,
  EXP_C6,
  EXP_LN2,
  EXP_LN2_REST,
  EXP_LOG2E,
  expMinusOneWith4,
} from "./exp";
import { madd4 } from "./madd";

export const SIGMOID_LOW: f32 = -104; // e⁻¹⁰⁴ is 0
export const SIGMOID_BIAS: f32 = 12583103; // 1.5·2²³ + 127 + 64
export const SIGMOID_SCALE: f32 = 5.421010862427522e-20; // 2⁻⁶⁴

/**
 * 1/(1 + e⁻ˣ) in four lanes, within 4 ulp over the whole range, subnormal results too; NaN stays
 * NaN. With z = e^−|x|, which cannot overflow, it is 1/(1 + z) on the right, z/(1 + z) on the left.
 */
// @ts-ignore: decorator
@inline
export function sigmoid4(x: v128): v128 {
  return sigmoidWith4(
    x,
    f32x4.splat(SIGMOID_LOW),
    f32x4.splat(EXP_LOG2E),
    f32x4.splat(SIGMOID_BIAS),
    f32x4.splat(EXP_LN2),
    f32x4.splat(EXP_LN2_REST),
    f32x4.splat(EXP_C6),
    f32x4.splat(EXP_C5),
    f32x4.splat(EXP_C4),
    f32x4.splat(EXP_C3),
    f32x4.splat(EXP_C2),
    f32x4.splat(SIGMOID_SCALE),
    f32x4.splat(1),
  );
}

/** sigmoid4 for loops that hold its constants (held.ts). */
// @ts-ignore: decorator
@inline
export function sigmoidWith4(
  x: v128,
  low: v128,
  log2e: v128,
  bias: v128,
  ln2: v128,
  ln2Rest: v128,
  c6: v128,
  c5: v128,
  c4: v128,
  c3: v128,
  c2: v128,
  scale: v128,
  one: v128,
): v128 {
  const negative = v128.or(x, f32x4.splat(-0.0)); // the sign bit set: −|x|
  const clamped = f32x4.pmax(negative, low);
  const shifted = madd4(clamped, log2e, bias);
  const n = f32x4.sub(shifted, bias);
  const r = madd4(n, ln2Rest, madd4(n, ln2, clamped));
  // 2ⁿ⁺⁶⁴ is normal for all n that occur; the product with 2⁻⁶⁴ rounds once.
  const power = i32x4.shl(shifted, 23);
  const z = f32x4.mul(madd4(expMinusOneWith4(r, c6, c5, c4, c3, c2), power, power), scale);
  const numerator = f32x4.pmax(z, v128.andnot(one, i32x4.shr_s(x, 31)));
  return f32x4.div(numerator, f32x4.add(one, z));
}
