/**
 * The orders in which the matrix kernels want their operands, the left one in tiles and the right
 * one in panels (assembly/gemm/pack-left.ts, pack.ts), and the units their work is counted in.
 */
import { ShapeError } from "../errors.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, showShape } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";

// As in assembly/gemm: rows of a tile, columns of a panel; rows and columns of a unit of work.
const TILE = 5;
const PANEL = 8;
const BLOCK_ROWS = 40;
const BLOCK_COLUMNS = 32;

/**
 * How a stored matrix becomes an operand. Of B, the right one: "rows", as it stands [k, n];
 * "columns", its rows are B's columns, stored [n, k] like a weight [out, in] in x·Wᵀ.
 */
export type Packing = "rows" | "columns";

/** The range of the gemm kernels for a product [m, n]: blocks of 40 × 32. */
export function gemmUnits(m: number, n: number): number {
  return Math.ceil(m / BLOCK_ROWS) * Math.ceil(n / BLOCK_COLUMNS);
}

/** What one of those units costs, in the steps that run() counts: two multiply-adds a step. */
export function gemmCost(m: number, n: number, k: number): number {
  return (Math.min(m, BLOCK_ROWS) * Math.min(n, BLOCK_COLUMNS) * k) / 2;
}

/** Panels of a right operand with n columns: the range of the packing kernels. */
export function panelCount(n: number): number {
  return Math.ceil(n / PANEL);
}

/** Bytes of the panels of B [k, n]. */
export function panelBytes(n: number, k: number): number {
  return panelCount(n) * PANEL * k * 4;
}

/**
 * The panels of a weight, kept beside its storage and packed anew when its version has changed.
 *
 * @param weight  f32, two axes
 * @returns the address of the panels; valid until the weight is freed or written
 */
export function packed(weight: Tensor, order: Packing): number {
  expectDType("packed", weight, "f32", "weight");
  const [rows, columns] = weight.shape;
  if (weight.rank !== 2 || rows === undefined || columns === undefined)
    throw new ShapeError(`packed: weight must have two axes, got ${showShape(weight.shape)}`);
  const { runtime, ptr, version } = weight;
  const { caches } = weight.storage;
  const key = `${order} ${rows} ${columns}`;
  const found = caches.get(key);
  if (found?.version === version) return found.address;
  const [n, k] = order === "rows" ? [columns, rows] : [rows, columns];
  const address = found?.address ?? runtime.memory.allocate(panelBytes(n, k));
  caches.set(key, { address, version });
  packInto(runtime, address, ptr, n, k, order);
  return address;
}

/**
 * Packs a contiguous matrix into fresh memory: for activations, which change at each use.
 *
 * @param b  address of f32 [k, n] ("rows") or [n, k] ("columns")
 * @returns the address of the panels; the caller frees it
 */
export function packScratch(
  runtime: Runtime,
  b: number,
  n: number,
  k: number,
  order: Packing,
): number {
  const address = runtime.memory.allocate(panelBytes(n, k));
  packInto(runtime, address, b, n, k, order);
  return address;
}

/** Packs a contiguous matrix into given panels. */
export function packInto(
  runtime: Runtime,
  panels: number,
  b: number,
  n: number,
  k: number,
  order: Packing,
): void {
  if (order === "rows") runtime.run("packF32", [panels, b, n, k, n], panelCount(n), 4 * k);
  else runtime.run("packTransposedF32", [panels, b, n, k, k], panelCount(n), 4 * k);
}

/**
 * Packs a contiguous left operand into given memory; a single row is used as it stands.
 *
 * @param left  room for m·k floats
 * @param a     address of f32 [m, k] ("rows") or [k, m] ("columns": its columns are A's rows)
 * @returns the address of the tiles: left, or a
 */
export function packLeftInto(
  runtime: Runtime,
  left: number,
  a: number,
  m: number,
  k: number,
  order: Packing,
): number {
  if (m <= 1) return a;
  const [tiles, cost] = [Math.ceil(m / TILE), TILE * k];
  if (order === "rows") runtime.run("packLeftF32", [left, a, m, k, k], tiles, cost);
  else runtime.run("packLeftTransposedF32", [left, a, m, k, m], tiles, cost);
  return left;
}
