import { madd4 } from "./madd";

/**
 * erf x in four lanes, within 4 ulp over the whole range, never beyond ±1; NaN stays NaN.
 *
 * Written as tanh is: erf x = 2·n·d/(n² + d²) with n/d ≈ erf x/(1 + √(1 − erf² x)), of degree 7/8
 * (0.54 ulp), which damps the error of n/d the more, the nearer the result is to 1.
 */
// @ts-ignore: decorator
@inline
export function erf4(x: v128): v128 {
  const c = erfClamp4(x);
  const z = f32x4.mul(c, c);
  const n = f32x4.mul(c, erfNumerator4(z));
  const d = erfDenominator4(z);
  const y = f32x4.div(
    f32x4.mul(f32x4.add(n, n), d),
    f32x4.add(f32x4.mul(n, n), f32x4.mul(d, d)),
  );
  // Rounding may pass ±1 by one step.
  return f32x4.pmin(f32x4.pmax(y, f32x4.splat(-1)), f32x4.splat(1));
}

/** x within ±3.9. pmax and pmin keep a NaN of their first operand, and are one instruction. */
// @ts-ignore: decorator
@inline
export function erfClamp4(x: v128): v128 {
  return f32x4.pmin(f32x4.pmax(x, f32x4.splat(-3.9)), f32x4.splat(3.9));
}

/** n/x from z = x². */
// @ts-ignore: decorator
@inline
export function erfNumerator4(z: v128): v128 {
  let p = madd4(z, f32x4.splat(0.0023169196), f32x4.splat(0.028895678));
  p = madd4(p, z, f32x4.splat(0.26776648));
  return madd4(p, z, f32x4.splat(0.9911275));
}

/** d from z = x². */
// @ts-ignore: decorator
@inline
export function erfDenominator4(z: v128): v128 {
  let d = madd4(z, f32x4.splat(0.00018073866), f32x4.splat(0.01097728));
  d = madd4(d, z, f32x4.splat(0.086254716));
  d = madd4(d, z, f32x4.splat(0.5009979));
  return madd4(d, z, f32x4.splat(1.7567277));
}
