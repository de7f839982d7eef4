/** What both directions of the reference take; everything row-major, float64. */
export interface AdditiveOperands {
  readonly query: ArrayLike<number>; // [batch, queries, width]
  readonly keys: ArrayLike<number>; // [batch, positions, width]
  readonly v: ArrayLike<number>; // [width]
  readonly values: ArrayLike<number>; // [batch, positions, valueWidth]
  readonly lengths: ArrayLike<number>; // [batch]
  readonly batch: number;
  readonly queries: number;
  readonly positions: number;
  readonly width: number;
  readonly valueWidth: number;
}

/** score(s) = v·tanh(query + keys[s]); softmax over the first lengths[b]; context = Σ weights·values. */
export function additiveAttention(x: AdditiveOperands) {
  const { batch, queries, positions, width, valueWidth } = x;
  const context = new Float64Array(batch * queries * valueWidth);
  const weights = new Float64Array(batch * queries * positions);
  for (let b = 0; b < batch; b++) {
    for (let q = 0; q < queries; q++) {
      const row = b * queries + q;
      const scores: number[] = [];
      for (let s = 0; s < at(x.lengths, b); s++) {
        let score = 0;
        for (let j = 0; j < width; j++) {
          const key = at(x.keys, (b * positions + s) * width + j);
          score += at(x.v, j) * Math.tanh(at(x.query, row * width + j) + key);
        }
        scores.push(score);
      }
      const largest = Math.max(...scores);
      const total = scores.reduce((sum, score) => sum + Math.exp(score - largest), 0);
      scores.forEach((score, s) => {
        const weight = Math.exp(score - largest) / total;
        weights[row * positions + s] = weight;
        for (let d = 0; d < valueWidth; d++) {
          const value = at(x.values, (b * positions + s) * valueWidth + d);
          context[row * valueWidth + d] = at(context, row * valueWidth + d) + weight * value;
        }
      });
    }
  }
  return { context, weights };
}

function at(x: ArrayLike<number>, index: number): number {
  return x[index] as number;
}
