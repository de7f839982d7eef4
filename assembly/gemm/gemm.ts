/**
 * Matrix products c[m, n] = A[m, k]·B[k, n] with B packed in panels of eight columns (pack.ts) and A
 * as it stands, row-major with lda floats between rows, or, where lda = 0, packed in tiles of five
 * rows (pack-left.ts).
 *
 * The range counts blocks of 8 tiles × 32 columns, the tiles of one group of columns first: unit u
 * is block u mod ⌈m/40⌉ of tiles and group u div ⌈m/40⌉ of columns, ⌈m/40⌉·⌈n/32⌉ in all. A single
 * row therefore splits too. A block runs over k in stretches of 512: a panel's stretch (16 KiB)
 * stays in the first-level cache while the block's tiles pass by (bench/gemm.bench.ts).
 *
 * c must not overlap A or B. ldc is floats between rows. Every element adds k upwards in one
 * accumulator: see tile.ts.
 */
import { loadFirst4 } from "./lanes";
import { PANEL, PANEL_ROW, storeRow, tileRows, tileStart, tilesOf, tileWide } from "./tile";

/** Tiles of a unit of work, at most 40 rows. */
const BLOCK_TILES: i32 = 8;

/** Columns of a unit of work: four panels. */
const BLOCK_COLUMNS: i32 = 32;

/** Floats of k between two visits of c. */
const STRETCH: i32 = 512;

// What the sums start from.
const FROM_ZERO: i32 = 0;
const FROM_BIAS: i32 = 1;
const FROM_C: i32 = 2;

/**
 * c = A·B.
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       A f32[m, k]
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
  units(FROM_ZERO, c, a, panels, 0, m, n, k, lda, ldc, begin, end);
}

/**
 * c = A·B + bias: the sum starts from bias[j].
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       A f32[m, k]
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
  units(FROM_BIAS, c, a, panels, bias, m, n, k, lda, ldc, begin, end);
}

/**
 * c += A·B: the sum starts from c.
 *
 * @param c       f32[m, n], row stride ldc
 * @param a       A f32[m, k]
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
  units(FROM_C, c, a, panels, 0, m, n, k, lda, ldc, begin, end);
}

/** The units [begin, end). */
function units(
  from: i32,
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
  const tiles = tilesOf(m);
  const blocks = (tiles + BLOCK_TILES - 1) / BLOCK_TILES;
  for (let unit = begin; unit < end; unit++) {
    const tile = (unit % blocks) * BLOCK_TILES;
    const column = (unit / blocks) * BLOCK_COLUMNS;
    for (let start = 0; start == 0 || start < k; start += STRETCH) {
      addStretch(
        start == 0 ? from : FROM_C,
        c + (<usize>column << 2),
        a,
        panels + ((<usize>column * k + <usize>start * PANEL) << 2),
        bias + (<usize>column << 2),
        tile,
        min(tiles, tile + BLOCK_TILES),
        min(BLOCK_COLUMNS, n - column),
        m,
        k,
        start,
        lda,
        <usize>ldc << 2,
      );
    }
  }
}

/** Tiles [tile, stop) of a group of columns over the stretch of k from `start`; ldc in bytes. */
function addStretch(
  from: i32,
  c: usize,
  a: usize,
  panels: usize,
  bias: usize,
  tile: i32,
  stop: i32,
  columns: i32,
  m: i32,
  k: i32,
  start: i32,
  lda: i32,
  ldc: usize,
): void {
  const depth = min(STRETCH, k - start);
  const panelStep = <usize>k * PANEL_ROW;
  const rowStep: usize = lda ? <usize>lda << 2 : 4;
  const adding = i32(from != FROM_ZERO);
  if (m <= 2 && columns == BLOCK_COLUMNS) {
    const step: usize = lda ? 4 : <usize>m << 2;
    a += <usize>start * step;
    for (let row = 0; row < m; row++) {
      if (from == FROM_BIAS) memory.copy(c, bias, 4 * BLOCK_COLUMNS);
      tileWide(c, a, panels, depth, adding, panelStep, step);
      a += rowStep;
      c += ldc;
    }
    return;
  }
  // As tileStart() has it, which would divide for every tile.
  const low = m / tilesOf(m);
  const higher = m - low * tilesOf(m);
  for (let column = 0; column < columns; column += PANEL) {
    const width = min(PANEL, columns - column);
    for (let t = tile, row = tileStart(tile, m); t < stop; t++) {
      const height = t < higher ? low + 1 : low;
      const step: usize = lda ? 4 : <usize>height << 2;
      const corner = c + <usize>row * ldc;
      const first = a + ((<usize>row * (lda ? lda : k)) << 2) + <usize>start * step;
      if (from == FROM_BIAS) fillRows(corner, bias, height, width, ldc);
      tileRows(height, corner, first, panels, depth, width, ldc, adding, rowStep, step);
      row += height;
    }
    c += PANEL_ROW;
    bias += PANEL_ROW;
    panels += panelStep;
  }
}

/** Puts a panel's biases into each row of a tile. */
function fillRows(c: usize, bias: usize, rows: i32, width: i32, ldc: usize): void {
  const left = loadFirst4(bias, width);
  const right = loadFirst4(bias + 16, width - 4);
  for (let row = 0; row < rows; row++) {
    storeRow(c, left, right, width);
    c += ldc;
  }
}
