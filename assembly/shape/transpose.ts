/**
 * Two kernels move elements of four bytes, f32 or i32, to another order of axes: `transpose32`
 * swaps the last two axes through 4×4 tiles, `permute32` reads rows at any strides.
 */

/** Columns of x that one unit owns: a cache line, so its lines are shared by none. */
// @ts-ignore: decorator
@inline
const BAND: i32 = 16;

/**
 * y[b, j, i] = x[b, i, j].
 *
 * @param y  [batch, columns, rows]; must not overlap x
 * @param x  [batch, rows, columns]
 *
 * The range splits batch × ⌈columns / 16⌉ bands of sixteen columns of x.
 */
export function transpose32(
  y: usize,
  x: usize,
  rows: i32,
  columns: i32,
  begin: i32,
  end: i32,
): void {
  const bands = (columns + BAND - 1) / BAND;
  for (let unit = begin; unit < end; unit++) {
    const batch = unit / bands;
    const from = (unit - batch * bands) * BAND;
    const base = batch * rows * columns;
    transposeBand(
      y + ((<usize>(base + from * rows)) << 2),
      x + ((<usize>(base + from)) << 2),
      rows,
      columns,
      min(BAND, columns - from),
    );
  }
}

/**
 * `width` columns of x, `columns` floats apart, become `width` rows of y, `rows` floats apart.
 *
 * Sixteen rows at a time, and of those four columns at a time: a cache line of y is filled before
 * the next is begun, which counts when the strides are powers of two and lines evict each other.
 */
function transposeBand(y: usize, x: usize, rows: i32, columns: i32, width: i32): void {
  const yStep = (<usize>rows) << 2;
  const xStep = (<usize>columns) << 2;
  const whole = rows & ~3;
  for (let from = 0; from < whole; from += BAND) {
    const to = min(from + BAND, whole);
    let j = 0;
    for (; j + 4 <= width; j += 4) {
      const column = x + ((<usize>j) << 2);
      const row = y + <usize>j * yStep;
      for (let i = from; i < to; i += 4) {
        transposeTile(row + ((<usize>i) << 2), yStep, column + <usize>i * xStep, xStep);
      }
    }
    for (; j < width; j++) {
      for (let i = from; i < to; i++) {
        store<i32>(
          y + <usize>j * yStep + ((<usize>i) << 2),
          load<i32>(x + <usize>i * xStep + ((<usize>j) << 2)),
        );
      }
    }
  }
  for (let i = whole; i < rows; i++) {
    const at = x + <usize>i * xStep;
    const to = y + ((<usize>i) << 2);
    for (let j: usize = 0; j < <usize>width; j++) {
      store<i32>(to + j * yStep, load<i32>(at + (j << 2)));
    }
  }
}

/** A tile of 4×4. */
// @ts-ignore: decorator
@inline
function transposeTile(y: usize, yStep: usize, x: usize, xStep: usize): void {
  const a = v128.load(x);
  const b = v128.load(x + xStep);
  const c = v128.load(x + 2 * xStep);
  const d = v128.load(x + 3 * xStep);
  // a0 b0 a1 b1 · a2 b2 a3 b3 · c0 d0 c1 d1 · c2 d2 c3 d3
  const abLow = i32x4.shuffle(a, b, 0, 4, 1, 5);
  const abHigh = i32x4.shuffle(a, b, 2, 6, 3, 7);
  const cdLow = i32x4.shuffle(c, d, 0, 4, 1, 5);
  const cdHigh = i32x4.shuffle(c, d, 2, 6, 3, 7);
  v128.store(y, i64x2.shuffle(abLow, cdLow, 0, 2));
  v128.store(y + yStep, i64x2.shuffle(abLow, cdLow, 1, 3));
  v128.store(y + 2 * yStep, i64x2.shuffle(abHigh, cdHigh, 0, 2));
  v128.store(y + 3 * yStep, i64x2.shuffle(abHigh, cdHigh, 1, 3));
}

/**
 * y [·, size1, size2, size3, size4, n], contiguous, from x at any strides:
 * y[i0, i1, i2, i3, i4, j] = x[i0·s0 + i1·s1 + i2·s2 + i3·s3 + i4·s4 + j·step].
 *
 * Strides and step are in elements, 0 repeats. Axes that are missing have size 1. Covers every
 * permutation and every broadcast up to six axes; y must not overlap x. The range splits the
 * rows of n elements.
 */
export function permute32(
  y: usize,
  x: usize,
  n: i32,
  step: i32,
  size1: i32,
  size2: i32,
  size3: i32,
  size4: i32,
  s0: i32,
  s1: i32,
  s2: i32,
  s3: i32,
  s4: i32,
  begin: i32,
  end: i32,
): void {
  // 1. where row `begin` stands
  let rest = begin / size4;
  let i4 = begin - rest * size4;
  let i3 = rest % size3;
  rest /= size3;
  let i2 = rest % size2;
  rest /= size2;
  let i1 = rest % size1;
  rest /= size1;
  let at = rest * s0 + i1 * s1 + i2 * s2 + i3 * s3 + i4 * s4;
  // 2. row by row, as an odometer turns
  y += (<usize>(begin * n)) << 2;
  for (let r = begin; r < end; r++, y += (<usize>n) << 2) {
    const row = x + ((<usize>at) << 2);
    if (step == 1) copyRow(y, row, n);
    else gatherRow(y, row, n, (<usize>step) << 2);
    at += s4;
    if (++i4 < size4) continue;
    i4 = 0;
    at += s3 - size4 * s4;
    if (++i3 < size3) continue;
    i3 = 0;
    at += s2 - size3 * s3;
    if (++i2 < size2) continue;
    i2 = 0;
    at += s1 - size2 * s2;
    if (++i1 < size1) continue;
    i1 = 0;
    at += s0 - size1 * s1;
  }
}

// @ts-ignore: decorator
@inline
function copyRow(y: usize, x: usize, n: i32): void {
  const stop = y + ((<usize>n) << 2);
  for (; y + 16 <= stop; y += 16, x += 16) v128.store(y, v128.load(x));
  for (; y < stop; y += 4, x += 4) store<i32>(y, load<i32>(x));
}

// @ts-ignore: decorator
@inline
function gatherRow(y: usize, x: usize, n: i32, step: usize): void {
  const stop = y + ((<usize>n) << 2);
  for (; y < stop; y += 4, x += step) store<i32>(y, load<i32>(x));
}
