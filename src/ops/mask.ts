import { IndexError } from "../errors.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectDType, expectShape } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** What causalMask takes beside its sizes. */
export interface CausalMaskOptions {
  /**
   * How queries and keys of different number face each other: "start" puts query 0 at key 0 (as
   * PyTorch's is_causal does), "end" puts the last query at the last key (as a cache of earlier
   * keys wants it). Default "start".
   */
  readonly align?: "start" | "end";
}

/**
 * Which keys each query may see when none may look ahead: 1 shows, 0 hides.
 *
 * @param keys  defaults to queries
 * @returns u8[queries, keys]; 1 where key ≤ query, the query moved by keys − queries for "end"
 * @throws {ShapeError} a size is no integer from 0 up
 * @example
 * const y = attention(q, k, v, { mask: causalMask(runtime, 128) });
 */
export function causalMask(
  runtime: Runtime,
  queries: number,
  keys: number = queries,
  options: CausalMaskOptions = {},
): Tensor {
  const { align = "start" } = options;
  if (align !== "start" && align !== "end")
    throw new TypeError(`causalMask: align must be "start" or "end", got ${String(align)}`);
  const mask = empty(runtime, [queries, keys], "u8");
  const bytes = runtime.memory.u8(mask.ptr, mask.size);
  const shift = align === "end" ? keys - queries : 0;
  for (let query = 0; query < queries; query++) {
    const visible = Math.min(keys, Math.max(0, query + shift + 1));
    bytes.fill(1, query * keys, query * keys + visible);
    bytes.fill(0, query * keys + visible, (query + 1) * keys);
  }
  return mask;
}

/**
 * Which positions of a padded batch exist: 1 shows, 0 hides.
 *
 * @param lengths  i32[B], each in 0 … length
 * @param length   positions of a row, padding included
 * @returns u8[B, length]
 * @throws {IndexError} a length lies outside 0 … length
 */
export function paddingMask(lengths: Tensor, length: number): Tensor {
  expectDType("paddingMask", lengths, "i32", "lengths");
  expectShape("paddingMask", lengths, [null], "lengths");
  const { runtime } = lengths;
  const batch = lengths.size;
  const mask = empty(runtime, [batch, length], "u8");
  const bytes = runtime.memory.u8(mask.ptr, mask.size);
  runtime.memory.i32(lengths.ptr, batch).forEach((visible, row) => {
    if (visible < 0 || visible > length)
      throw new IndexError(
        `paddingMask: every length must lie in 0 … ${length}, got ${visible} in row ${row}`,
      );
    bytes.fill(1, row * length, row * length + visible);
    bytes.fill(0, row * length + visible, (row + 1) * length);
  });
  return mask;
}
