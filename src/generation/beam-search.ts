import { exactPower } from "../exact-math.js";
import type { LstmState } from "../nn/lstm.js";
import { embedding } from "../ops/embedding.js";
import { topK } from "../ops/select.js";
import { logSoftmax } from "../ops/softmax.js";
import { noGrad } from "../ops/tape.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** Milliseconds of work between two turns of the event loop. */
const SLICE = 40;

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

export interface BeamOptions {
  /** Hypotheses kept alive a sentence; 1 is greedy decoding. */
  readonly beams: number;
  readonly start: number;
  readonly end: number;
  /** Ids that are never chosen. */
  readonly banned: readonly number[];
  /** Most tokens of a row's result, the end token not counted. */
  maxTokens(row: number): number;
  /** α of Wu et al. 2016, eq. 14: scores are divided by ((5 + length)/6)^α. */
  readonly lengthPenalty: number;
  /** Called after each step with the ids of each row's best hypothesis so far. */
  onStep?(best: readonly (readonly number[])[]): void;
  readonly signal?: AbortSignal | undefined;
}

export interface Hypothesis {
  /** Without start and end. */
  readonly ids: readonly number[];
  /** Sum of log-probabilities, length penalty applied. */
  readonly score: number;
  /** One row over the source a token, and a last one for the end token when it was reached. */
  readonly weights: readonly Float32Array[];
  /** False when the search was cut off at maxTokens. */
  readonly ended: boolean;
}

interface Beam {
  readonly ids: readonly number[];
  readonly logProbability: number;
  readonly weights: readonly Float32Array[];
}

/**
 * Beam search for a batch of sources; state and attention history follow the beams.
 *
 * @param encode  run once inside the search's scope: the source and the state [B, H] to start from
 * @returns the hypotheses of each row, best first; at least one
 * @throws the signal's reason
 */
export async function beamSearch<Source>(
  decoder: StepDecoder<Source>,
  batch: number,
  encode: () => { source: Source; state: LstmState },
  options: BeamOptions,
): Promise<Hypothesis[][]> {
  const { runtime } = decoder;
  const { beams } = options;
  if (!(Number.isInteger(beams) && beams >= 1 && beams <= 64))
    throw new RangeError(`beamSearch: beams must be an integer from 1 to 64, got ${beams}`);
  const scope = runtime.openScope();
  const inScope = <T>(fn: () => T): T => scope.run(() => noGrad(runtime, () => runtime.scope(fn)));
  try {
    const rows = Array.from({ length: batch }, (_, row) => new RowSearch(row, options));
    const encoded = inScope(encode);
    let parents = rows.flatMap((_, row) => Array<number>(beams).fill(row));
    let { state } = encoded;
    let turn = performance.now();
    while (rows.some((row) => !row.done)) {
      options.signal?.throwIfAborted();
      const ids = rows.flatMap((row) => row.lastIds());
      const found = inScope(() => {
        const before = selectRows(state, parents);
        const step = decoder.step(tensor(runtime, Int32Array.from(ids)), before, encoded.source);
        const best = topK(logSoftmax(step.logits), candidates(options, step.logits));
        return {
          state: step.state,
          values: best.values.read(),
          indices: best.indices.read(),
          weights: step.weights.read() as Float32Array,
        };
      });
      state = found.state;
      const width = found.weights.length / (batch * beams);
      const each = found.values.length / (batch * beams);
      parents = rows.flatMap((row, index) =>
        row
          .advance(
            found.values.subarray(index * beams * each, (index + 1) * beams * each),
            found.indices.subarray(index * beams * each, (index + 1) * beams * each),
            found.weights.subarray(index * beams * width, (index + 1) * beams * width),
          )
          .map((beam) => index * beams + beam),
      );
      options.onStep?.(rows.map((row) => row.best().ids));
      if (performance.now() - turn > SLICE) {
        await new Promise<void>((resolve) => setTimeout(resolve));
        turn = performance.now();
      }
    }
    return rows.map((row) => row.hypotheses());
  } finally {
    scope.close();
  }
}

/** The beams of one sentence. */
class RowSearch {
  readonly #options: BeamOptions;
  readonly #maxTokens: number;
  readonly #finished: Hypothesis[] = [];
  #alive: Beam[];
  done = false;

