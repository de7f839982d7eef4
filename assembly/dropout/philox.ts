/**
 * Philox2x32-10, a counter-based generator: a bijection of (counter, key) without state, so the
 * word of an element does not depend on who asks, in what order or on which thread. Integer
 * operations only: the same bits in every engine.
 *
 * Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; the constants and the ten
 * rounds are theirs, and test/assembly/dropout.test.ts holds their known answers.
 *
 * Elements come in blocks of 32, which take sixteen counters; those of each four go side by side:
 *
 *     elements of block b    counters, word
 *     32b      … 32b + 15    16b … 16b + 15, first
 *     32b + 16 … 32b + 31    16b … 16b + 15, second
 */

// @ts-ignore: decorator
@inline
const MULTIPLIER: i32 = 0xd256d193;
// @ts-ignore: decorator
@inline
const WEYL: i32 = 0x9e3779b9;
// @ts-ignore: decorator
@inline
const ROUNDS: i32 = 10;

/**
 * 32 decisions: bit j is set when the word of element 32·block + j is ≥ threshold, unsigned, so
 * an element is dropped with probability threshold / 2³².
 */
export function keepBits(block: i32, seed: i32, threshold: i32): i32 {
  const multiplier = i32x4.splat(MULTIPLIER);
  // Four chains of rounds side by side: one alone waits for its products.
  let a0 = i32x4.add(i32x4.splat(block << 4), i32x4(0, 1, 2, 3));
  let b0 = i32x4.add(a0, i32x4.splat(4));
  let c0 = i32x4.add(a0, i32x4.splat(8));
  let d0 = i32x4.add(a0, i32x4.splat(12));
  let a1 = i32x4.splat(0);
  let b1 = a1;
  let c1 = a1;
  let d1 = a1;
  let key = i32x4.splat(seed);
  for (let round = 0; round < ROUNDS; round++) {
    const a = a0;
    a0 = v128.xor(v128.xor(upperWords(a, multiplier), key), a1);
    a1 = i32x4.mul(a, multiplier);
    const b = b0;
    b0 = v128.xor(v128.xor(upperWords(b, multiplier), key), b1);
    b1 = i32x4.mul(b, multiplier);
    const c = c0;
    c0 = v128.xor(v128.xor(upperWords(c, multiplier), key), c1);
    c1 = i32x4.mul(c, multiplier);
    const d = d0;
    d0 = v128.xor(v128.xor(upperWords(d, multiplier), key), d1);
    d1 = i32x4.mul(d, multiplier);
    key = i32x4.add(key, i32x4.splat(WEYL));
  }
  const limit = i32x4.splat(threshold);
  return (
    reached(a0, limit) |
    (reached(b0, limit) << 4) |
    (reached(c0, limit) << 8) |
    (reached(d0, limit) << 12) |
    (reached(a1, limit) << 16) |
    (reached(b1, limit) << 20) |
    (reached(c1, limit) << 24) |
    (reached(d1, limit) << 28)
  );
}

/** The upper halves of the four products of 64 bits. */
// @ts-ignore: decorator
@inline
function upperWords(words: v128, multiplier: v128): v128 {
  const front = i64x2.extmul_low_i32x4_u(words, multiplier);
  const back = i64x2.extmul_high_i32x4_u(words, multiplier);
  return i32x4.shuffle(front, back, 1, 3, 5, 7);
}

/** One bit a lane: word ≥ limit, unsigned. */
// @ts-ignore: decorator
@inline
function reached(words: v128, limit: v128): i32 {
  return i32x4.bitmask(i32x4.ge_u(words, limit));
}
