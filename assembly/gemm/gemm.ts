/**
 * Matrix products c[m, n] = a[m, k]·B[k, n] with B packed in panels of eight columns (pack.ts).
 *
 * The range counts blocks of 40 rows × 32 columns, the rows of one group of columns first:
 * unit u is block u mod ⌈m/40⌉ of rows and group u div ⌈m/40⌉ of columns, ⌈m/40⌉·⌈n/32⌉ in all. A
 * single row therefore splits too. A block runs over k in stretches of 512: a panel's stretch
 * (16 KiB) stays in the first-level cache while the block's rows pass by (bench/gemm.bench.ts).
 *
 * c must not overlap a or the panels. lda and ldc are floats between rows. Every element adds k
 * upwards in one accumulator: see tile.ts.
 */
import { loadFirst4, storeFirst4 } from "./lanes";
import { PANEL, PANEL_ROW, TILE_ROWS, tileRows, tileWide } from "./tile";

/** Rows of a unit of work: eight tiles of five. */
const BLOCK_ROWS: i32 = 40;

/** Columns of a unit of work: four panels. */
const BLOCK_COLUMNS: i32 = 32;

/** Floats of k between two visits of c. */
const STRETCH: i32 = 512;

// What c holds before the products are added.
const FROM_ZERO: i32 = 0;
const FROM_BIAS: i32 = 1;
const FROM_C: i32 = 2;

/**
 * c = a·B.
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       f32[m, k], row stride lda
 * @param panels  B f32[k, n] in panels
 * range: ⌈m/40⌉·⌈n/32⌉
 */
export function gemmF32(
  c: usize,
  a: usize,
  panels: usize,
  m: i32,
  n: i32,
  k: i32,
  lda: i32,
  ldc: i32,
  begin: i32,
  end: i32,
): void {
  units(FROM_ZERO, c, a, panels, 0, m, n, k, (<usize>lda) << 2, 4, ldc, begin, end);
}

/**
 * c = a·B + bias: the sum starts from bias[j].
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       f32[m, k], row stride lda
 * @param panels  B f32[k, n] in panels
 * @param bias    f32[n]
 * range: ⌈m/40⌉·⌈n/32⌉
 */
export function gemmBiasF32(
  c: usize,
  a: usize,
  panels: usize,
  bias: usize,
  m: i32,
  n: i32,
  k: i32,
  lda: i32,
  ldc: i32,
  begin: i32,
  end: i32,
): void {
  units(FROM_BIAS, c, a, panels, bias, m, n, k, (<usize>lda) << 2, 4, ldc, begin, end);
}

/**
 * c += a·B: the sum starts from c.
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       f32[m, k], row stride lda
 * @param panels  B f32[k, n] in panels
 * range: ⌈m/40⌉·⌈n/32⌉
 */
export function gemmAddF32(
  c: usize,
  a: usize,
  panels: usize,
  m: i32,
  n: i32,
  k: i32,
  lda: i32,
  ldc: i32,
  begin: i32,
  end: i32,
): void {
  units(FROM_C, c, a, panels, 0, m, n, k, (<usize>lda) << 2, 4, ldc, begin, end);
}

/**
 * c = aᵀ·B.
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       f32[k, m], row stride lda
 * @param panels  B f32[k, n] in panels
 * range: ⌈m/40⌉·⌈n/32⌉
 */
export function gemmTransposedF32(
  c: usize,
  a: usize,
  panels: usize,
  m: i32,
  n: i32,
  k: i32,
  lda: i32,
  ldc: i32,
  begin: i32,
  end: i32,
): void {
  units(FROM_ZERO, c, a, panels, 0, m, n, k, 4, (<usize>lda) << 2, ldc, begin, end);
}

/**
 * c += aᵀ·B: the gradient of a weight, dyᵀ·x.
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       f32[k, m], row stride lda
 * @param panels  B f32[k, n] in panels
 * range: ⌈m/40⌉·⌈n/32⌉
 */
export function gemmTransposedAddF32(
  c: usize,
  a: usize,
  panels: usize,
  m: i32,
  n: i32,
  k: i32,
  lda: i32,
  ldc: i32,
  begin: i32,
  end: i32,
): void {
  units(FROM_C, c, a, panels, 0, m, n, k, 4, (<usize>lda) << 2, ldc, begin, end);
}

/** The units [begin, end); steps of a in bytes. */
function units(
  from: i32,
  c: usize,
  a: usize,
  panels: usize,
  bias: usize,
  m: i32,
  n: i32,
  k: i32,
  rowStep: usize,
  depthStep: usize,
  ldc: i32,
  begin: i32,
  end: i32,
): void {
  const rowBlocks = (m + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (let unit = begin; unit < end; unit++) {
    const row = (unit % rowBlocks) * BLOCK_ROWS;
    const column = (unit / rowBlocks) * BLOCK_COLUMNS;
    const rows = min(BLOCK_ROWS, m - row);
    const columns = min(BLOCK_COLUMNS, n - column);
    const corner = c + (((<usize>row) * ldc + column) << 2);
    if (from != FROM_C) {
      startBlock(corner, from == FROM_BIAS ? bias + ((<usize>column) << 2) : 0, rows, columns, ldc);
    }
    addBlock(
      corner,
      a + (<usize>row) * rowStep,
      panels + (((<usize>column) * k) << 2),
      rows,
      columns,
      k,
      (<usize>ldc) << 2,
      rowStep,
      depthStep,
    );
  }
}

/** Fills a block of c with the bias, or with zeros when there is none (bias = 0). */
function startBlock(c: usize, bias: usize, rows: i32, columns: i32, ldc: i32): void {
  for (let j = 0; j < columns; j += 4) {
    const x = bias ? loadFirst4(bias + ((<usize>j) << 2), columns - j) : f32x4.splat(0);
    let at = c + ((<usize>j) << 2);
    for (let i = 0; i < rows; i++) {
      storeFirst4(at, x, columns - j);
      at += (<usize>ldc) << 2;
    }
  }
}

/** c += a·B for one block, in stretches of k. */
function addBlock(
  c: usize,
  a: usize,
  panels: usize,
  rows: i32,
  columns: i32,
  k: i32,
  ldc: usize,
  rowStep: usize,
  depthStep: usize,
): void {
  const panelStep = (<usize>k) * PANEL_ROW;
  for (let start = 0; start < k; start += STRETCH) {
    const depth = min(STRETCH, k - start);
    const stretch = panels + (<usize>start) * PANEL_ROW;
    const aStretch = a + (<usize>start) * depthStep;
    if (rows <= 2 && columns == BLOCK_COLUMNS) {
      tileWide(c, aStretch, stretch, depth, panelStep, depthStep);
      if (rows == 2) tileWide(c + ldc, aStretch + rowStep, stretch, depth, panelStep, depthStep);
      continue;
    }
    let panel = stretch;
    for (let column = 0; column < columns; column += PANEL) {
      const width = min(PANEL, columns - column);
      for (let row = 0; row < rows; ) {
        // Rows are shared out evenly (6 = 3 + 3, not 5 + 1): low tiles wait for their additions.
        const left = rows - row;
        const tiles = (left + TILE_ROWS - 1) / TILE_ROWS;
        const height = (left + tiles - 1) / tiles;
        tileRows(
          height,
          c + (<usize>row) * ldc + ((<usize>column) << 2),
          aStretch + (<usize>row) * rowStep,
          panel,
          depth,
          width,
          ldc,
          rowStep,
          depthStep,
        );
        row += height;
      }
      panel += panelStep;
    }
  }
}
