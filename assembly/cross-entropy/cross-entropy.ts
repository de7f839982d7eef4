import { rowSum } from "../reduce/rows";
import { inverse, logOfSum, rowExp, rowExpSum, rowShift } from "../softmax/rows";

/**
 * Cross-entropy of each row: losses[r] = l − (1 − s)·x[t] − s·mean(x) with l = ln Σ eˣ and the
 * smoothing s; 0 where the target is `ignore`.
 *
 * @param losses   f32[rows]
 * @param stats    f32[rows, 2]: max and 1/Σ e^(x − max), for backward; not written where ignored
 * @param logits   f32[rows, n]
 * @param targets  i32[rows], each in 0 … n − 1 or `ignore`
 * range: rows
 */
export function crossEntropyF32(
  losses: usize,
  stats: usize,
  logits: usize,
  targets: usize,
  n: i32,
  ignore: i32,
  smoothing: f32,
  begin: i32,
  end: i32,
): void {
  for (let row: usize = begin; row < <usize>end; row++) {
    const target = load<i32>(targets + (row << 2));
    if (target == ignore) {
      store<f32>(losses + (row << 2), 0);
      continue;
    }
    const x = logits + ((row * <usize>n) << 2);
    const shift = rowShift(x, n);
    const sum = rowExpSum(x, n, shift);
    // Everything is measured from the maximum: large logits cost no digits.
    const log = logOfSum(sum);
    let loss = log - (load<f32>(x + ((<usize>target) << 2)) - shift);
    if (smoothing != 0) {
      const spread = log - (rowSum(x, n) / <f32>n - shift);
      loss = (1 - smoothing) * loss + smoothing * spread;
    }
    store<f32>(losses + (row << 2), loss);
    store<f32>(stats + (row << 3), shift);
    store<f32>(stats + (row << 3), inverse(sum), 4);
  }
}

/**
 * dLogits[r] = scale·(softmax(x) − (1 − s)·onehot(t) − s/n); zeros where the target is `ignore`
 * and for a row of −∞ alone.
 *
 * @param dLogits  f32[rows, n]; may be logits
 * @param scale    ∂/∂ a row's loss
 * range: rows; the rest as crossEntropyF32 had it
 */
export function crossEntropyGradF32(
  dLogits: usize,
  logits: usize,
  stats: usize,
  targets: usize,
  n: i32,
  ignore: i32,
  smoothing: f32,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>n) << 2;
  for (let row: usize = begin; row < <usize>end; row++) {
    const dx = dLogits + row * bytes;
    const target = load<i32>(targets + (row << 2));
    const factor = load<f32>(stats + (row << 3), 4);
    if (target == ignore || factor == 0) {
      memory.fill(dx, 0, bytes);
      continue;
    }
    const shift = load<f32>(stats + (row << 3));
    gradRow(dx, logits + row * bytes, n, shift, scale * factor, (scale * smoothing) / <f32>n);
    const hit = dx + ((<usize>target) << 2);
    store<f32>(hit, load<f32>(hit) - scale * (1 - smoothing));
  }
}

/** dx = factor·e^(x − shift) − share. */
function gradRow(dx: usize, x: usize, n: i32, shift: f32, factor: f32, share: f32): void {
  rowExp(dx, x, n, shift);
  const stop = dx + ((<usize>n) << 2);
  const f = f32x4.splat(factor);
  const s = f32x4.splat(share);
  for (; dx + 32 <= stop; dx += 32) {
    v128.store(dx, f32x4.sub(f32x4.mul(v128.load(dx), f), s));
    v128.store(dx, f32x4.sub(f32x4.mul(v128.load(dx, 16), f), s), 16);
  }
  for (; dx < stop; dx += 4) store<f32>(dx, load<f32>(dx) * factor - share);
}
