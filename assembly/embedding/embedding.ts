/** Rows of a table by id, and their gradient scattered back. The host has checked the ids. */

/** Columns that one unit of the gradient's range owns: one cache line of 64 bytes. */
// @ts-ignore: decorator
@inline
const BLOCK: i32 = 16;

/**
 * y[i] = table[ids[i]].
 *
 * @param y      f32[count, width]; must not alias the table
 * @param table  f32[vocab, width]
 * @param ids    i32[count], each in [0, vocab)
 *
 * The range splits the count rows of y. Backward needs the ids.
 */
export function embeddingF32(
  y: usize,
  table: usize,
  ids: usize,
  width: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>width) << 2;
  y += <usize>begin * bytes;
  for (let i = begin; i < end; i++, y += bytes) {
    copyRow(y, table + <usize>load<i32>(ids + ((<usize>i) << 2)) * bytes, width);
  }
}

/**
 * dTable[ids[i]] += dy[i] for i upwards; rows of id `padding` are left alone (−1: none).
 *
 * @param dTable  f32[vocab, width]; rows that no id names are not touched
 * @param dy      f32[count, width]
 * @param ids     i32[count]
 *
 * The range splits ⌈width / 16⌉ blocks of columns, so each element of dTable belongs to one part
 * and takes its sums in the order of the ids, whatever the cut.
 */
export function embeddingGradF32(
  dTable: usize,
  dy: usize,
  ids: usize,
  count: i32,
  width: i32,
  padding: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>width) << 2;
  const from = begin * BLOCK;
  const columns = min(end * BLOCK, width) - from;
  dTable += (<usize>from) << 2;
  dy += (<usize>from) << 2;
  for (let i = 0; i < count; i++, dy += bytes) {
    const id = load<i32>(ids + ((<usize>i) << 2));
    if (id != padding) addRow(dTable + <usize>id * bytes, dy, columns);
  }
}

/** y[0..n) = x[0..n). */
// @ts-ignore: decorator
@inline
function copyRow(y: usize, x: usize, n: i32): void {
  const stop = y + ((<usize>n) << 2);
  for (; y + 32 <= stop; y += 32, x += 32) {
    v128.store(y, v128.load(x));
    v128.store(y, v128.load(x, 16), 16);
  }
  for (; y < stop; y += 4, x += 4) store<i32>(y, load<i32>(x));
}

/** y[0..n) += x[0..n). */
// @ts-ignore: decorator
@inline
function addRow(y: usize, x: usize, n: i32): void {
  const stop = y + ((<usize>n) << 2);
  for (; y + 32 <= stop; y += 32, x += 32) {
    v128.store(y, f32x4.add(v128.load(y), v128.load(x)));
    v128.store(y, f32x4.add(v128.load(y, 16), v128.load(x, 16)), 16);
  }
  for (; y < stop; y += 4, x += 4) store<f32>(y, load<f32>(y) + load<f32>(x));
}
