/** γ·(x − μ)/√(σ² + eps) + β of each row of n = gamma.length. */
export function layerNorm(
  x: ArrayLike<number>,
  gamma: ArrayLike<number>,
  beta: ArrayLike<number>,
  eps: number,
): Float64Array {
  const n = gamma.length;
  return normalised(x, n, eps).normal.map(
    (value, i) => value * (gamma[i % n] as number) + (beta[i % n] as number),
  );
}

/** Gradients of layerNorm(), by the chain rule through x̂ = (x − μ)/√(σ² + eps). */
export function layerNormGrad(
  dy: ArrayLike<number>,
  x: ArrayLike<number>,
  gamma: ArrayLike<number>,
  eps: number,
): { dx: Float64Array; dGamma: Float64Array; dBeta: Float64Array } {
  const n = gamma.length;
  const { normal, scales } = normalised(x, n, eps);
  const [dx, dGamma, dBeta] = [
    new Float64Array(x.length),
    new Float64Array(n),
    new Float64Array(n),
  ];
  scales.forEach((scale, row) => {
    const from = row * n;
    const g = Array.from(gamma, (weight, j) => weight * (dy[from + j] as number));
    const mean = g.reduce((sum, value) => sum + value, 0) / n;
    const slope = g.reduce((sum, value, j) => sum + value * (normal[from + j] as number), 0) / n;
    g.forEach((value, j) => {
      const hat = normal[from + j] as number;
      dx[from + j] = (value - mean - hat * slope) * scale;
      dGamma[j] = (dGamma[j] as number) + (dy[from + j] as number) * hat;
      dBeta[j] = (dBeta[j] as number) + (dy[from + j] as number);
    });
  });
  return { dx, dGamma, dBeta };
}

function normalised(
  x: ArrayLike<number>,
  n: number,
  eps: number,
): { normal: Float64Array; scales: number[] } {
  const normal = new Float64Array(x.length);
  const scales: number[] = [];
  for (let from = 0; from < x.length; from += n) {
    const row = Array.from({ length: n }, (_, j) => x[from + j] as number);
    const mean = row.reduce((sum, value) => sum + value, 0) / n;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
    const scale = 1 / Math.sqrt(variance + eps);
    normal.set(
      row.map((value) => (value - mean) * scale),
      from,
    );
    scales.push(scale);
  }
  return { normal, scales };
}
