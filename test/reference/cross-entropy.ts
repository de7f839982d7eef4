import { logSoftmax, softmax } from "./softmax.js";

export interface CrossEntropyRules {
  readonly ignore?: number;
  readonly smoothing?: number;
}

/** A loss a row: −Σ w·ln softmax(x) with w = (1 − s)·onehot(t) + s/n; 0 where t is ignored. */
export function crossEntropy(
  logits: ArrayLike<number>,
  targets: ArrayLike<number>,
  n: number,
  { ignore, smoothing = 0 }: CrossEntropyRules = {},
): Float64Array {
  const logs = logSoftmax(logits, n);
  return Float64Array.from({ length: targets.length }, (_, row) => {
    const target = targets[row] as number;
    if (target === ignore) return 0;
    const own = -(logs[row * n + target] as number);
    if (smoothing === 0) return own;
    const all = logs.subarray(row * n, (row + 1) * n).reduce((sum, log) => sum - log, 0);
    return (1 - smoothing) * own + (smoothing * all) / n;
  });
}

/** scale·(softmax(x) − w); zeros where the target is ignored. */
export function crossEntropyGrad(
  logits: ArrayLike<number>,
  targets: ArrayLike<number>,
  n: number,
  scale: number,
  { ignore, smoothing = 0 }: CrossEntropyRules = {},
): Float64Array {
  return softmax(logits, n).map((p, i) => {
    const target = targets[Math.floor(i / n)] as number;
    if (target === ignore) return 0;
    return scale * (p - (i % n === target ? 1 - smoothing : 0) - smoothing / n);
  });
}
