import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/**
 * The order in which an LSTM runs through a batch of rows of different lengths.
 *
 * Rows are ranked by falling length, so the rows that are still running at step t are always the
 * first rows[t] ranks. Step by step they lie one behind the other ("packed", as in PyTorch's
 * PackedSequence): padding is never computed, every kernel sees whole steps, and a reversed
 * direction is only another order.
 *
 *   states   | initial: batch ranks | step 0: rows[0] ranks | step 1: rows[1] ranks | …
 *   packed                          | step 0: rows[0] ranks | step 1: rows[1] ranks | …
 */
export interface LstmOrder {
  readonly batch: number;
  /** Rows of all steps: the sum of the lengths. */
  readonly total: number;
  readonly steps: readonly LstmStep[];
  /** i32[batch, steps]: position in x → packed row, −1 for padding */
  readonly packedOf: Tensor;
  /** i32[total]: packed row → position in x */
  readonly positionOf: Tensor;
  /** i32[total]: packed row → the state row it starts from */
  readonly before: Tensor;
  /** i32[batch]: batch row → the state row it ends with */
  readonly last: Tensor;
  /** i32[batch]: rank → batch row */
  readonly batchOf: Tensor;
  /** i32[batch]: batch row → rank */
  readonly rankOf: Tensor;
}

/** Consecutive steps whose inputs are projected together. */
export interface LstmChunk {
  readonly steps: readonly LstmStep[];
  /** The first packed row, and how many there are. */
  readonly packed: number;
  readonly rows: number;
}

/** One step: which packed rows it makes, and the state rows before and after it. */
export interface LstmStep {
  readonly rows: number;
  readonly packed: number;
  readonly before: number;
  readonly after: number;
}

/**
 * @param lengths  one a batch row, within 0 … steps
 * @param steps    L of x f32[batch, L, …]
 * @param reverse  row b starts at position lengths[b] − 1 and runs to 0
 */
export function lstmOrder(
  runtime: Runtime,
  lengths: ArrayLike<number>,
  steps: number,
  reverse: boolean,
): LstmOrder {
  const batch = lengths.length;
  const lengthOf = (row: number): number => lengths[row] ?? 0;
  const batchOf = Int32Array.from({ length: batch }, (_, row) => row);
  batchOf.sort((a, b) => lengthOf(b) - lengthOf(a) || a - b);
  const rankOf = new Int32Array(batch);
  batchOf.forEach((row, rank) => {
    rankOf[row] = rank;
  });

  const packedOf = new Int32Array(batch * steps).fill(-1);
  const positionOf: number[] = [];
  const before: number[] = [];
  const last = rankOf.slice();
  const list: LstmStep[] = [];
  let running = batch;
  for (let step = 0; step < steps; step++) {
    while (running > 0 && lengthOf(batchOf[running - 1] as number) <= step) running--;
    if (running === 0) break;
    const packed = positionOf.length;
    const start = list.at(-1)?.after ?? 0;
    for (let rank = 0; rank < running; rank++) {
      const row = batchOf[rank] as number;
      const position = row * steps + (reverse ? lengthOf(row) - 1 - step : step);
      packedOf[position] = positionOf.length;
      positionOf.push(position);
      before.push(start + rank);
      last[row] = batch + packed + rank;
    }
    list.push({ rows: running, packed, before: start, after: batch + packed });
  }

  const ids = (values: ArrayLike<number>): Tensor =>
    tensor(runtime, values, [values.length], "i32");
  return {
    batch,
    total: positionOf.length,
    steps: list,
    packedOf: ids(packedOf),
    positionOf: ids(positionOf),
    before: ids(before),
    last: ids(last),
    batchOf: ids(batchOf),
    rankOf: ids(rankOf),
  };
}

/** Cuts the steps into chunks of at least `rows` packed rows; the last may have fewer. */
export function chunksOf(order: LstmOrder, rows: number): LstmChunk[] {
  const chunks: LstmChunk[] = [];
  let steps: LstmStep[] = [];
  let packed = 0;
  for (const step of order.steps) {
    steps.push(step);
    const end = step.packed + step.rows;
    if (end - packed < rows && end < order.total) continue;
    chunks.push({ steps, packed, rows: end - packed });
    steps = [];
    packed = end;
  }
  return chunks;
}
