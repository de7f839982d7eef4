/**
 * Packing of the left operand of a product: tiles of up to five rows, side by side. The tile that
 * begins with row r, `height` rows high, holds k columns one after the other:
 *
 *   left + (r·k + kk·height + i)·4  holds  A[r + i, kk],   i < height
 *
 * Tiles are those of tileStart(). m·k·4 bytes in all; a single row is packed as it stands.
 */
import { tileStart, tilesOf } from "./tile";

/** Tiles and depth that packLeftTransposedF32 copies at a time: two or three lines of eight rows. */
const STRIP_TILES: i32 = 8;
const STRIP_DEPTH: i32 = 8;

/**
 * Packs A as it stands.
 *
 * @param left  m·k floats; must not overlap a
 * @param a     f32[m, k], row stride lda floats
 * range: ⌈m/5⌉ tiles
 */
export function packLeftF32(
  left: usize,
  a: usize,
  m: i32,
  k: i32,
  lda: i32,
  begin: i32,
  end: i32,
): void {
  const step = (<usize>lda) << 2;
  for (let tile = begin; tile < end; tile++) {
    const row = tileStart(tile, m);
    const height = tileStart(tile + 1, m) - row;
    interleave(left + (((<usize>row) * k) << 2), a + (<usize>row) * step, height, k, step, 1);
  }
}

/**
 * Packs Aᵀ: the columns of a become rows of the product, as for a weight's gradient dyᵀ·x.
 *
 * @param left  m·k floats; must not overlap a
 * @param a     f32[k, m], row stride lda floats
 * range: ⌈m/5⌉ tiles
 */
export function packLeftTransposedF32(
  left: usize,
  a: usize,
  m: i32,
  k: i32,
  lda: i32,
  begin: i32,
  end: i32,
): void {
  const step = (<usize>lda) << 2;
  for (let first = begin; first < end; first += STRIP_TILES) {
    const stop = min(end, first + STRIP_TILES);
    for (let start = 0; start < k; start += STRIP_DEPTH) {
      const depth = min(STRIP_DEPTH, k - start);
      const from = a + (<usize>start) * step;
      for (let tile = first; tile < stop; tile++) {
        const row = tileStart(tile, m);
        const height = tileStart(tile + 1, m) - row;
        const to = left + (((<usize>row) * k + (<usize>start) * height) << 2);
        copyColumns(to, from + ((<usize>row) << 2), height, depth, step);
      }
    }
  }
}

/** `depth` times `height` floats, 1 to 5, from rows `step` bytes apart. */
function copyColumns(to: usize, from: usize, height: i32, depth: i32, step: usize): void {
  for (let kk = 0; kk < depth; kk++) {
    if (height >= 4) {
      v128.store(to, v128.load(from));
      if (height == 5) f32.store(to, f32.load(from, 16), 16);
    } else {
      f32.store(to, f32.load(from));
      if (height > 1) f32.store(to, f32.load(from, 4), 4);
      if (height > 2) f32.store(to, f32.load(from, 8), 8);
    }
    to += (<usize>height) << 2;
    from += step;
  }
}

/**
 * Packs up to five rows side by side, times a factor: element (i, kk) to 4·(rows·kk + i).
 *
 * @param to    out: rows·n floats
 * @param from  rows of `step` bytes
 */
export function interleave(
  to: usize,
  from: usize,
  rows: i32,
  n: i32,
  step: usize,
  factor: f32,
): void {
  const toStep = (<usize>rows) << 2;
  let kk = 0;
  if (rows >= 4) {
    const f = f32x4.splat(factor);
    for (; kk + 4 <= n; kk += 4) {
      // Four rows of four are transposed in registers, a fifth is stored lane by lane.
      const r0 = f32x4.mul(f, v128.load(from));
      const r1 = f32x4.mul(f, v128.load(from + step));
      const r2 = f32x4.mul(f, v128.load(from + 2 * step));
      const r3 = f32x4.mul(f, v128.load(from + 3 * step));
      const ab01 = i32x4.shuffle(r0, r1, 0, 4, 1, 5);
      const ab23 = i32x4.shuffle(r0, r1, 2, 6, 3, 7);
      const cd01 = i32x4.shuffle(r2, r3, 0, 4, 1, 5);
      const cd23 = i32x4.shuffle(r2, r3, 2, 6, 3, 7);
      v128.store(to, i64x2.shuffle(ab01, cd01, 0, 2));
      v128.store(to + toStep, i64x2.shuffle(ab01, cd01, 1, 3));
      v128.store(to + 2 * toStep, i64x2.shuffle(ab23, cd23, 0, 2));
      v128.store(to + 3 * toStep, i64x2.shuffle(ab23, cd23, 1, 3));
      if (rows == 5) {
        const r4 = f32x4.mul(f, v128.load(from + 4 * step));
        v128.store32_lane(to, r4, 0, 16);
        v128.store32_lane(to + toStep, r4, 1, 16);
        v128.store32_lane(to + 2 * toStep, r4, 2, 16);
        v128.store32_lane(to + 3 * toStep, r4, 3, 16);
      }
      from += 16;
      to += 4 * toStep;
    }
  }
  for (; kk < n; kk++) {
    for (let row = 0; row < rows; row++) {
      store<f32>(to + ((<usize>row) << 2), factor * load<f32>(from + <usize>row * step));
    }
    from += 4;
    to += toStep;
  }
}
