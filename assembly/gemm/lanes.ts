/** Loads and stores of a row's last columns: the first `count` lanes, none when count is ≤ 0, four at most. */

/** The first `count` floats at p, the other lanes zero; nothing beyond them is read. */
// @ts-ignore: decorator
@inline
export function loadFirst4(p: usize, count: i32): v128 {
  if (count >= 4) return v128.load(p);
  if (count <= 0) return f32x4.splat(0);
  if (count == 1) return v128.load32_zero(p);
  const pair = v128.load64_zero(p);
  return count == 2 ? pair : v128.load32_lane(p, pair, 2, 8);
}

/** Stores the first `count` lanes at p; nothing beyond them is written. */
// @ts-ignore: decorator
@inline
export function storeFirst4(p: usize, x: v128, count: i32): void {
  if (count >= 4) {
    v128.store(p, x);
    return;
  }
  if (count <= 0) return;
  if (count == 1) {
    v128.store32_lane(p, x, 0);
    return;
  }
  v128.store64_lane(p, x, 0);
  if (count == 3) v128.store32_lane(p, x, 2, 8);
}
