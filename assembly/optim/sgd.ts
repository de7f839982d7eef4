/**
 * One step of stochastic gradient descent, as torch.optim.SGD without dampening:
 *
 *     g ← g + weightDecay·p
 *     v ← momentum·v + g               v starts at zero
 *     p ← p − rate·d                   d = g, v, or g + momentum·v (Nesterov)
 */

/** Plain descent: p −= rate·(g + weightDecay·p). The range splits elements. */
export function sgdF32(
  parameter: usize,
  gradient: usize,
  rate: f32,
  weightDecay: f32,
  begin: i32,
  end: i32,
): void {
  const r = f32x4.splat(rate);
  const w = f32x4.splat(weightDecay);
  let at = (<usize>begin) << 2;
  const stop = (<usize>end) << 2;
  for (; at + 16 <= stop; at += 16) {
    const p = v128.load(parameter + at);
    v128.store(parameter + at, less(p, r, plus(v128.load(gradient + at), w, p)));
  }
  for (; at < stop; at += 4) {
    const p = v128.load32_zero(parameter + at);
    v128.store32_lane(parameter + at, less(p, r, plus(v128.load32_zero(gradient + at), w, p)), 0);
  }
}

/** With momentum: p −= rate·v. velocity is written in place. The range splits elements. */
export function sgdMomentumF32(
  parameter: usize,
  velocity: usize,
  gradient: usize,
  rate: f32,
  momentum: f32,
  weightDecay: f32,
  begin: i32,
  end: i32,
): void {
  const r = f32x4.splat(rate);
  const m = f32x4.splat(momentum);
  const w = f32x4.splat(weightDecay);
  let at = (<usize>begin) << 2;
  const stop = (<usize>end) << 2;
  for (; at + 16 <= stop; at += 16) {
    const p = v128.load(parameter + at);
    const v = plus(plus(v128.load(gradient + at), w, p), m, v128.load(velocity + at));
    v128.store(velocity + at, v);
    v128.store(parameter + at, less(p, r, v));
  }
  for (; at < stop; at += 4) {
    const p = v128.load32_zero(parameter + at);
    const v = plus(plus(v128.load32_zero(gradient + at), w, p), m, v128.load32_zero(velocity + at));
    v128.store32_lane(velocity + at, v, 0);
    v128.store32_lane(parameter + at, less(p, r, v), 0);
  }
}

/** With Nesterov momentum: p −= rate·(g + momentum·v). The range splits elements. */
export function sgdNesterovF32(
  parameter: usize,
  velocity: usize,
  gradient: usize,
  rate: f32,
  momentum: f32,
  weightDecay: f32,
  begin: i32,
  end: i32,
): void {
  const r = f32x4.splat(rate);
  const m = f32x4.splat(momentum);
  const w = f32x4.splat(weightDecay);
  let at = (<usize>begin) << 2;
  const stop = (<usize>end) << 2;
  for (; at + 16 <= stop; at += 16) {
    const p = v128.load(parameter + at);
    const g = plus(v128.load(gradient + at), w, p);
    const v = plus(g, m, v128.load(velocity + at));
    v128.store(velocity + at, v);
    v128.store(parameter + at, less(p, r, plus(g, m, v)));
  }
  for (; at < stop; at += 4) {
    const p = v128.load32_zero(parameter + at);
    const g = plus(v128.load32_zero(gradient + at), w, p);
    const v = plus(g, m, v128.load32_zero(velocity + at));
    v128.store32_lane(velocity + at, v, 0);
    v128.store32_lane(parameter + at, less(p, r, plus(g, m, v)), 0);
  }
}

/** a + s·b. */
// @ts-ignore: decorator
@inline
function plus(a: v128, s: v128, b: v128): v128 {
  return f32x4.add(a, f32x4.mul(s, b));
}

/** a − s·b. */
// @ts-ignore: decorator
@inline
function less(a: v128, s: v128, b: v128): v128 {
  return f32x4.sub(a, f32x4.mul(s, b));
}
