import { madd4 } from "./madd";

/**
 * tanh x in four lanes, within 4 ulp over the whole range, never beyond ±1; NaN stays NaN.
 *
 * With n/d ≈ tanh(x/2) the doubling tanh x = 2·n·d/(n² + d²) damps the error of n/d the more, the
 * nearer the result is to 1: degree 5/6 is enough (0.12 ulp), and at |x| ≥ 9 the result is ±1. The
 * common factor of the coefficients keeps the roundings near x = 0 small.
 */
// @ts-ignore: decorator
@inline
export function tanh4(x: v128): v128 {
  const c = tanhClamp4(x);
  const z = f32x4.mul(c, c);
  const n = f32x4.mul(c, tanhNumerator4(z));
  const d = tanhDenominator4(z);
  return f32x4.div(
    f32x4.mul(f32x4.add(n, n), d),
    f32x4.add(f32x4.mul(n, n), f32x4.mul(d, d)),
  );
}

/** x within ±9. pmax and pmin keep a NaN of their first operand, and are one instruction. */
// @ts-ignore: decorator
@inline
export function tanhClamp4(x: v128): v128 {
  return f32x4.pmin(f32x4.pmax(x, f32x4.splat(-9)), f32x4.splat(9));
}

/** n/x from z = x². */
// @ts-ignore: decorator
@inline
export function tanhNumerator4(z: v128): v128 {
  const p = madd4(z, f32x4.splat(9.652029e-05), f32x4.splat(0.025186831));
  return madd4(p, z, f32x4.splat(0.84621084));
}

/** d from z = x². */
// @ts-ignore: decorator
@inline
export function tanhDenominator4(z: v128): v128 {
  let d = madd4(z, f32x4.splat(2.07379e-06), f32x4.splat(0.0020403285));
  d = madd4(d, z, f32x4.splat(0.19140875));
  return madd4(d, z, f32x4.splat(1.6924217));
}
