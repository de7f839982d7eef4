/** Seeded values of standard deviation `deviation`, uniform around 0, f32. */
export function seeded(count: number, seed: number, deviation = 1): Float32Array {
  const width = 2 * Math.sqrt(3) * deviation;
  let state = seed >>> 0;
  // Mulberry32, Tommy Ettinger 2017.
  return Float32Array.from({ length: count }, () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (((t ^ (t >>> 14)) >>> 0) / 2 ** 32 - 0.5) * width;
  });
}

/** [n, m, …] as [m, n, …]. */
export function swapFirstTwo(x: Float32Array, n: number, m: number): Float32Array {
  const width = x.length / (n * m);
  const y = new Float32Array(x.length);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++) {
      const from = (i * m + j) * width;
      y.set(x.subarray(from, from + width), (j * n + i) * width);
    }
  return y;
}
