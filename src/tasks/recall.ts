import { FormatError } from "../errors.js";
import { integer, oneOf, optional, readFields } from "../io/fields.js";
import type { ModelFolder } from "../io/model-folder.js";
import { loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { unpackWeights } from "../io/weights.js";
import { LongRangeDependencyModel } from "../models/long-range-dependency-model.js";
import { RecurrentModel } from "../models/recurrent-model.js";
import { withoutInit } from "../nn/init.js";
import { embedding } from "../ops/embedding.js";
import { argmax } from "../ops/select.js";
import { reshape } from "../ops/shape.js";
import { noGrad } from "../ops/tape.js";
import { turn } from "../runtime/event-loop.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { padRows } from "../train/batches.js";
import { expectList } from "./arguments.js";
import { expectShapes, expectVocabulary, withWeights } from "./model-file.js";
import {
  RECALL_LONGEST,
  RECALL_POSITIONS,
  type RecallSequence,
  type RecallWords,
  recallSequence,
  recallWords,
} from "./recall-sequences.js";
import { Task } from "./task.js";

/** What config.json of a model of the recall task holds. */
const FIELDS = {
  task: oneOf("recall"),
  architecture: oneOf("LongRangeDependencyModel", "RecurrentModel"),
  vocab: integer(1, 1_000_000),
  width: integer(1, 16_384),
  heads: optional(integer(1, 1024), 1),
} as const;

export interface RecallConfig {
  readonly architecture: "LongRangeDependencyModel" | "RecurrentModel";
  readonly vocab: number;
  readonly width: number;
  /** Of the attention; an LSTM has none. */
  readonly heads: number;
}

export type RecallModel = LongRangeDependencyModel | RecurrentModel;

/** How often the marked word was found over one distance. */
export interface RecallScore {
  /** Positions from the marked word to the question. */
  readonly distance: number;
  readonly right: number;
  readonly count: number;
  /** Mean weight that the question gives to the marked word; null for an LSTM. */
  readonly weight: number | null;
}

/** One sequence as text. */
export interface RecallExample {
  readonly words: readonly string[];
  readonly wanted: string;
  readonly answer: string;
}

export interface RecallOptions {
  /** Default 5, 10, 20, 50, 100, 200, 500. */
  readonly distances?: readonly number[];
  /** Sequences of each distance; default 200. */
  readonly count?: number;
  /** Of the sequences; default 1. None of them was learned from. */
  readonly seed?: number;
  /** Called with each distance's score. */
  readonly onScore?: (score: RecallScore) => void;
  readonly signal?: AbortSignal;
}

/** Distances that are asked for when none are said. */
export const RECALL_DISTANCES: readonly number[] = [5, 10, 20, 50, 100, 200, 500];
/** Sequences side by side. */
const BATCH = 16;
/** Keeps the seeds of tests away from those of training. */
const TEST_SEEDS = 0x7e57_0000;

/** Finds a marked word among others and copies it, over a distance that is asked for. */
export class Recall extends Task<RecallModel> {
  readonly #words: RecallWords;
  readonly #tokenizer: Tokenizer;

  constructor(model: RecallModel, tokenizer: Tokenizer) {
    super("recall", model);
    this.#tokenizer = tokenizer;
    this.#words = recallWords(tokenizer);
  }

  /** Trainable weights. */
  get weights(): number {
    return [...this.model.parameters().values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * How often the marked word is found, by distance.
   *
   * @throws {RangeError} a distance or the count is out of range
   * @throws the signal's reason
   */
  async scores(options: RecallOptions = {}): Promise<RecallScore[]> {
    return this.use(options, () => this.#scores(options));
  }

  async #scores(options: RecallOptions): Promise<RecallScore[]> {
    const { distances = RECALL_DISTANCES, count = 200, seed = 1, onScore, signal } = options;
    expectList("recall", "distances", distances);
    for (const distance of distances) expectWhole("a distance", distance, RECALL_LONGEST);
    expectWhole("count", count, 1_000_000);
    const scores: RecallScore[] = [];
    for (const distance of distances) {
      const score = await this.#score(distance, count, seed, signal);
      scores.push(score);
      onScore?.(score);
    }
    return scores;
  }

  /**
   * One sequence as text, with what the model answers.
   *
   * @throws {RangeError} the distance is out of range
   */
  example(distance: number, seed = 1): RecallExample {
    this.expectLoaded();
    expectWhole("a distance", distance, RECALL_LONGEST);
    const sequence = this.#sequence(distance, seed, 0);
    const wordOf = (id: number): string => this.#tokenizer.tokenOf(id);
    return {
      words: sequence.ids.map(wordOf),
      wanted: wordOf(sequence.answer),
      answer: wordOf(this.#answer([sequence]).answers[0] as number),
    };
  }

  async #score(
    distance: number,
    count: number,
    seed: number,
    signal: AbortSignal | undefined,
  ): Promise<RecallScore> {
    let right = 0;
    let weight: number | null = null;
    for (let from = 0; from < count; from += BATCH) {
      await turn(signal);
      const sequences = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) =>
        this.#sequence(distance, seed, from + i),
      );
      const { answers, weights } = this.#answer(sequences);
      right += answers.filter((id, row) => id === sequences[row]?.answer).length;
      for (const one of weights) weight = (weight ?? 0) + one;
    }
    return { distance, right, count, weight: weight === null ? null : weight / count };
  }

  #sequence(distance: number, seed: number, index: number): RecallSequence {
    return recallSequence(this.#words, distance, mix32((mix32(TEST_SEEDS + index) + seed) >>> 0));
  }

  /** The likeliest token for each question, and the attention's weight on the marked word. */
  #answer(sequences: readonly RecallSequence[]): { answers: number[]; weights: number[] } {
    const { model } = this;
    return model.runtime.scope(() =>
      noGrad(model.runtime, () => {
        const batch = recallBatch(model.runtime, sequences, this.#words.padding);
        if (model instanceof RecurrentModel) {
          const output = model.forward(batch.ids, batch);
          return { answers: [...argmax(logitsAt(model, output, batch)).read()], weights: [] };
        }
        const { output, weights } = model.withWeights(batch.ids, batch);
        return {
          answers: [...argmax(logitsAt(model, output, batch)).read()],
          weights: weightsOnMarked(weights, sequences, batch),
        };
      }),
    );
  }
}

/** Sequences side by side. */
export interface RecallBatch {
  /** i32[B, L] */
  readonly ids: Tensor;
  /** i32[B] */
  readonly lengths: Tensor;
}

export function recallBatch(
  runtime: Runtime,
  sequences: readonly RecallSequence[],
  padding: number,
): RecallBatch {
  const rows = padRows(
    sequences.map(({ ids }) => ids),
    padding,
  );
  const ids = tensor(runtime, rows.values, [sequences.length, rows.longest]);
  return { ids, lengths: tensor(runtime, rows.lengths) };
}

/** f32[B, V]: the scores of every token at each question. */
export function recallLogits(model: RecallModel, batch: RecallBatch): Tensor {
  return logitsAt(model, model.forward(batch.ids, batch), batch);
}

/** A new model of the recall task. */
export function recallModel(runtime: Runtime, config: RecallConfig): RecallModel {
  const { architecture, vocab, width, heads } = config;
  return architecture === "RecurrentModel"
    ? new RecurrentModel(runtime, { vocab, width })
    : new LongRangeDependencyModel(runtime, { vocab, width, heads, positions: RECALL_POSITIONS });
}

/** The task of a model folder: see loadTask. */
export function loadRecall(runtime: Runtime, folder: ModelFolder, name: string): Recall {
  const config = readFields(folder.config, FIELDS, `${name}: config.json`);
  const { vocab, width, heads } = config;
  if (width % heads !== 0)
    throw new FormatError(
      "CONFIG_FIELD",
      `${name}: config.json: "width" must be a multiple of "heads", got ${width} and ${heads}`,
    );
  const weights = unpackWeights(folder.tensors, `${name}: model.safetensors`);
  const tokenizer = loadTokenizer(folder.tokenizer);
  expectShapes({ "embedding.weight": [vocab, width] }, weights, name);
  const { padding } = recallWords(tokenizer);
  expectVocabulary({ vocab }, tokenizer, padding, name);
  return runtime.guarded(() => {
    const model = withoutInit(() => recallModel(runtime, config));
    return new Recall(withWeights(model, weights, name), tokenizer);
  });
}

function logitsAt(model: RecallModel, output: Tensor, { lengths }: RecallBatch): Tensor {
  const [batch, length, width] = output.shape as [number, number, number];
  const last = lengths.read().map((own, row) => row * length + own - 1);
  const rows = reshape(output, [batch * length, width]);
  return model.logits(embedding(rows, tensor(output.runtime, last, [batch], "i32")));
}

/** What each question gives to its marked word, the mean of the heads; weights f32[B, h, L, L]. */
function weightsOnMarked(
  weights: Tensor,
  sequences: readonly RecallSequence[],
  { lengths }: RecallBatch,
): number[] {
  const [, heads, length] = weights.shape as [number, number, number, number];
  const values = weights.read();
  const own = lengths.read();
  return sequences.map(({ distance }, row) => {
    const question = (own[row] as number) - 1;
    let sum = 0;
    for (let head = 0; head < heads; head++) {
      const from = ((row * heads + head) * length + question) * length;
      sum += values[from + question - distance] as number;
    }
    return sum / heads;
  });
}

function expectWhole(name: string, value: number, most: number): void {
  if (!(Number.isInteger(value) && value >= 1 && value <= most))
    throw new RangeError(`recall: ${name} must be a whole number from 1 to ${most}, got ${value}`);
}
