/** Where two arrays of numbers differ most, and by how much. */
export interface Difference {
  readonly index: number;
  readonly actual: number;
  readonly expected: number;
  /** |Δ| / max(1, max |expected|); Infinity where only one is NaN or they are not the same infinity. */
  readonly error: number;
}

/**
 * The worst difference of two arrays, or null when they are equal everywhere.
 *
 * NaN equals only NaN, an infinity only itself; neither counts in max |expected|.
 *
 * @throws the lengths differ
 */
export function worstDifference(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
): Difference | null {
  sameLength(actual, expected, "");
  let scale = 1;
  for (let i = 0; i < expected.length; i++) {
    const size = Math.abs(expected[i] as number);
    if (size > scale && size < Infinity) scale = size;
  }
  let worst: Difference | null = null;
  for (let i = 0; i < expected.length; i++) {
    const a = actual[i] as number;
    const b = expected[i] as number;
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const distance = Math.abs(a - b) / scale;
    const error = Number.isNaN(distance) ? Infinity : distance;
    if (!worst || error > worst.error) worst = { index: i, actual: a, expected: b, error };
  }
  return worst;
}

/**
 * Throws unless max |Δ| ≤ tolerance · max(1, max |expected|).
 *
 * @param context  what was compared, with the seed of its numbers: the error starts with it
 * @returns the error that was met
 */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
  context = "values",
): number {
  sameLength(actual, expected, context);
  const worst = worstDifference(actual, expected);
  if (!worst) return 0;
  if (worst.error <= tolerance) return worst.error;
  throw new Error(
    `${context}: [${worst.index}] must be ${worst.expected}, got ${worst.actual}: ` +
      `off by ${worst.error.toExponential(2)}, allowed ${tolerance.toExponential(2)}`,
  );
}

/**
 * ‖actual − expected‖ / max(‖expected‖, floor) ≤ tolerance, or it throws with the worst element.
 *
 * The floor keeps a gradient that is zero from asking for zeros to the last bit.
 */
export function expectCloseNorm(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
  context = "values",
  floor = 1e-3,
): number {
  sameLength(actual, expected, context);
  let difference = 0;
  let size = 0;
  for (let i = 0; i < expected.length; i++) {
    difference += ((actual[i] as number) - (expected[i] as number)) ** 2;
    size += (expected[i] as number) ** 2;
  }
  const error = Math.sqrt(difference) / Math.max(Math.sqrt(size), floor);
  if (error <= tolerance) return error;
  const worst = worstDifference(actual, expected);
  const where = worst ? `[${worst.index}] is ${worst.actual} for ${worst.expected}` : "no element";
  throw new Error(
    `${context}: the norm of the difference must be at most ${tolerance.toExponential(2)} of the ` +
      `norm, got ${error.toExponential(2)}; the worst: ${where}`,
  );
}

/** Whether two f32 arrays hold the same bits. −0 is not 0; which NaN it is does not count. */
export function sameBits(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  return a.length === b.length && firstOtherBits(a, b) < 0;
}

/** sameBits(), or it throws with the first index where they are not. */
export function expectSameBits(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  context = "values",
): void {
  sameLength(actual, expected, context);
  const index = firstOtherBits(actual, expected);
  if (index < 0) return;
  const a = actual[index] as number;
  const b = expected[index] as number;
  throw new Error(
    `${context}: [${index}] must be the bits of ${b} (${hex(b)}), got ${Object.is(a, -0) ? "-0" : a} (${hex(a)})`,
  );
}

function firstOtherBits(a: ArrayLike<number>, b: ArrayLike<number>): number {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return i;
  return -1;
}

function sameLength(a: ArrayLike<number>, b: ArrayLike<number>, context: string): void {
  if (a.length !== b.length)
    throw new Error(`${context || "values"}: there must be ${b.length} numbers, got ${a.length}`);
}

function hex(value: number): string {
  return `0x${new Uint32Array(Float32Array.of(value).buffer)[0]?.toString(16).padStart(8, "0")}`;
}
