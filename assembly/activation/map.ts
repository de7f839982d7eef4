import { loadFirst4, storeFirst4 } from "../gemm/lanes";
import { exp4 } from "../math/exp";
import { log4 } from "../math/log";
import { sigmoid4, sigmoidWith4 } from "../math/sigmoid";
import { tanhWith4 } from "../math/tanh";
import { geluErfSlope4, geluErfWith4, geluTanhSlope4, geluTanhWith4 } from "./gelu";

/**
 * One loop for all activations: the word is a constant at every call, so a kernel keeps one branch.
 *
 * Four vectors stand side by side, all loaded before the first is stored, as each is a chain of
 * dependent steps; the tail goes through the same word, so a cut cannot change a bit.
 */

// @ts-ignore: decorator
@inline
export const RELU: i32 = 0;
// @ts-ignore: decorator
@inline
export const GELU_ERF: i32 = 1;
// @ts-ignore: decorator
@inline
export const GELU_TANH: i32 = 2;
// @ts-ignore: decorator
@inline
export const SILU: i32 = 3;
// @ts-ignore: decorator
@inline
export const TANH: i32 = 4;
// @ts-ignore: decorator
@inline
export const SIGMOID: i32 = 5;
// @ts-ignore: decorator
@inline
export const EXP: i32 = 6;
// @ts-ignore: decorator
@inline
export const LOG: i32 = 7;
// @ts-ignore: decorator
@inline
export const SQRT: i32 = 8;
// @ts-ignore: decorator
@inline
export const NEG: i32 = 9;

/** f(x) in four lanes. */
// @ts-ignore: decorator
@inline
function value4(word: i32, x: v128): v128 {
  if (word == RELU) return f32x4.pmax(x, f32x4.splat(0)); // NaN stays
  if (word == EXP) return exp4(x);
  if (word == LOG) return log4(x);
  if (word == SQRT) return f32x4.sqrt(x);
  return f32x4.neg(x);
}

/** f(x) in four lanes for the words that take their constants, as many of them as they have. */
// @ts-ignore: decorator
@inline
function valueWith4(
  word: i32,
  x: v128,
  k0: v128,
  k1: v128,
  k2: v128,
  k3: v128,
  k4: v128,
  k5: v128,
  k6: v128,
  k7: v128,
  k8: v128,
  k9: v128,
  k10: v128,
  k11: v128,
  k12: v128,
  k13: v128,
): v128 {
  if (word == TANH) return tanhWith4(x, k0, k1, k2, k3, k4, k5, k6, k7, k8);
  if (word == GELU_ERF)
    return geluErfWith4(x, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13);
  if (word == GELU_TANH)
    return geluTanhWith4(x, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11);
  const s = sigmoidWith4(x, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11);
  return word == SILU ? f32x4.mul(x, s) : s;
}

/** dy·f′ in four lanes; v is what backward kept: the input x, or the output y. */
// @ts-ignore: decorator
@inline
function gradient4(word: i32, dy: v128, v: v128): v128 {
  const one = f32x4.splat(1);
  if (word == RELU) return v128.andnot(dy, f32x4.le(v, f32x4.splat(0)));
  if (word == GELU_ERF) return f32x4.mul(dy, geluErfSlope4(v));
  if (word == GELU_TANH) return f32x4.mul(dy, geluTanhSlope4(v));
  if (word == SILU) {
    // σ·(1 + x·(1 − σ))
    const s = sigmoid4(v);
    return f32x4.mul(dy, f32x4.mul(s, f32x4.add(one, f32x4.mul(v, f32x4.sub(one, s)))));
  }
  if (word == TANH) return f32x4.mul(dy, f32x4.sub(one, f32x4.mul(v, v)));
  if (word == SIGMOID) return f32x4.mul(dy, f32x4.mul(v, f32x4.sub(one, v)));
  if (word == EXP) return f32x4.mul(dy, v);
  if (word == LOG) return f32x4.div(dy, v);
  return f32x4.div(f32x4.mul(dy, f32x4.splat(0.5)), v); // SQRT
}

/** y = f(x), elements [begin, end). */
// @ts-ignore: decorator
@inline
export function map(word: i32, y: usize, x: usize, begin: i32, end: i32): void {
  let n = end - begin;
  y += (<usize>begin) << 2;
  x += (<usize>begin) << 2;
  if (n >= 16) {
    do {
      const a = value4(word, v128.load(x));
      const b = value4(word, v128.load(x, 16));
      const c = value4(word, v128.load(x, 32));
      const d = value4(word, v128.load(x, 48));
      v128.store(y, a);
      v128.store(y, b, 16);
      v128.store(y, c, 32);
      v128.store(y, d, 48);
      x += 64;
      y += 64;
      n -= 16;
    } while (n >= 16);
  }
  for (; n > 0; n -= 4, x += 16, y += 16) storeFirst4(y, value4(word, loadFirst4(x, n)), n);
}

/** map() with constants that stay held through the loop; a word with fewer is given zeros. */
// @ts-ignore: decorator
@inline
export function mapHeld(
  word: i32,
  y: usize,
  x: usize,
  begin: i32,
  end: i32,
  k0: v128,
  k1: v128,
  k2: v128,
  k3: v128,
  k4: v128,
  k5: v128,
  k6: v128,
  k7: v128,
  k8: v128,
  k9: v128,
  k10: v128,
  k11: v128,
  k12: v128,
  k13: v128,
): void {
  let n = end - begin;
  y += (<usize>begin) << 2;
  x += (<usize>begin) << 2;
  if (n >= 16) {
    do {
      let a = v128.load(x);
      a = valueWith4(word, a, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13);
      let b = v128.load(x, 16);
      b = valueWith4(word, b, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13);
      let c = v128.load(x, 32);
      c = valueWith4(word, c, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13);
      let d = v128.load(x, 48);
      d = valueWith4(word, d, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13);
      v128.store(y, a);
      v128.store(y, b, 16);
      v128.store(y, c, 32);
      v128.store(y, d, 48);
      x += 64;
      y += 64;
      n -= 16;
    } while (n >= 16);
  }
  for (; n > 0; n -= 4, x += 16, y += 16) {
    let v = loadFirst4(x, n);
    v = valueWith4(word, v, k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13);
    storeFirst4(y, v, n);
  }
}

/** dx = dy·f′, elements [begin, end). */
// @ts-ignore: decorator
@inline
export function mapGrad(word: i32, dx: usize, dy: usize, v: usize, begin: i32, end: i32): void {
  let n = end - begin;
  const at = (<usize>begin) << 2;
  dx += at;
  dy += at;
  v += at;
  if (n >= 8) {
    do {
      const a = gradient4(word, v128.load(dy), v128.load(v));
      const b = gradient4(word, v128.load(dy, 16), v128.load(v, 16));
      v128.store(dx, a);
      v128.store(dx, b, 16);
      dx += 32;
      dy += 32;
      v += 32;
      n -= 8;
    } while (n >= 8);
  }
  for (; n > 0; n -= 4, dx += 16, dy += 16, v += 16) {
    storeFirst4(dx, gradient4(word, loadFirst4(dy, n), loadFirst4(v, n)), n);
  }
}
