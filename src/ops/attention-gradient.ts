import { empty, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import {
  type AttentionCall,
  EXP_COST,
  orZeros,
  packRows,
  packTransposed,
  padded,
  TILE,
  unitsFor,
} from "./attention-call.js";
import { readsHidden, writeRules } from "./attention-rules.js";
import { wants } from "./tape.js";

/**
 * Queries of a block. The block's weights stand in memory, so it bounds what the way back takes;
 * dk and dv are loaded and stored once a block, which 80 products an element pay for.
 */
const BLOCK_ROWS = 80;
/** Most floats of weights and of their gradients at a time, unless one head alone needs more. */
const BLOCK_FLOATS = 4 * 2 ** 20;

/**
 * Gradients of q, k and v: block of queries by block, upwards (assembly/attention/attention-grad.ts).
 *
 * @param stats     of the forward pass
 * @param dy        f32[..., Lq, Dv], or null: zeros
 * @param dWeights  f32[..., Lq, Lk], or null: none
 */
export function attentionGradient(
  call: AttentionCall,
  stats: Tensor,
  dyOrNull: Tensor | null,
  dWeights: Tensor | null,
): (Tensor | null)[] {
  const { q, k, v, heads, queries, keys, width, valueWidth, scale } = call;
  const { runtime } = q;
  return runtime.scope(() => {
    const dy = orZeros(dyOrNull, call, valueWidth);
    const dq = empty(runtime, q.shape);
    const dk = zeros(runtime, k.shape);
    const dv = zeros(runtime, v.shape);
    const selecting = readsHidden(call, dWeights ? [q, k, v, dy, dWeights] : [q, k, v, dy]);
    const block = writeRules(call, selecting);
    const keyPanels = packTransposed(k, heads, keys, width);
    const valuePanels = packTransposed(v, heads, keys, valueWidth);
    const keyRows = packRows(k, heads, keys, width);
    const queryRows = packRows(q, heads, queries, width);
    const dyRows = packRows(dy, heads, queries, valueWidth);

    const height = Math.min(queries, BLOCK_ROWS);
    const floatsPerHead = 2 * height * padded(keys);
    const group = Math.min(heads, Math.max(1, Math.floor(BLOCK_FLOATS / floatsPerHead)));
    const applied = empty(runtime, [group, height, padded(keys)]);
    const dScores = empty(runtime, [group, height, padded(keys)]);
    const units = unitsFor(call, group * Math.ceil(height / TILE));
    const scratch = empty(runtime, [units, TILE, padded(Math.max(keys, width, valueWidth))]);

    for (let firstHead = 0; firstHead < heads; firstHead += group) {
      const count = Math.min(group, heads - firstHead);
      for (let firstRow = 0; firstRow < queries; firstRow += height) {
        const rows = Math.min(height, queries - firstRow);
        const tiles = count * Math.ceil(rows / TILE);
        runtime.run(
          "attentionGradScoresF32",
          [
            dq.ptr,
            applied.ptr,
            dScores.ptr,
            scratch.ptr,
            q.ptr,
            keyPanels.ptr,
            valuePanels.ptr,
            keyRows.ptr,
            dy.ptr,
            dWeights?.ptr ?? 0,
            stats.ptr,
            block.ptr,
            firstHead,
            count,
            firstRow,
            rows,
            queries,
            keys,
            width,
            valueWidth,
            units,
            scale,
          ],
          units,
          (tiles / units) * TILE * keys * (4 * width + 2 * valueWidth + EXP_COST),
        );
        runtime.run(
          "attentionGradKeysF32",
          [
            dk.ptr,
            dv.ptr,
            scratch.ptr,
            applied.ptr,
            dScores.ptr,
            queryRows.ptr,
            dyRows.ptr,
            block.ptr,
            firstHead,
            count,
            firstRow,
            rows,
            queries,
            keys,
            width,
            valueWidth,
            units,
          ],
          units,
          ((count * keys) / units) * rows * 2 * (width + valueWidth),
        );
      }
    }
    return [wants(q) ? dq : null, wants(k) ? dk : null, wants(v) ? dv : null];
  });
}
