/**
 * Packing of the right operand of a product into panels of eight columns. Panel p holds k rows of
 * eight floats, one after the other:
 *
 *   panels + ((p·k + kk)·8 + (j − 8p))·4  holds  B[kk, j],   8p ≤ j < 8p + 8
 *
 * Columns past n in the last panel are zero. ⌈n/8⌉·k·32 bytes in all.
 */
import { loadFirst4 } from "./lanes";
import { PANEL, PANEL_ROW } from "./tile";

/**
 * Packs B as it stands.
 *
 * @param panels  ⌈n/8⌉·k·8 floats; must not overlap b
 * @param b       f32[k, n], row stride ldb floats
 * range: ⌈n/8⌉ panels
 */
export function packF32(
  panels: usize,
  b: usize,
  n: i32,
  k: i32,
  ldb: i32,
  begin: i32,
  end: i32,
): void {
  const step = (<usize>ldb) << 2;
  for (let panel = begin; panel < end; panel++) {
    const column = panel * PANEL;
    const to = panels + (<usize>panel) * k * PANEL_ROW;
    packPanel(to, b + ((<usize>column) << 2), min(PANEL, n - column), k, step);
  }
}

/**
 * Packs Bᵀ: the rows of b become columns of the product, as for a weight [out, in] in x·Wᵀ.
 *
 * @param panels  ⌈n/8⌉·k·8 floats; must not overlap b
 * @param b       f32[n, k], row stride ldb floats
 * range: ⌈n/8⌉ panels
 */
export function packTransposedF32(
  panels: usize,
  b: usize,
  n: i32,
  k: i32,
  ldb: i32,
  begin: i32,
  end: i32,
): void {
  const step = (<usize>ldb) << 2;
  for (let panel = begin; panel < end; panel++) {
    const column = panel * PANEL;
    const to = panels + (<usize>panel) * k * PANEL_ROW;
    const from = b + (<usize>column) * step;
    const width = min(PANEL, n - column);
    transposeHalf(to, from, min(4, width), k, step);
    transposeHalf(to + 16, from + 4 * step, max(0, width - 4), k, step);
  }
}

/** One panel of `width` columns from row-major b. */
function packPanel(to: usize, b: usize, width: i32, k: i32, step: usize): void {
  for (let kk = 0; kk < k; kk++) {
    if (width == PANEL) {
      v128.store(to, v128.load(b));
      v128.store(to, v128.load(b, 16), 16);
    } else {
      v128.store(to, loadFirst4(b, width));
      v128.store(to, loadFirst4(b + 16, width - 4), 16);
    }
    to += PANEL_ROW;
    b += step;
  }
}

/**
 * Half a panel: up to four rows of b, `step` bytes apart, become four columns. Missing rows are
 * zero and not read.
 */
function transposeHalf(to: usize, b: usize, width: i32, k: i32, step: usize): void {
  const b1 = b + step;
  const b2 = b1 + step;
  const b3 = b2 + step;
  let kk: usize = 0;
  if (width == 4) {
    for (const end = (<usize>(k & ~3)) << 2; kk < end; kk += 16) {
      const r0 = v128.load(b + kk);
      const r1 = v128.load(b1 + kk);
      const r2 = v128.load(b2 + kk);
      const r3 = v128.load(b3 + kk);
      // [a0 a1 a2 a3] [b0 …] → [a0 b0 a1 b1], [a2 b2 a3 b3]; pairs of those → columns
      const ab01 = i32x4.shuffle(r0, r1, 0, 4, 1, 5);
      const ab23 = i32x4.shuffle(r0, r1, 2, 6, 3, 7);
      const cd01 = i32x4.shuffle(r2, r3, 0, 4, 1, 5);
      const cd23 = i32x4.shuffle(r2, r3, 2, 6, 3, 7);
      v128.store(to, i64x2.shuffle(ab01, cd01, 0, 2));
      v128.store(to, i64x2.shuffle(ab01, cd01, 1, 3), 32);
      v128.store(to, i64x2.shuffle(ab23, cd23, 0, 2), 64);
      v128.store(to, i64x2.shuffle(ab23, cd23, 1, 3), 96);
      to += 4 * PANEL_ROW;
    }
  }
  for (const end = (<usize>k) << 2; kk < end; kk += 4) {
    f32.store(to, width > 0 ? f32.load(b + kk) : 0);
    f32.store(to, width > 1 ? f32.load(b1 + kk) : 0, 4);
    f32.store(to, width > 2 ? f32.load(b2 + kk) : 0, 8);
    f32.store(to, width > 3 ? f32.load(b3 + kk) : 0, 12);
    to += PANEL_ROW;
  }
}
