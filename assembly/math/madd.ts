/**
 * a·b + c in four lanes: two roundings in the exact builds, one where the engine fuses in the
 * relaxed builds. The branch folds away at compile time.
 */
// @ts-ignore: decorator
@inline
export function madd4(a: v128, b: v128, c: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) {
    return f32x4.relaxed_madd(a, b, c);
  }
  return f32x4.add(f32x4.mul(a, b), c);
}
