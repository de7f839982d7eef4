import { mix32 } from "../runtime/runtime.js";

/**
 * Cuts items into batches of similar length, in an order that only depends on the seed.
 *
 * Items are sorted by their lengths (ties and near-ties shuffled by a fresh jitter), cut into
 * batches, and the batches are shuffled: little padding, and another order every epoch.
 *
 * @param lengths  one sort key an item, tokens
 * @param size     items a batch
 * @param jitter   tokens that a key may be off by; mixes neighbours
 * @throws {RangeError} size is not a whole number from 1 up
 */
export function batchesByLength(
  lengths: ArrayLike<number>,
  size: number,
  seed: number,
  jitter = 1,
): number[][] {
  if (!(Number.isInteger(size) && size >= 1))
    throw new RangeError(`batchesByLength: size must be a whole number from 1 up, got ${size}`);
  const keys = Float64Array.from(
    lengths,
    (length, index) => length + (jitter * hash(seed, index)) / 2 ** 32,
  );
  const order = Array.from({ length: keys.length }, (_, index) => index).sort(
    (a, b) => (keys[a] as number) - (keys[b] as number) || a - b,
  );
  const batches: number[][] = [];
  for (let start = 0; start < order.length; start += size)
    batches.push(order.slice(start, start + size));
  return shuffled(batches, seed);
}

/** A permutation by Fisher and Yates, drawn from the seed. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = hash(seed ^ 0x5bd1e995, i) % (i + 1);
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

/** Rows of ids filled up with `padding` to the longest: values i32[rows · longest] and lengths. */
export function padRows(
  rows: readonly ArrayLike<number>[],
  padding: number,
): { values: Int32Array; lengths: Int32Array; longest: number } {
  const lengths = Int32Array.from(rows, (row) => row.length);
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const values = new Int32Array(rows.length * longest).fill(padding);
  rows.forEach((row, index) => {
    values.set(Array.from(row), index * longest);
  });
  return { values, lengths, longest };
}

function hash(seed: number, index: number): number {
  return mix32((mix32(index) + seed) >>> 0);
}
