/**
 * The threshold that parts two kinds best: most values of `below` are under it and most of `above`
 * are not. Both kinds count the same, however many values each has.
 *
 * @returns the threshold, and the mean of the two shares that it puts on their side
 * @throws {RangeError} there is nothing of one kind
 */
export function bestThreshold(
  below: readonly number[],
  above: readonly number[],
): { threshold: number; accuracy: number } {
  if (below.length === 0 || above.length === 0)
    throw new RangeError(
      `bestThreshold: there must be values of both kinds, got ${below.length} and ${above.length}`,
    );
  const values = [
    ...below.map((value) => ({ value, gain: 1 / below.length })),
    ...above.map((value) => ({ value, gain: -1 / above.length })),
  ].sort((a, b) => a.value - b.value);
  // With a threshold under all values, all of `above` and none of `below` are on their side.
  let best = { threshold: (values[0] as { value: number }).value, accuracy: 0.5 };
  let accuracy = 0.5;
  values.forEach(({ value, gain }, index) => {
    accuracy += gain / 2;
    const next = values[index + 1]?.value ?? value + 1;
    if (next > value && accuracy > best.accuracy)
      best = { threshold: (value + next) / 2, accuracy };
  });
  return best;
}
