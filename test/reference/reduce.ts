/** Sizes of an array as a reduction sees it: the middle goes. */
export type Sizes = readonly [outer: number, middle: number, inner: number];

/** Σ over the middle of x[outer, middle, inner]. */
export function sum(x: ArrayLike<number>, sizes: Sizes): Float64Array {
  return reduce(x, sizes, (values) => values.reduce((total, value) => total + value, 0));
}

/** Σ / count. */
export function mean(x: ArrayLike<number>, sizes: Sizes): Float64Array {
  return sum(x, sizes).map((total) => total / sizes[1]);
}

/** The largest over the middle; NaN when one is there, −∞ when there is nothing. */
export function max(x: ArrayLike<number>, sizes: Sizes): Float64Array {
  return reduce(x, sizes, (values) => Math.max(...values));
}

/** dy to the first element that has the maximum, NaN being the same as NaN; 0 to the others. */
export function maxGrad(
  dy: ArrayLike<number>,
  x: ArrayLike<number>,
  [outer, middle, inner]: Sizes,
): Float64Array {
  const dx = new Float64Array(outer * middle * inner);
  max(x, [outer, middle, inner]).forEach((largest, i) => {
    const [o, j] = [Math.floor(i / inner), i % inner];
    const places = Array.from({ length: middle }, (_, m) => (o * middle + m) * inner + j);
    const first = places.find((place) => Object.is(x[place], largest) || x[place] === largest);
    if (first !== undefined) dx[first] = dy[i] as number;
  });
  return dx;
}

/** dx[o, m, j] = dy[o, j]. */
export function spread(dy: ArrayLike<number>, [outer, middle, inner]: Sizes): Float64Array {
  return Float64Array.from({ length: outer * middle * inner }, (_, i) => {
    const o = Math.floor(i / (middle * inner));
    return dy[o * inner + (i % inner)] as number;
  });
}

function reduce(
  x: ArrayLike<number>,
  [outer, middle, inner]: Sizes,
  f: (values: number[]) => number,
): Float64Array {
  return Float64Array.from({ length: outer * inner }, (_, i) => {
    const [o, j] = [Math.floor(i / inner), i % inner];
    return f(Array.from({ length: middle }, (_, m) => x[(o * middle + m) * inner + j] as number));
  });
}
