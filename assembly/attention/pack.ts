import { packF32, packTransposedF32 } from "../gemm/pack";
import { PANEL } from "../gemm/tile";
import { floats } from "./row";

/**
 * Packs one matrix a head into panels of eight columns: see packF32.
 *
 * @param panels     out: ⌈columns/8⌉·rows·8 floats a head
 * @param x          f32[heads, rows, columns]
 * @param begin,end  panels of [0, heads·⌈columns/8⌉)
 */
export function packHeadsF32(
  panels: usize,
  x: usize,
  rows: i32,
  columns: i32,
  begin: i32,
  end: i32,
): void {
  const perHead = (columns + PANEL - 1) / PANEL;
  for (let unit = begin; unit < end; unit++) {
    const head = unit / perHead;
    const panel = unit % perHead;
    const to = panels + <usize>head * floats(perHead * rows * PANEL);
    packF32(to, x + <usize>head * floats(rows * columns), columns, rows, columns, panel, panel + 1);
  }
}

/**
 * Packs the transpose of one matrix a head, so that its rows become columns: see packTransposedF32.
 *
 * @param panels     out: ⌈rows/8⌉·columns·8 floats a head
 * @param x          f32[heads, rows, columns]
 * @param begin,end  panels of [0, heads·⌈rows/8⌉)
 */
export function packHeadsTransposedF32(
  panels: usize,
  x: usize,
  rows: i32,
  columns: i32,
  begin: i32,
  end: i32,
): void {
  const perHead = (rows + PANEL - 1) / PANEL;
  for (let unit = begin; unit < end; unit++) {
    const head = unit / perHead;
    const panel = unit % perHead;
    const to = panels + <usize>head * floats(perHead * columns * PANEL);
    const from = x + <usize>head * floats(rows * columns);
    packTransposedF32(to, from, rows, columns, columns, panel, panel + 1);
  }
}
