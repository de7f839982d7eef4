import {
  ERF_D0,
  ERF_D1,
  ERF_D2,
  ERF_D3,
  ERF_D4,
  ERF_END,
  ERF_P0,
  ERF_P1,
  ERF_P2,
  ERF_P3,
} from "../math/erf";
import { expNegative4 } from "../math/exp";
import { madd4 } from "../math/madd";
import {
  clamp4,
  cubic4,
  quadratic4,
  share4,
  TANH_D0,
  TANH_D1,
  TANH_D2,
  TANH_D3,
  TANH_END,
  TANH_P0,
  TANH_P1,
  TANH_P2,
} from "../math/tanh";

/**
 * Both forms of GELU from the n/d of math/erf.ts and math/tanh.ts, as share4: so nothing cancels on
 * the left, where 1 + erf would lose its digits. The words that end in With take their constants,
 * for loops that hold them (math/held.ts).
 */

export const ROOT_HALF: f32 = 0.70710678; // √½
export const NORMAL_END: f32 = -5.5; // Φ is 0 below: 2·10⁻⁸ of x are lost
export const FLOOR: f32 = -100; // stands for x below it: 0·∞ would be NaN where the result is 0
export const INNER_1: f32 = 0.79788456; // √(2/π)
export const INNER_3: f32 = 0.035677408; // 0.044715·√(2/π)

/** x·(1 + erf(x/√2))/2. */
// @ts-ignore: decorator
@inline
export function geluErfWith4(
  x: v128,
  rootHalf: v128,
  low: v128,
  high: v128,
  p3: v128,
  p2: v128,
  p1: v128,
  p0: v128,
  d4: v128,
  d3: v128,
  d2: v128,
  d1: v128,
  d0: v128,
  end: v128,
  floor: v128,
): v128 {
  const c = clamp4(f32x4.mul(x, rootHalf), low, high);
  const z = f32x4.mul(c, c);
  const n = f32x4.mul(c, cubic4(z, p3, p2, p1, p0));
  const normal = share4(n, madd4(cubic4(z, d4, d3, d2, d1), z, d0));
  return f32x4.mul(f32x4.pmax(x, floor), v128.andnot(normal, f32x4.lt(x, end)));
}

/** x·(1 + tanh u)/2, u = √(2/π)·(x + 0.044715·x³). */
// @ts-ignore: decorator
@inline
export function geluTanhWith4(
  x: v128,
  inner1: v128,
  inner3: v128,
  low: v128,
  high: v128,
  p2: v128,
  p1: v128,
  p0: v128,
  d3: v128,
  d2: v128,
  d1: v128,
  d0: v128,
  floor: v128,
): v128 {
  const u = f32x4.mul(x, madd4(f32x4.mul(x, x), inner3, inner1));
  const c = clamp4(u, low, high);
  const z = f32x4.mul(c, c);
  const n = f32x4.mul(c, quadratic4(z, p2, p1, p0));
  const half = share4(n, cubic4(z, d3, d2, d1, d0));
  return f32x4.mul(f32x4.pmax(x, floor), v128.andnot(half, f32x4.lt(u, low)));
}

/** The derivative of geluErf: Φ(x) + x·e^(−x²/2)/√(2π). */
// @ts-ignore: decorator
@inline
export function geluErfSlope4(x: v128): v128 {
  const scaled = f32x4.mul(x, f32x4.splat(ROOT_HALF));
  const c = clamp4(scaled, f32x4.splat(-ERF_END), f32x4.splat(ERF_END));
  const z = f32x4.mul(c, c);
  const p3 = f32x4.splat(ERF_P3);
  const p2 = f32x4.splat(ERF_P2);
  const n = f32x4.mul(c, cubic4(z, p3, p2, f32x4.splat(ERF_P1), f32x4.splat(ERF_P0)));
  const d4 = f32x4.splat(ERF_D4);
  const d3 = f32x4.splat(ERF_D3);
  const d2 = f32x4.splat(ERF_D2);
  const d = madd4(cubic4(z, d4, d3, d2, f32x4.splat(ERF_D1)), z, f32x4.splat(ERF_D0));
  const normal = v128.andnot(share4(n, d), f32x4.lt(x, f32x4.splat(NORMAL_END)));
  // Beyond ±100 the second summand is 0 anyway.
  const near = clamp4(x, f32x4.splat(FLOOR), f32x4.splat(-FLOOR));
  const density = expNegative4(f32x4.mul(f32x4.mul(near, near), f32x4.splat(-0.5)));
  return madd4(f32x4.mul(near, f32x4.splat(0.39894228)), density, normal);
}

/** The derivative of geluTanh: h + 2·x·h·(1 − h)·u′ with h = (1 + tanh u)/2. */
// @ts-ignore: decorator
@inline
export function geluTanhSlope4(x: v128): v128 {
  // Beyond ±100 h·(1 − h) is 0 anyway.
  const near = clamp4(x, f32x4.splat(FLOOR), f32x4.splat(-FLOOR));
  const x2 = f32x4.mul(near, near);
  const u = f32x4.mul(near, madd4(x2, f32x4.splat(INNER_3), f32x4.splat(INNER_1)));
  const c = clamp4(u, f32x4.splat(-TANH_END), f32x4.splat(TANH_END));
  const z = f32x4.mul(c, c);
  const p2 = f32x4.splat(TANH_P2);
  const n = f32x4.mul(c, quadratic4(z, p2, f32x4.splat(TANH_P1), f32x4.splat(TANH_P0)));
  const d3 = f32x4.splat(TANH_D3);
  const d2 = f32x4.splat(TANH_D2);
  const d = cubic4(z, d3, d2, f32x4.splat(TANH_D1), f32x4.splat(TANH_D0));
  const h = v128.andnot(share4(n, d), f32x4.lt(u, f32x4.splat(-TANH_END)));
  const slope = madd4(x2, f32x4.splat(6 * INNER_3), f32x4.splat(2 * INNER_1)); // 2·u′
  const spread = f32x4.mul(h, f32x4.sub(f32x4.splat(1), h));
  return madd4(f32x4.mul(near, slope), spread, h);
}
