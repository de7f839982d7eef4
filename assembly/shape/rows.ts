/** Rows from one stride to another: what slice and concat are, and the gradient of slice. */

/**
 * Row r of y gets row r of x; sizes and strides in bytes, so any element type.
 * y must not overlap x. The range splits rows.
 */
export function copyRows(
  y: usize,
  x: usize,
  bytes: i32,
  yStride: i32,
  xStride: i32,
  begin: i32,
  end: i32,
): void {
  for (let r = begin; r < end; r++) {
    copyBytes(y + <usize>r * <usize>yStride, x + <usize>r * <usize>xStride, bytes);
  }
}

/** y[0..bytes) = x[0..bytes). */
function copyBytes(y: usize, x: usize, bytes: i32): void {
  const stop = y + bytes;
  for (; y + 16 <= stop; y += 16, x += 16) v128.store(y, v128.load(x));
  for (; y + 4 <= stop; y += 4, x += 4) store<i32>(y, load<i32>(x));
  for (; y < stop; y++, x++) store<u8>(y, load<u8>(x));
}

/**
 * y[r·yStride + j] += x[r·xStride + j] for j < n; strides in floats. Rows of y must not overlap.
 * The range splits rows.
 */
export function accumulateRowsF32(
  y: usize,
  x: usize,
  n: i32,
  yStride: i32,
  xStride: i32,
  begin: i32,
  end: i32,
): void {
  for (let r = begin; r < end; r++) {
    let yAt = y + ((<usize>(r * yStride)) << 2);
    let xAt = x + ((<usize>(r * xStride)) << 2);
    const stop = yAt + ((<usize>n) << 2);
    for (; yAt + 16 <= stop; yAt += 16, xAt += 16) {
      v128.store(yAt, f32x4.add(v128.load(yAt), v128.load(xAt)));
    }
    for (; yAt < stop; yAt += 4, xAt += 4) store<f32>(yAt, load<f32>(yAt) + load<f32>(xAt));
  }
}
