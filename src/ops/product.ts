/** Products of plain matrices by address: what linear, matmul and the recurrent layers share. */
import type { Runtime } from "../runtime/runtime.js";
import { gemmCost, gemmUnits, packScratch } from "./packing.js";

/** A contiguous f32 matrix [rows, columns]; `transposed` multiplies with its transpose. */
export interface Matrix {
  readonly address: number;
  readonly rows: number;
  readonly columns: number;
  readonly transposed?: boolean;
}

// A transposed left operand is read in strides of its row. Up to this many columns, or below this
// depth, that costs less than transposing it first (bench/gemm.bench.ts).
const STRIDED_COLUMNS = 128;
const STRIDED_DEPTH = 32;

/** c = a·b. */
export function multiply(runtime: Runtime, c: number, a: Matrix, b: Matrix): void {
  withPanels(runtime, b, (panels) => multiplyPanels(runtime, c, a, panels, widthOf(b), "set"));
}

/** c += a·b: each sum starts from what c holds. For dyᵀ·x, straight into a weight's gradient. */
export function multiplyAdd(runtime: Runtime, c: number, a: Matrix, b: Matrix): void {
  withPanels(runtime, b, (panels) => multiplyPanels(runtime, c, a, panels, widthOf(b), "add"));
}

/** c = a·B or c += a·B, with B [k, n] packed already. */
export function multiplyPanels(
  runtime: Runtime,
  c: number,
  a: Matrix,
  panels: number,
  n: number,
  into: "set" | "add",
): void {
  const { address, rows, columns } = a;
  const [m, k] = a.transposed ? [columns, rows] : [rows, columns];
  const range = gemmUnits(m, n);
  const cost = gemmCost(m, n, k);
  if (!a.transposed) {
    const kernel = into === "set" ? "gemmF32" : "gemmAddF32";
    runtime.run(kernel, [c, address, panels, m, n, k, k, n], range, cost);
    return;
  }
  if (m <= STRIDED_COLUMNS || k <= STRIDED_DEPTH) {
    const kernel = into === "set" ? "gemmTransposedF32" : "gemmTransposedAddF32";
    runtime.run(kernel, [c, address, panels, m, n, k, m, n], range, cost);
    return;
  }
  withMemory(runtime, m * k * 4, (upright) => {
    runtime.run("transpose32", [upright, address, k, m], Math.ceil(m / 16), 8 * k);
    const turned = { address: upright, rows: m, columns: k };
    multiplyPanels(runtime, c, turned, panels, n, into);
  });
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

function withMemory(runtime: Runtime, bytes: number, use: (address: number) => void): void {
  const address = runtime.memory.allocate(bytes);
  try {
    use(address);
  } finally {
    runtime.memory.free(address);
  }
}
