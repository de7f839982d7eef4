import { madd4 } from "./madd";

// n = x·P(x²) and d = D(x²) for |x| ≤ TANH_END.
export const TANH_END: f32 = 9; // the quotient there is 1, fused or not
export const TANH_P2: f32 = 9.625218e-5;
export const TANH_P1: f32 = 0.02511685;
export const TANH_P0: f32 = 0.8438601;
export const TANH_D3: f32 = 2.068029e-6;
export const TANH_D2: f32 = 0.0020346604;
export const TANH_D1: f32 = 0.19087695;
export const TANH_D0: f32 = 1.6877202;

/**
 * tanh x in four lanes, within 4 ulp over the whole range (3.84 ulp, all floats tried), never
 * beyond ±1; NaN stays NaN.
 *
 * With n/d ≈ tanh(x/2) the doubling tanh x = 2·n·d/(n² + d²) damps the error of n/d the more, the
 * nearer the result is to 1: degree 5/6 is enough (0.12 ulp), and at |x| ≥ 9 the result is ±1. The
 * common factor of the coefficients keeps the roundings near x = 0 small.
 */
// @ts-ignore: decorator
@inline
export function tanh4(x: v128): v128 {
  return tanhWith4(
    x,
    f32x4.splat(-TANH_END),
    f32x4.splat(TANH_END),
    f32x4.splat(TANH_P2),
    f32x4.splat(TANH_P1),
    f32x4.splat(TANH_P0),
    f32x4.splat(TANH_D3),
    f32x4.splat(TANH_D2),
    f32x4.splat(TANH_D1),
    f32x4.splat(TANH_D0),
  );
}

/** tanh4 for loops that hold its constants (held.ts). */
// @ts-ignore: decorator
@inline
export function tanhWith4(
  x: v128,
  low: v128,
  high: v128,
  p2: v128,
  p1: v128,
  p0: v128,
  d3: v128,
  d2: v128,
  d1: v128,
  d0: v128,
): v128 {
  const c = clamp4(x, low, high);
  const z = f32x4.mul(c, c);
  return doubled4(f32x4.mul(c, quadratic4(z, p2, p1, p0)), cubic4(z, d3, d2, d1, d0));
}

/** tanh 2a = 2·n·d/(n² + d²) from tanh a = n/d. */
// @ts-ignore: decorator
@inline
export function doubled4(n: v128, d: v128): v128 {
  const below = f32x4.add(f32x4.mul(n, n), f32x4.mul(d, d));
  return f32x4.div(f32x4.mul(f32x4.add(n, n), d), below);
}

/** (1 + tanh 2a)/2 = s²/(s² + r²), s = d + n, r = d − n: nothing cancels where tanh is near −1. */
// @ts-ignore: decorator
@inline
export function share4(n: v128, d: v128): v128 {
  const s = f32x4.add(d, n);
  const r = f32x4.sub(d, n);
  const s2 = f32x4.mul(s, s);
  return f32x4.div(s2, f32x4.add(s2, f32x4.mul(r, r)));
}

/** x within [low, high]. pmax and pmin keep a NaN of their first operand, in one instruction. */
// @ts-ignore: decorator
@inline
export function clamp4(x: v128, low: v128, high: v128): v128 {
  return f32x4.pmin(f32x4.pmax(x, low), high);
}

// @ts-ignore: decorator
@inline
export function quadratic4(z: v128, c2: v128, c1: v128, c0: v128): v128 {
  return madd4(madd4(c2, z, c1), z, c0);
}

// @ts-ignore: decorator
@inline
export function cubic4(z: v128, c3: v128, c2: v128, c1: v128, c0: v128): v128 {
  return madd4(quadratic4(z, c3, c2, c1), z, c0);
}
