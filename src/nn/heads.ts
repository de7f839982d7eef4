import { reshape, transpose } from "../ops/shape.js";
import type { Tensor } from "../tensor/tensor.js";

/** [B, L, E] → [B, heads, L, E / heads]: each head gets its share of the width. */
export function splitHeads(x: Tensor, heads: number): Tensor {
  const [batch, length, width] = x.shape as [number, number, number];
  return transpose(reshape(x, [batch, length, heads, width / heads]), [0, 2, 1, 3]);
}

/** The way back: [B, heads, L, D] → [B, L, heads·D]. */
export function joinHeads(x: Tensor): Tensor {
  const [batch, heads, length, width] = x.shape as [number, number, number, number];
  return reshape(transpose(x, [0, 2, 1, 3]), [batch, length, heads * width]);
}

/** @throws {RangeError} the width does not fall into equal heads */
export function expectHeads(who: string, width: number, heads: number): void {
  if (!(Number.isInteger(heads) && heads > 0 && width % heads === 0))
    throw new RangeError(
      `${who}: width must be a multiple of heads, got width ${width} and ${heads} heads`,
    );
}
