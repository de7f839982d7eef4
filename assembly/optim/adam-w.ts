/**
 * One AdamW step of one parameter, element by element, as torch.optim.AdamW computes it:
 *
 *     p ← decay·p                      decay  = 1 − rate·weightDecay
 *     m ← m + (1 − β₁)·(g − m)
 *     v ← β₂·v + (1 − β₂)·g²
 *     p ← p − size·m / (√v·inverse + eps)
 *
 * with size = rate/(1 − β₁ᵗ) and inverse = 1/√(1 − β₂ᵗ), float64 on the host, rounded once.
 * parameter, mean and variance are written in place and must not overlap. The range splits
 * elements.
 *
 * @source Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2
 */
export function adamWF32(
  parameter: usize,
  mean: usize,
  variance: usize,
  gradient: usize,
  decay: f32,
  oneMinusBeta1: f32,
  beta2: f32,
  oneMinusBeta2: f32,
  size: f32,
  inverse: f32,
  eps: f32,
  begin: i32,
  end: i32,
): void {
  let at = (<usize>begin) << 2;
  const stop = (<usize>end) << 2;
  for (; at + 16 <= stop; at += 16) {
    const g = v128.load(gradient + at);
    const m = nextMean(v128.load(mean + at), g, oneMinusBeta1);
    const v = nextVariance(v128.load(variance + at), g, beta2, oneMinusBeta2);
    v128.store(mean + at, m);
    v128.store(variance + at, v);
    v128.store(parameter + at, moved(v128.load(parameter + at), m, v, decay, size, inverse, eps));
  }
  for (; at < stop; at += 4) {
    const g = v128.load32_zero(gradient + at);
    const m = nextMean(v128.load32_zero(mean + at), g, oneMinusBeta1);
    const v = nextVariance(v128.load32_zero(variance + at), g, beta2, oneMinusBeta2);
    v128.store32_lane(mean + at, m, 0);
    v128.store32_lane(variance + at, v, 0);
    v128.store32_lane(
      parameter + at,
      moved(v128.load32_zero(parameter + at), m, v, decay, size, inverse, eps),
      0,
    );
  }
}

/** m + (1 − β₁)·(g − m). */
// @ts-ignore: decorator
@inline
function nextMean(m: v128, g: v128, oneMinusBeta1: f32): v128 {
  return f32x4.add(m, f32x4.mul(f32x4.splat(oneMinusBeta1), f32x4.sub(g, m)));
}

/** β₂·v + (1 − β₂)·g·g, multiplied from the left as torch's addcmul does. */
// @ts-ignore: decorator
@inline
function nextVariance(v: v128, g: v128, beta2: f32, oneMinusBeta2: f32): v128 {
  const squared = f32x4.mul(f32x4.mul(f32x4.splat(oneMinusBeta2), g), g);
  return f32x4.add(f32x4.mul(f32x4.splat(beta2), v), squared);
}

/** decay·p − size·m / (√v·inverse + eps). */
// @ts-ignore: decorator
@inline
function moved(p: v128, m: v128, v: v128, decay: f32, size: f32, inverse: f32, eps: f32): v128 {
  const spread = f32x4.add(f32x4.mul(f32x4.sqrt(v), f32x4.splat(inverse)), f32x4.splat(eps));
  const step = f32x4.div(f32x4.mul(f32x4.splat(size), m), spread);
  return f32x4.sub(f32x4.mul(f32x4.splat(decay), p), step);
}
