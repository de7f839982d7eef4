import type { LstmState } from "../nn/lstm.js";
import { embedding } from "../ops/embedding.js";
import { topK } from "../ops/select.js";
import { logSoftmax } from "../ops/softmax.js";
import { noGrad } from "../ops/tape.js";
import { turn } from "../runtime/event-loop.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { type BeamOptions, type Hypothesis, RowSearch } from "./row-search.js";

/** A decoder that goes one token at a time: B·K rows, K beams a row of the source. */
export interface StepDecoder<Source> {
  readonly runtime: Runtime;
  /** ids i32[B·K] → logits f32[B·K, V], weights f32[B, K, S], the state after */
  step(
    ids: Tensor,
    state: LstmState,
    source: Source,
  ): { logits: Tensor; weights: Tensor; state: LstmState };
}

/**
 * Beam search for a batch of sources; state and attention history follow the beams.
 *
 * Equal scores are put in the order of beams, then of ids, so a result is determined by the logits;
 * a row of a batch gives what it gives alone.
 *
 * @param encode  run once inside the search's scope: the source and the state [B, H] to start from
 * @returns the hypotheses of each row, best first; at least one
 * @throws {TypeError} lengthPenalty is no number
 * @throws {RangeError} beams or lengthPenalty is out of range
 * @throws {StateError} the logits leave nothing to choose from: they are NaN
 * @throws the signal's reason
 */
export async function beamSearch<Source>(
  decoder: StepDecoder<Source>,
  batch: number,
  encode: () => { source: Source; state: LstmState },
  options: BeamOptions,
): Promise<Hypothesis[][]> {
  checkOptions(options);
  const { runtime } = decoder;
  const { beams, signal } = options;
  const rows = Array.from({ length: batch }, (_, row) => new RowSearch(row, options));
  const whole = runtime.openScope();
  // The state lives in a scope of its own, closed once the next state is there.
  let around = runtime.openScope();
  const within = <T>(scope: typeof whole, fn: () => T): T =>
    scope.run(() => noGrad(runtime, () => runtime.scope(fn)));
  try {
    const { source, state: first } = within(whole, encode);
    let state = first;
    // Every row starts as one beam, and is as wide as asked from the second step on.
    for (let width = 1; rows.some((row) => !row.done); width = beams) {
      await turn(signal);
      const next = runtime.openScope();
      try {
        state = within(next, () => {
          const ids = Int32Array.from(rows.flatMap((row) => row.lastIds(width)));
          const step = decoder.step(tensor(runtime, ids), state, source);
          const vocab = step.logits.shape[1] as number;
          const best = topK(logSoftmax(step.logits), Math.min(candidates(options), vocab));
          const values = best.values.read() as Float32Array;
          const indices = best.indices.read() as Int32Array;
          const weights = step.weights.read() as Float32Array;
          const parents = rows.flatMap((row, index) =>
            row
              .advance(part(values, index), part(indices, index), part(weights, index), width)
              .map((beam) => index * width + beam),
          );
          return selectRows(step.state, parents);
        });
      } finally {
        around.close();
        around = next;
      }
      options.onStep?.(rows.map((row) => row.best()));
    }
    return rows.map((row) => row.hypotheses());
  } finally {
    around.close();
    whole.close();
  }

  function part<T extends Float32Array | Int32Array>(all: T, row: number): T {
    const length = all.length / batch;
    return all.subarray(row * length, (row + 1) * length) as T;
  }
}

/** Enough for every beam to end and be replaced, with the banned among the best. */
function candidates({ beams, banned }: BeamOptions): number {
  return 2 * beams + banned.length;
}

/** The rows of every layer's state, picked by index. */
function selectRows(state: LstmState, rows: readonly number[]): LstmState {
  const pick = (x: Tensor): Tensor => embedding(x, tensor(x.runtime, Int32Array.from(rows)));
  return { hidden: state.hidden.map(pick), cell: state.cell.map(pick) };
}

function checkOptions({ beams, lengthPenalty }: BeamOptions): void {
  if (!(Number.isInteger(beams) && beams >= 1 && beams <= 64))
    throw new RangeError(`beamSearch: beams must be an integer from 1 to 64, got ${beams}`);
  if (typeof lengthPenalty !== "number")
    throw new TypeError(
      `beamSearch: lengthPenalty must be a number, got ${JSON.stringify(lengthPenalty)}`,
    );
  if (!(lengthPenalty >= 0 && lengthPenalty <= 10))
    throw new RangeError(`beamSearch: lengthPenalty must lie in 0 … 10, got ${lengthPenalty}`);
}
