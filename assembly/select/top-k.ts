/**
 * The k largest of each row, descending, the lower index first among equals, NaN before every
 * number as in argmaxF32.
 *
 * The output row is a sorted list into which a larger element is inserted; four elements at a time
 * are compared with its last. That is one comparison an element for a k of beam search; a k near n
 * costs up to n·k moves.
 *
 * @param values   f32[rows, k]
 * @param indices  i32[rows, k]
 * @param x        f32[rows, n], 1 ≤ k ≤ n; must not overlap the outputs
 *
 * The range splits rows.
 */
export function topKF32(
  values: usize,
  indices: usize,
  x: usize,
  n: i32,
  k: i32,
  begin: i32,
  end: i32,
): void {
  for (let r = begin; r < end; r++) {
    const at = (<usize>(r * k)) << 2;
    topKRow(values + at, indices + at, x + ((<usize>(r * n)) << 2), n, k);
  }
}

function topKRow(values: usize, indices: usize, x: usize, n: i32, k: i32): void {
  // 1. the first k fill the list
  for (let i = 0; i < k; i++) insert(values, indices, load<f32>(x + ((<usize>i) << 2)), i, i);
  // 2. the others must be larger than its last
  const last = values + ((<usize>(k - 1)) << 2);
  let i = k;
  for (; i + 4 <= n; i += 4) {
    // "not ≤" lets NaN through as well; `insert` decides.
    const least = v128.load32_splat(last);
    const below = f32x4.le(v128.load(x + ((<usize>i) << 2)), least);
    if (i32x4.all_true(below)) continue;
    for (let j = i; j < i + 4; j++)
      offer(values, indices, last, load<f32>(x + ((<usize>j) << 2)), j, k);
  }
  for (; i < n; i++) offer(values, indices, last, load<f32>(x + ((<usize>i) << 2)), i, k);
}

/** Inserts element `index` when it is larger than the last of the full list. */
// @ts-ignore: decorator
@inline
function offer(values: usize, indices: usize, last: usize, value: f32, index: i32, k: i32): void {
  if (larger(value, load<f32>(last))) insert(values, indices, value, index, k - 1);
}

/** Moves smaller elements down from place `hole` and puts the new one where it belongs. */
function insert(values: usize, indices: usize, value: f32, index: i32, hole: i32): void {
  let at = (<usize>hole) << 2;
  for (; at > 0; at -= 4) {
    const above = load<f32>(values + at - 4);
    if (!larger(value, above)) break;
    store<f32>(values + at, above);
    store<i32>(indices + at, load<i32>(indices + at - 4));
  }
  store<f32>(values + at, value);
  store<i32>(indices + at, index);
}

/** a before b: larger, or a NaN before a number. */
// @ts-ignore: decorator
@inline
function larger(a: f32, b: f32): bool {
  return a > b || (a != a && b == b);
}

/**
 * dx[r, indices[r, j]] += dValues[r, j]; the indices of a row differ. The range splits rows.
 */
export function topKGradF32(
  dx: usize,
  dValues: usize,
  indices: usize,
  n: i32,
  k: i32,
  begin: i32,
  end: i32,
): void {
  for (let r = begin; r < end; r++) {
    const row = dx + ((<usize>(r * n)) << 2);
    for (let j = r * k; j < (r + 1) * k; j++) {
      const at = row + ((<usize>load<i32>(indices + ((<usize>j) << 2))) << 2);
      store<f32>(at, load<f32>(at) + load<f32>(dValues + ((<usize>j) << 2)));
    }
  }
}
