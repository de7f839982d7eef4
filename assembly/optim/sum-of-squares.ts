/**
 * partials[b] = Σ x² over block b of 4096 elements, in float64: what the global norm adds up in
 * order. Squares of f32 are exact in f64 and cannot overflow there, so a partial is finite
 * exactly when its block is: the norm is the finite check as well.
 *
 * Element j of a block goes to accumulator j mod 8, the last elements of x one by one behind
 * them. The range splits ⌈n / 4096⌉ blocks.
 *
 * @param partials  f64[⌈n / 4096⌉]
 * @param x         f32[n]
 */
export function sumOfSquaresF32(partials: usize, x: usize, n: i32, begin: i32, end: i32): void {
  for (let block = begin; block < end; block++) {
    const from = block << 12;
    const sum = sumBlock(x + ((<usize>from) << 2), min(4096, n - from));
    store<f64>(partials + ((<usize>block) << 3), sum);
  }
}

function sumBlock(x: usize, n: i32): f64 {
  let s0 = f64x2.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let stop = x + ((<usize>(n >> 3)) << 5);
  for (; x < stop; x += 32) {
    s0 = f64x2.add(s0, squares(v128.load64_zero(x)));
    s1 = f64x2.add(s1, squares(v128.load64_zero(x, 8)));
    s2 = f64x2.add(s2, squares(v128.load64_zero(x, 16)));
    s3 = f64x2.add(s3, squares(v128.load64_zero(x, 24)));
  }
  const sum = f64x2.add(f64x2.add(s0, s2), f64x2.add(s1, s3));
  let total = f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1);
  stop = x + ((<usize>(n & 7)) << 2);
  for (; x < stop; x += 4) {
    const value = <f64>load<f32>(x);
    total += value * value;
  }
  return total;
}

/** The squares of the two floats in the low half, as f64. */
// @ts-ignore: decorator
@inline
function squares(pair: v128): v128 {
  const wide = f64x2.promote_low_f32x4(pair);
  return f64x2.mul(wide, wide);
}
