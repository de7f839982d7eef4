import { StateError } from "../errors.js";
import { exactPower } from "../exact-math.js";

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
  onStep?: ((best: readonly (readonly number[])[]) => void) | undefined;
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

/** A token of a hypothesis; beams share their histories. */
interface Token {
  readonly id: number;
  readonly weights: Float32Array;
  readonly before: Token | null;
}

interface Beam {
  readonly last: Token | null;
  readonly logProbability: number;
}

interface Finished extends Beam {
  readonly score: number;
}

/** The beams of one source sentence: which tokens they are tried with is decided here. */
export class RowSearch {
  readonly #options: Omit<BeamOptions, "maxTokens" | "onStep" | "signal">;
  readonly #maxTokens: number;
  readonly #finished: Finished[] = [];
  /** Best first, all of one length. */
  #alive: readonly Beam[] = [{ last: null, logProbability: 0 }];
  #length = 0;
  #done: boolean;

  constructor(row: number, options: BeamOptions) {
    this.#options = options;
    this.#maxTokens = options.maxTokens(row);
    this.#done = this.#maxTokens <= 0;
  }

  get done(): boolean {
    return this.#done;
  }

  /** The token that each of `width` beams ended with; dead ones start anew and are not looked at. */
  lastIds(width: number): number[] {
    return Array.from(
      { length: width },
      (_, beam) => this.#alive[beam]?.last?.id ?? this.#options.start,
    );
  }

  /**
   * Takes the best tokens of each beam.
   *
   * @param values   log-probabilities, best first, as many for each of `width` beams
   * @param indices  their ids
   * @param weights  what each beam looked at
   * @returns for each of the beams from now on, which one it came from
   */
  advance(
    values: Float32Array,
    indices: Int32Array,
    weights: Float32Array,
    width: number,
  ): number[] {
    const { beams, end } = this.#options;
    const parents = Array<number>(beams).fill(0);
    if (this.#done) return parents;
    const looked = weights.length / width;
    // After the last token only the end may come.
    const open = this.#length < this.#maxTokens;
    const next: Beam[] = [];
    const ranked = this.#ranked(values, indices, width);
    for (const [rank, { beam, id, logProbability }] of ranked.entries()) {
      if (id === end ? rank >= beams : !open || next.length === beams) continue;
      const token = {
        id,
        weights: weights.slice(beam * looked, (beam + 1) * looked),
        before: this.#alive[beam]?.last ?? null,
      };
      if (id === end) {
        const score = this.#score(logProbability, this.#length);
        this.#finished.push({ last: token, logProbability, score });
      } else {
        parents[next.length] = beam;
        next.push({ last: token, logProbability });
      }
    }
    if (next.length === 0) {
      this.#done = true;
      return parents;
    }
    this.#alive = next;
    this.#length++;
    this.#done = this.#isDecided();
    return parents;
  }

  /** The best hypothesis so far, finished or not. */
  best(): readonly number[] {
    const leader = this.#alive[0];
    const finished = this.#byScore()[0];
    if (!leader || (finished && this.#done)) return idsOf(finished?.last ?? null, true);
    return finished && finished.score >= this.#score(leader.logProbability, this.#length)
      ? idsOf(finished.last, true)
      : idsOf(leader.last, false);
  }

  /** Best first; those that were cut off only when none has ended. */
  hypotheses(): Hypothesis[] {
    if (this.#finished.length > 0)
      return this.#byScore()
        .slice(0, this.#options.beams)
        .map(({ last, score }) => ({
          ids: idsOf(last, true),
          score,
          weights: chain(last).map(({ weights }) => weights),
          ended: true,
        }));
    return this.#alive.map(({ last, logProbability }) => ({
      ids: idsOf(last, false),
      score: this.#score(logProbability, this.#length),
      weights: chain(last).map(({ weights }) => weights),
      ended: false,
    }));
  }

  /** Every way on from a living beam, the most probable first. */
  #ranked(
    values: Float32Array,
    indices: Int32Array,
    width: number,
  ): { beam: number; id: number; logProbability: number }[] {
    const each = values.length / width;
    const ranked: { beam: number; id: number; logProbability: number }[] = [];
    this.#alive.forEach((alive, beam) => {
      for (let at = beam * each; at < (beam + 1) * each; at++) {
        const id = indices[at] as number;
        const logProbability = alive.logProbability + (values[at] as number);
        if (logProbability > -Infinity && !this.#options.banned.includes(id))
          ranked.push({ beam, id, logProbability });
      }
    });
    if (ranked.length === 0 && this.#finished.length === 0)
      throw new StateError(
        "beamSearch: some token must have a probability above 0, got none. Check the model's weights for NaN",
      );
    return ranked.sort(
      (a, b) => b.logProbability - a.logProbability || a.beam - b.beam || a.id - b.id,
    );
  }

  /** Can nothing better end any more, or have as many ended as there are beams? */
  #isDecided(): boolean {
    const best = this.#byScore()[0];
    const leader = this.#alive[0];
    if (!best || !leader) return false;
    if (this.#finished.length >= this.#options.beams) return true;
    // A log-probability only falls, and the longest result divides it by the most.
    return best.score >= this.#score(leader.logProbability, this.#maxTokens);
  }

  /** Those that ended, best first; among equals the one that ended first. */
  #byScore(): Finished[] {
    return this.#finished.toSorted((a, b) => b.score - a.score);
  }

  #score(logProbability: number, length: number): number {
    return logProbability / exactPower((5 + length) / 6, this.#options.lengthPenalty);
  }
}

/** The ids of a hypothesis without the end token. */
function idsOf(last: Token | null, ended: boolean): number[] {
  return chain(ended ? (last?.before ?? null) : last).map(({ id }) => id);
}

/** Tokens from the first to the last. */
function chain(last: Token | null): Token[] {
  const tokens: Token[] = [];
  for (let token = last; token; token = token.before) tokens.push(token);
  return tokens.reverse();
}
