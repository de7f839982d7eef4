/**
 * y[r] = the index of the largest of row r, the lowest one of equals. As in NumPy a NaN is larger
 * than every number: the first one wins.
 *
 * @param y  i32[rows]
 * @param x  f32[rows, n], n ≥ 1
 *
 * The range splits rows.
 */
export function argmaxF32(y: usize, x: usize, n: i32, begin: i32, end: i32): void {
  for (let r = begin; r < end; r++) {
    const row = x + ((<usize>(r * n)) << 2);
    store<i32>(y + ((<usize>r) << 2), firstOf(row, n, rowMax(row, n)));
  }
}

/** The largest of n ≥ 1 numbers, NaN when there is one. */
function rowMax(x: usize, n: i32): f32 {
  // f32x4.pmax is one instruction where f32x4.max is seven; it passes NaN over, so NaN is noted.
  let a = v128.load32_splat(x);
  let b = a;
  let nan = f32x4.ne(a, a);
  let stop = x + ((<usize>(n >> 3)) << 5);
  for (; x < stop; x += 32) {
    const first = v128.load(x);
    const second = v128.load(x, 16);
    a = f32x4.pmax(a, first);
    b = f32x4.pmax(b, second);
    nan = v128.or(nan, v128.or(f32x4.ne(first, first), f32x4.ne(second, second)));
  }
  stop = x + ((<usize>(n & 7)) << 2);
  for (; x < stop; x += 4) {
    const value = v128.load32_splat(x);
    a = f32x4.pmax(a, value);
    nan = v128.or(nan, f32x4.ne(value, value));
  }
  if (v128.any_true(nan)) return NaN;
  a = f32x4.pmax(a, b);
  a = f32x4.pmax(a, i32x4.shuffle(a, a, 2, 3, 0, 1));
  return max<f32>(f32x4.extract_lane(a, 0), f32x4.extract_lane(a, 1));
}

/** The index of the first number equal to `value`, or of the first NaN when value is NaN. */
function firstOf(x: usize, n: i32, value: f32): i32 {
  const wanted = f32x4.splat(value);
  const nan = value != value;
  let i = 0;
  for (; i + 4 <= n; i += 4) {
    const v = v128.load(x + ((<usize>i) << 2));
    const hits = i32x4.bitmask(nan ? f32x4.ne(v, v) : f32x4.eq(v, wanted));
    if (hits) return i + ctz<i32>(hits);
  }
  for (; i < n; i++) {
    const v = load<f32>(x + ((<usize>i) << 2));
    if (nan ? v != v : v == value) return i;
  }
  return 0;
}
