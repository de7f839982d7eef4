import { exp4 } from "../math/exp";
import { log4 } from "../math/log";
import { rowMax, rowSum } from "../reduce/rows";
import { rowExpSum } from "../softmax/rows";

// @ts-ignore: decorator
@inline
function log(x: f32): f32 {
  return f32x4.extract_lane(log4(f32x4.splat(x)), 0);
}

/**
 * Cross-entropy of each row: losses[r] = (1 − s)·(l − x[t]) + s·(l − mean x), l = ln Σ eˣ.
 *
 * losses f32[rows], logSums f32[rows] (kept for backward), logits f32[rows, n], targets i32[rows];
 * a row whose target is `ignore` gives 0. Range: rows.
 */
export function crossEntropyF32(
  losses: usize,
  logSums: usize,
  logits: usize,
  targets: usize,
  n: i32,
  ignore: i32,
  smoothing: f32,
  begin: i32,
  end: i32,
): void {
  for (let row = begin; row < end; row++) {
    const at = <usize>row << 2;
    const x = logits + (<usize>row * <usize>n << 2);
    const target = load<i32>(targets + at);
    if (target == ignore) {
      store<f32>(losses + at, 0);
      store<f32>(logSums + at, 0);
      continue;
    }
    const largest = rowMax(x, n);
    const logSum = largest + log(rowExpSum(x, n, largest));
    let loss = logSum - load<f32>(x + (<usize>target << 2));
    if (smoothing != 0) {
      loss = (1 - smoothing) * loss + smoothing * (logSum - rowSum(x, n) / <f32>n);
    }
    store<f32>(losses + at, loss);
    store<f32>(logSums + at, logSum);
  }
}

/**
 * dLogits[r] = scale·(softmax(x) − (1 − s)·onehot(t) − s/n), zeros for ignored rows; scale is
 * ∂loss/∂mean over the rows that count. Range: rows.
 */
export function crossEntropyGradF32(
  dLogits: usize,
  logits: usize,
  logSums: usize,
  targets: usize,
  n: i32,
  ignore: i32,
  smoothing: f32,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  for (let row = begin; row < end; row++) {
    const at = <usize>row << 2;
    const from = <usize>row * <usize>n << 2;
    const dx = dLogits + from;
    const target = load<i32>(targets + at);
    if (target == ignore) {
      memory.fill(dx, 0, <usize>n << 2);
      continue;
    }
    gradRow(dx, logits + from, n, load<f32>(logSums + at), smoothing / <f32>n, scale);
    const hit = dx + (<usize>target << 2);
    store<f32>(hit, load<f32>(hit) - scale * (1 - smoothing));
  }
}

/** dx = scale·(e^(x − logSum) − share), in vectors; the tail goes through the same words. */
function gradRow(dx: usize, x: usize, n: i32, logSum: f32, share: f32, scale: f32): void {
  const stop = x + ((<usize>n) << 2);
  const l = f32x4.splat(logSum);
  const u = f32x4.splat(share);
  const s = f32x4.splat(scale);
  for (; x + 32 <= stop; x += 32, dx += 32) {
    const a = exp4(f32x4.sub(v128.load(x), l));
    const b = exp4(f32x4.sub(v128.load(x, 16), l));
    v128.store(dx, f32x4.mul(s, f32x4.sub(a, u)));
    v128.store(dx, f32x4.mul(s, f32x4.sub(b, u)), 16);
  }
  for (; x < stop; x += 4, dx += 4) {
    const a = exp4(f32x4.sub(v128.load32_splat(x), l));
    v128.store32_lane(dx, f32x4.mul(s, f32x4.sub(a, u)), 0);
  }
}
