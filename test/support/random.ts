/** Seeded randomness for tests: the seed is printed by whoever fails. */
export interface Random {
  readonly seed: number;
  /** Uniform in [0, 1). */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
  /** An integer in [0, n). */
  integer(n: number): number;
  /** n normal values times scale, rounded to f32. */
  array(n: number, scale?: number): Float32Array;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return {
    seed,
    uniform,
    normal,
    integer: (n) => Math.floor(uniform() * n),
    array: (n, scale = 1) => Float32Array.from({ length: n }, () => normal() * scale),
  };
}
