/** Rows between a batch [B, L, …] and the order in which the steps of an LSTM run. */

/**
 * y[r] = x[index[r]], or zeros where the index is −1. y must not overlap x.
 *
 * @param y      f32[rows, n]
 * @param x      f32[…, n]
 * @param index  i32[rows]
 * range: rows
 */
export function lstmGatherF32(
  y: usize,
  x: usize,
  index: usize,
  n: i32,
  begin: i32,
  end: i32,
): void {
  const step = <usize>n << 2;
  for (let row = begin; row < end; row++) {
    const to = y + <usize>row * step;
    const from = load<i32>(index + (<usize>row << 2));
    if (from < 0) memory.fill(to, 0, step);
    else memory.copy(to, x + <usize>from * step, step);
  }
}

/**
 * y[index[r]] += x[r]. No index may occur twice, as rows of x are split.
 *
 * @param y      f32[…, n]
 * @param x      f32[rows, n]
 * @param index  i32[rows]
 * range: rows
 */
export function lstmScatterAddF32(
  y: usize,
  x: usize,
  index: usize,
  n: i32,
  begin: i32,
  end: i32,
): void {
  const step = <usize>n << 2;
  for (let row = begin; row < end; row++) {
    const from = x + <usize>row * step;
    const to = y + <usize>load<i32>(index + (<usize>row << 2)) * step;
    for (let at: usize = 0; at < step; at += 4) {
      store<f32>(to + at, load<f32>(to + at) + load<f32>(from + at));
    }
  }
}
