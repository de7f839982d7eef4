/** Shares of right decisions that count as equal: half a percent. */
const SLACK = 0.005;

/**
 * The threshold that parts two kinds of probabilities: most of `below` are under it, and most of
 * `above` are not. Both kinds count the same, however many values each has. Of the thresholds that
 * part them nearly as well as any does, it is the one nearest to one half.
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
  // At or under all values, all of `above` are on their side and none of `below`.
  const lowest = values[0]?.value as number;
  const found = [{ threshold: lowest, accuracy: 0.5 }];
  let accuracy = 0.5;
  values.forEach(({ value, gain }, index) => {
    accuracy += gain / 2;
    const next = values[index + 1]?.value ?? value + 1;
    const threshold = value < 0.5 && next >= 0.5 ? 0.5 : (value + next) / 2;
    if (next > value) found.push({ threshold, accuracy });
  });
  const most = found.reduce((best, { accuracy }) => Math.max(best, accuracy), 0);
  const distance = ({ threshold }: { threshold: number }): number => Math.abs(threshold - 0.5);
  return found
    .filter((one) => one.accuracy >= most - SLACK)
    .reduce((best, one) => (distance(one) < distance(best) ? one : best));
}
