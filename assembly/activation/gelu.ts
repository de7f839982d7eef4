import { erfClamp4, erfDenominator4, erfNumerator4 } from "../math/erf";
import { expNegative4 } from "../math/exp";
import { madd4 } from "../math/madd";
import { tanhClamp4, tanhDenominator4, tanhNumerator4 } from "../math/tanh";

/**
 * Both forms of GELU from the n/d of math/erf.ts and math/tanh.ts: where the function is
 * 2·n·d/(n² + d²), (1 + function)/2 is s²/(s² + r²) with s = d + n and r = d − n. So nothing
 * cancels on the left, where 1 + erf would lose its digits.
 */

/** (1 + erf(x/√2))/2, the normal distribution function, 0 below −5.5. */
// @ts-ignore: decorator
@inline
function normal4(x: v128): v128 {
  const c = erfClamp4(f32x4.mul(x, f32x4.splat(0.70710678)));
  const z = f32x4.mul(c, c);
  const p = share4(f32x4.mul(c, erfNumerator4(z)), erfDenominator4(z));
  return v128.andnot(p, f32x4.lt(x, f32x4.splat(-5.5)));
}

/** (1 + tanh u)/2 = 1/(1 + e⁻²ᵘ), 0 below −9. */
// @ts-ignore: decorator
@inline
function half4(u: v128): v128 {
  const c = tanhClamp4(u);
  const z = f32x4.mul(c, c);
  const p = share4(f32x4.mul(c, tanhNumerator4(z)), tanhDenominator4(z));
  return v128.andnot(p, f32x4.lt(u, f32x4.splat(-9)));
}

// @ts-ignore: decorator
@inline
function share4(n: v128, d: v128): v128 {
  const s = f32x4.add(d, n);
  const r = f32x4.sub(d, n);
  const s2 = f32x4.mul(s, s);
  return f32x4.div(s2, f32x4.add(s2, f32x4.mul(r, r)));
}

/** x, but no less than −100: 0·∞ would be NaN where the result is 0. */
// @ts-ignore: decorator
@inline
function finiteLeft4(x: v128): v128 {
  return f32x4.pmax(x, f32x4.splat(-100));
}

/** x·(1 + erf(x/√2))/2. */
// @ts-ignore: decorator
@inline
export function geluErf4(x: v128): v128 {
  return f32x4.mul(finiteLeft4(x), normal4(x));
}

/** Its derivative Φ(x) + x·e^(−x²/2)/√(2π). */
// @ts-ignore: decorator
@inline
export function geluErfSlope4(x: v128): v128 {
  const c = f32x4.pmin(finiteLeft4(x), f32x4.splat(100)); // where the second summand is 0 anyway
  const density = expNegative4(f32x4.mul(f32x4.mul(c, c), f32x4.splat(-0.5)));
  return madd4(f32x4.mul(c, f32x4.splat(0.39894228)), density, normal4(x));
}

/** u = √(2/π)·(x + 0.044715·x³). */
// @ts-ignore: decorator
@inline
function inner4(x: v128): v128 {
  const x2 = f32x4.mul(x, x);
  return f32x4.mul(x, madd4(x2, f32x4.splat(0.035677408), f32x4.splat(0.79788456)));
}

/** x·(1 + tanh u)/2. */
// @ts-ignore: decorator
@inline
export function geluTanh4(x: v128): v128 {
  return f32x4.mul(finiteLeft4(x), half4(inner4(x)));
}

/** Its derivative h + 2·x·h·(1 − h)·u′ with h = (1 + tanh u)/2. */
// @ts-ignore: decorator
@inline
export function geluTanhSlope4(x: v128): v128 {
  const c = f32x4.pmin(finiteLeft4(x), f32x4.splat(100)); // where h·(1 − h) is 0 anyway
  const h = half4(inner4(c));
  const slope = madd4(f32x4.mul(c, c), f32x4.splat(0.21406445), f32x4.splat(1.5957691)); // 2·u′
  const spread = f32x4.mul(h, f32x4.sub(f32x4.splat(1), h));
  return madd4(f32x4.mul(c, slope), spread, h);
}
