/** Products of plain matrices by address: what linear, matmul and the recurrent layers share. */
import type { Runtime } from "../runtime/runtime.js";
import { gemmCost, gemmUnits, packLeftInto, packScratch } from "./packing.js";

/** A contiguous f32 matrix [rows, columns]; `transposed` multiplies with its transpose. */
export interface Matrix {
  readonly address: number;
  readonly rows: number;
  readonly columns: number;
  readonly transposed?: boolean;
}

// From these sizes on the left operand is worth packing: rows, columns, multiply-adds in all
// (bench/gemm.bench.ts).
const PACKED_ROWS = 3;
const PACKED_COLUMNS = 64;
const PACKED_WORK = 2 ** 17;

/** What the sums start from: zero, what c holds, or the entries of a bias f32[n] at an address. */
export type Start = "zero" | "c" | { readonly bias: number };

/** c = a·b. */
export function multiply(runtime: Runtime, c: number, a: Matrix, b: Matrix): void {
  withPanels(runtime, b, (panels) => multiplyPanels(runtime, c, a, panels, widthOf(b), "zero"));
}

/** c += a·b: each sum starts from what c holds. For dyᵀ·x, straight into a weight's gradient. */
export function multiplyAdd(runtime: Runtime, c: number, a: Matrix, b: Matrix): void {
  withPanels(runtime, b, (panels) => multiplyPanels(runtime, c, a, panels, widthOf(b), "c"));
}

/**
 * c = start + a·B, with B [k, n] packed already.
 *
 * @param ldc  floats between rows of c
 */
export function multiplyPanels(
  runtime: Runtime,
  c: number,
  a: Matrix,
  panels: number,
  n: number,
  start: Start,
  ldc = n,
): void {
  const [m, k] = a.transposed ? [a.columns, a.rows] : [a.rows, a.columns];
  if (a.transposed || isWorthPacking(m, n, k)) {
    const left = runtime.memory.allocate(m * k * 4);
    try {
      const tiles = packLeftInto(runtime, left, a.address, m, k, a.transposed ? "columns" : "rows");
      gemm(runtime, c, tiles, panels, m, n, k, 0, ldc, start);
    } finally {
      runtime.memory.free(left);
    }
  } else gemm(runtime, c, a.address, panels, m, n, k, k, ldc, start);
}

/** The kernel; lda = 0 says that the left operand is packed. */
function gemm(
  runtime: Runtime,
  c: number,
  a: number,
  panels: number,
  m: number,
  n: number,
  k: number,
  lda: number,
  ldc: number,
  start: Start,
): void {
  const range = gemmUnits(m, n);
  const cost = gemmCost(m, n, k);
  if (start === "zero") runtime.run("gemmF32", [c, a, panels, m, n, k, lda, ldc], range, cost);
  else if (start === "c") runtime.run("gemmAddF32", [c, a, panels, m, n, k, lda, ldc], range, cost);
  else runtime.run("gemmBiasF32", [c, a, panels, start.bias, m, n, k, lda, ldc], range, cost);
}

function isWorthPacking(m: number, n: number, k: number): boolean {
  return m >= PACKED_ROWS && n >= PACKED_COLUMNS && m * n * k >= PACKED_WORK;
}

function widthOf(b: Matrix): number {
  return b.transposed ? b.rows : b.columns;
}

function withPanels(runtime: Runtime, b: Matrix, use: (panels: number) => void): void {
  const [n, k] = b.transposed ? [b.rows, b.columns] : [b.columns, b.rows];
  const panels = packScratch(runtime, b.address, n, k, b.transposed ? "columns" : "rows");
  try {
    use(panels);
  } finally {
    runtime.memory.free(panels);
  }
}
