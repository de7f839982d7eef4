/** Everything row-major, float64. */
export interface AttentionOperands {
  readonly q: ArrayLike<number>; // [heads, queries, width]
  readonly k: ArrayLike<number>; // [heads, keys, width]
  readonly v: ArrayLike<number>; // [heads, keys, valueWidth]
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly valueWidth: number;
  readonly scale?: number;
  /** Added to the score; −∞ hides the key, which is then not looked at. */
  readonly bias?: (head: number, query: number, key: number) => number;
  /** What dropout multiplies a weight with. */
  readonly kept?: (head: number, query: number, key: number) => number;
}

/** softmax(q·kᵀ·scale + bias)·v, row by row; zeros where nothing is visible. */
export function attention(x: AttentionOperands) {
  const { heads, queries, keys, width, valueWidth, scale = 1 / Math.sqrt(width) } = x;
  const output = new Float64Array(heads * queries * valueWidth);
  const weights = new Float64Array(heads * queries * keys);
  for (let head = 0; head < heads; head++) {
    for (let query = 0; query < queries; query++) {
      const row = head * queries + query;
      const scores = new Map<number, number>(); // of the visible keys
      for (let key = 0; key < keys; key++) {
        const bias = x.bias?.(head, query, key) ?? 0;
        if (bias === -Infinity) continue;
        let score = 0;
        for (let i = 0; i < width; i++)
          score += at(x.q, row * width + i) * at(x.k, (head * keys + key) * width + i);
        scores.set(key, score * scale + bias);
      }
      const largest = Math.max(...scores.values());
      let total = 0;
      for (const score of scores.values()) total += Math.exp(score - largest);
      for (const [key, score] of scores) {
        const weight = (Math.exp(score - largest) / total) * (x.kept?.(head, query, key) ?? 1);
        weights[row * keys + key] = weight;
        for (let i = 0; i < valueWidth; i++) {
          const value = at(x.v, (head * keys + key) * valueWidth + i);
          output[row * valueWidth + i] = at(output, row * valueWidth + i) + weight * value;
        }
      }
    }
  }
  return { output, weights };
}

function at(x: ArrayLike<number>, index: number): number {
  return x[index] as number;
}
