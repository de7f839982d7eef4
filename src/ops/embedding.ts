import { IndexError, ShapeError } from "../errors.js";
import { expectDType, sameRuntime, showShape } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";
import { gradientOf, record } from "./tape.js";

/** What embedding takes beside its tensors. */
export interface EmbeddingOptions {
  /** An id whose row gets no gradient; it is still looked up. */
  readonly padding?: number;
}

/** Columns a unit of the gradient kernel owns. */
const BLOCK = 16;

/**
 * Rows of a table by id: y[...] = table[ids[...]].
 *
 * The gradient is added into the rows that were read, in the order of the ids; the other rows of
 * the table's gradient are not touched.
 *
 * @param table  f32[V, E]
 * @param ids    i32[...]
 * @returns f32[..., E]
 * @throws {IndexError} an id lies outside 0 … V − 1
 * @throws {ShapeError} the table has not two axes
 * @throws {DTypeError} the table is not f32 or the ids are not i32
 * @example
 * const y = embedding(weight, ids); // [V, E] and [B, L] → [B, L, E]
 */
export function embedding(table: Tensor, ids: Tensor, options: EmbeddingOptions = {}): Tensor {
  expectDType("embedding", table, "f32", "table");
  expectDType("embedding", ids, "i32", "ids");
  sameRuntime("embedding", table, ids);
  const { runtime } = table;
  const [vocab, width] = table.shape;
  if (vocab === undefined || width === undefined || table.rank !== 2)
    throw new ShapeError(`embedding: table must be [vocab, width], got ${showShape(table.shape)}`);
  const { padding = -1 } = options;
  checkIds(ids, vocab);

  const y = empty(runtime, [...ids.shape, width]);
  const count = ids.size;
  runtime.run("embeddingF32", [y.ptr, table.ptr, ids.ptr, width], count, width);
  return record("embedding", y, [table, ids], (dy) => {
    const dTable = gradientOf(table);
    if (dTable)
      runtime.run(
        "embeddingGradF32",
        [dTable.ptr, dy.ptr, ids.ptr, count, width, padding],
        Math.ceil(width / BLOCK),
        BLOCK * count,
      );
    return [null];
  });
}

function checkIds(ids: Tensor, vocab: number): void {
  const values = ids.runtime.memory.i32(ids.ptr, ids.size);
  for (let i = 0; i < values.length; i++) {
    const id = values[i] as number;
    if (id >= 0 && id < vocab) continue;
    throw new IndexError(
      `embedding: every id must lie in 0 … ${vocab - 1}, the rows of the table, ` +
        `got ${id} at ${showShape(position(i, ids.shape))}`,
    );
  }
}

/** The index along each axis of the element at `offset`. */
function position(offset: number, shape: Shape): number[] {
  let rest = offset;
  return shape
    .toReversed()
    .map((length) => {
      const index = rest % length;
      rest = (rest - index) / length;
      return index;
    })
    .toReversed();
}
