import { exp4 } from "./exp";

/**
 * 1/(1 + e⁻ˣ) in four lanes, within 4 ulp over the whole range, subnormal results too; NaN stays
 * NaN. With z = e^−|x|, which cannot overflow, it is 1/(1 + z) on the right and z/(1 + z) on the left.
 */
// @ts-ignore: decorator
@inline
export function sigmoid4(x: v128): v128 {
  const one = f32x4.splat(1);
  const z = exp4(v128.or(x, f32x4.splat(-0.0))); // the sign bit set: −|x|
  const numerator = f32x4.pmax(z, v128.andnot(one, i32x4.shr_s(x, 31)));
  return f32x4.div(numerator, f32x4.add(one, z));
}
