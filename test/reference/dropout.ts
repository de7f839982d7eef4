/** The two words of Philox2x32 with ten rounds, straight from Salmon et al. 2011, section 2.1. */
export function philox2x32(
  counter: readonly [number, number],
  key: number,
): [first: number, second: number] {
  let [first, second] = [BigInt(counter[0]), BigInt(counter[1])];
  let k = BigInt(key);
  for (let round = 0; round < 10; round++) {
    const product = first * 0xd256d193n;
    first = (product >> 32n) ^ k ^ second;
    second = product & 0xffffffffn;
    k = (k + 0x9e3779b9n) & 0xffffffffn;
  }
  return [Number(first), Number(second)];
}

/** Which of n elements are kept: element 32b + j has word ⌊j / 16⌋ of counter 16b + (j mod 16). */
export function keepMask(n: number, seed: number, p: number): Uint8Array {
  return Uint8Array.from({ length: n }, (_, i) => {
    const counter = 16 * Math.floor(i / 32) + (i % 16);
    const word = philox2x32([counter, 0], seed)[i % 32 < 16 ? 0 : 1] as number;
    return word >= Math.floor(p * 2 ** 32) ? 1 : 0;
  });
}

/** x / (1 − p) where the mask keeps, 0 elsewhere. */
export function dropout(x: ArrayLike<number>, mask: ArrayLike<number>, p: number): Float64Array {
  return Float64Array.from(x, (value, i) => (mask[i] ? value / (1 - p) : 0));
}
