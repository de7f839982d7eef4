/** One parameter under AdamW in float64: a step a gradient (arXiv:1711.05101, algorithm 2). */
export function adamW(
  start: ArrayLike<number>,
  gradients: readonly ArrayLike<number>[],
  options: {
    readonly rate: number;
    readonly betas: readonly [number, number];
    readonly eps: number;
    readonly weightDecay: number;
  },
): Float64Array {
  const { rate, betas, eps, weightDecay } = options;
  return Float64Array.from(start, (value, i) => {
    let [p, m, v] = [value, 0, 0];
    gradients.forEach((gradient, index) => {
      const t = index + 1;
      const g = gradient[i] as number;
      m = betas[0] * m + (1 - betas[0]) * g;
      v = betas[1] * v + (1 - betas[1]) * g * g;
      const mean = m / (1 - betas[0] ** t);
      const variance = v / (1 - betas[1] ** t);
      p -= rate * weightDecay * p + (rate * mean) / (Math.sqrt(variance) + eps);
    });
    return p;
  });
}

/** One parameter under SGD in float64, without dampening. */
export function sgd(
  start: ArrayLike<number>,
  gradients: readonly ArrayLike<number>[],
  options: {
    readonly rate: number;
    readonly momentum: number;
    readonly nesterov: boolean;
    readonly weightDecay: number;
  },
): Float64Array {
  const { rate, momentum, nesterov, weightDecay } = options;
  return Float64Array.from(start, (value, i) => {
    let [p, velocity] = [value, 0];
    for (const gradient of gradients) {
      const g = (gradient[i] as number) + weightDecay * p;
      velocity = momentum * velocity + g;
      p -= rate * (nesterov ? g + momentum * velocity : velocity);
    }
    return p;
  });
}

/** The norm of several arrays taken as one vector. */
export function norm(...arrays: readonly ArrayLike<number>[]): number {
  let squares = 0;
  for (const x of arrays) for (let i = 0; i < x.length; i++) squares += (x[i] as number) ** 2;
  return Math.sqrt(squares);
}
