/**
 * ∂f/∂x at the given indices by central differences in float64.
 *
 * The step of 1e-5 (relative above 1) balances its own error, h²/6 of a third derivative, against
 * rounding, 2⁻⁵³·|f|/h: both are below 1e-9 for the sums that tests make.
 */
export function finiteDifferences(
  f: (x: Float64Array) => number,
  x: Float64Array,
  indices: Iterable<number>,
): Float64Array {
  const moved = x.slice();
  return Float64Array.from(indices, (index) => {
    const center = x[index] as number;
    const h = stepOf(center);
    moved[index] = center + h;
    const right = f(moved);
    moved[index] = center - h;
    const left = f(moved);
    moved[index] = center;
    return (right - left) / (2 * h);
  });
}

/** The derivative of f at x along a direction: one number that every element takes part in. */
export function directionalDifference(
  f: (x: Float64Array) => number,
  x: Float64Array,
  direction: ArrayLike<number>,
): number {
  const h = 1e-5;
  const at = (step: number): number =>
    f(x.map((value, index) => value + step * (direction[index] as number)));
  return (at(h) - at(-h)) / (2 * h);
}

function stepOf(value: number): number {
  return 1e-5 * Math.max(1, Math.abs(value));
}