  constructor(row: number, options: BeamOptions) {
    this.#options = options;
    this.#maxTokens = options.maxTokens(row);
    // All beams start equal: only the first may put candidates forward.
    this.#alive = Array.from({ length: options.beams }, (_, beam) => ({
      ids: [],
      logProbability: beam === 0 ? 0 : -Infinity,
      weights: [],
    }));
    this.done = this.#maxTokens <= 0;
  }

  lastIds(): number[] {
    return this.#alive.map((beam) => beam.ids.at(-1) ?? this.#options.start);
  }

  /** Takes the best tokens of each beam; returns which beam each new beam came from. */
  advance(values: ArrayLike<number>, indices: ArrayLike<number>, weights: Float32Array): number[] {
    const { beams, end, banned } = this.#options;
    if (this.done) return Array.from({ length: beams }, (_, beam) => beam);
    const each = values.length / beams;
    const width = weights.length / beams;
    const ranked: { beam: number; id: number; logProbability: number }[] = [];
    this.#alive.forEach(({ logProbability }, beam) => {
      if (logProbability === -Infinity) return;
      for (let rank = 0; rank < each; rank++) {
        const id = indices[beam * each + rank] as number;
        if (banned.includes(id)) continue;
        const value = values[beam * each + rank] as number;
        ranked.push({ beam, id, logProbability: logProbability + value });
      }
    });
    ranked.sort((a, b) => b.logProbability - a.logProbability || a.beam - b.beam || a.id - b.id);

    const next: Beam[] = [];
    const parents: number[] = [];
    ranked.forEach(({ beam, id, logProbability }, rank) => {
      const from = this.#alive[beam] as Beam;
      const history = [...from.weights, weights.slice(beam * width, (beam + 1) * width)];
      if (id === end) {
        if (rank < beams) this.#finish(from.ids, logProbability, history, true);
      } else if (next.length < beams) {
        next.push({ ids: [...from.ids, id], logProbability, weights: history });
        parents.push(beam);
      }
    });
    while (next.length < beams) {
      next.push({ ids: [], logProbability: -Infinity, weights: [] });
      parents.push(0);
    }
    this.#alive = next;
    this.#checkDone();
    return parents;
  }

  /** The best hypothesis so far, finished or not. */
  best(): { readonly ids: readonly number[] } {
    const finished = this.hypotheses()[0];
    const alive = this.#alive[0];
    if (!finished || this.done) return finished ?? { ids: [] };
    return alive && this.#score(alive.logProbability, alive.ids.length) > finished.score
      ? alive
      : finished;
  }

  hypotheses(): Hypothesis[] {
    const all = [...this.#finished];
    if (all.length === 0) {
      for (const { ids, logProbability, weights } of this.#alive)
        if (logProbability > -Infinity)
          all.push({ ids, score: this.#score(logProbability, ids.length), weights, ended: false });
    }
    return all.sort((a, b) => b.score - a.score).slice(0, this.#options.beams);
  }

  #checkDone(): void {
    const [leader] = this.#alive;
    if (!leader || leader.logProbability === -Infinity || leader.ids.length >= this.#maxTokens) {
      this.done = true;
      return;
    }
    if (this.#finished.length < this.#options.beams) return;
    const best = Math.max(...this.#finished.map((hypothesis) => hypothesis.score));
    // A longer result may divide by a larger penalty: the bound is the leader at full length.
    this.done = best >= this.#score(leader.logProbability, this.#maxTokens);
    if (this.#finished.length >= 2 * this.#options.beams) this.done = true;
  }

  #finish(
    ids: readonly number[],
    logProbability: number,
    weights: readonly Float32Array[],
    ended: boolean,
  ): void {
    this.#finished.push({ ids, score: this.#score(logProbability, ids.length), weights, ended });
  }

  #score(logProbability: number, length: number): number {
    return logProbability / exactPower((5 + length) / 6, this.#options.lengthPenalty);
  }
}

function candidates(options: BeamOptions, logits: Tensor): number {
  return Math.min(2 * options.beams + options.banned.length, logits.shape[1] as number);
}

/** The rows of every layer's state, picked by index. */
function selectRows(state: LstmState, rows: readonly number[]): LstmState {
  const pick = (x: Tensor): Tensor => embedding(x, tensor(x.runtime, Int32Array.from(rows)));
  return { hidden: state.hidden.map(pick), cell: state.cell.map(pick) };
}
