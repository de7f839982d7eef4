/**
 * The products of attention, a·B for the rows of one tile and a B packed in panels of 8 columns. The
 * left operand stands as gemm's tiles want it, packed by interleave(); the columns of a row-major
 * matrix stand like that by themselves: the gradients of keys and values use this.
 *
 * Each element is one accumulator that adds kk upwards from 0.
 */
import { PANEL, PANEL_ROW, storeRow, tileRows } from "../gemm/tile";
import { madd4 } from "../math/madd";
import { floats } from "./row";
import { HIDDEN } from "./rules";

/**
 * c = a·B over `columns` columns.
 *
 * @param c          out, rows of `ldc` bytes
 * @param a          element (i, kk) at a + 4·i + kk·step
 * @param panels     the first row to use of panel 0; panels are panelStep bytes apart
 * @param rows       1 … 5
 * @param selecting  skip the a that are −0: the same bits, but what B holds there is not read
 */
export function product(
  c: usize,
  a: usize,
  panels: usize,
  rows: i32,
  columns: i32,
  depth: i32,
  ldc: usize,
  step: usize,
  panelStep: usize,
  selecting: i32,
): void {
  for (let column = 0; column < columns; column += PANEL) {
    const to = c + floats(column);
    const width = min(PANEL, columns - column);
    if (selecting) {
      for (let row = 0; row < rows; row++) {
        const rowOfC = to + <usize>row * ldc;
        selectingTile(rowOfC, a + floats(row), panels, depth, width, step);
      }
    } else tileRows(rows, to, a, panels, depth, width, ldc, 0, 4, step);
    panels += panelStep;
  }
}

/** One row and one panel, skipping what is hidden. */
function selectingTile(
  c: usize,
  a: usize,
  panel: usize,
  depth: i32,
  width: i32,
  step: usize,
): void {
  let left = f32x4.splat(0);
  let right = left;
  for (const end = panel + <usize>depth * PANEL_ROW; panel < end; panel += PANEL_ROW) {
    if (load<i32>(a) != HIDDEN) {
      const x = v128.load32_splat(a);
      left = madd4(x, v128.load(panel), left);
      right = madd4(x, v128.load(panel, 16), right);
    }
    a += step;
  }
  storeRow(c, left, right, width);
}
