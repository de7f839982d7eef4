import { crossEntropy } from "../ops/cross-entropy.js";
import { tensor } from "../tensor/create.js";
import {
  type RecallConfig,
  type RecallModel,
  recallBatch,
  recallLogits,
  recallModel,
} from "./recall.js";
import { type RecallSequence, type RecallWords, recallSequences } from "./recall-sequences.js";
import { soften, TIED } from "./soften.js";
import { fingerprint, type Lesson } from "./training.js";

export interface RecallData {
  readonly config: RecallConfig;
  readonly words: RecallWords;
  /** Sequences to learn from, and to choose by. */
  readonly sequences: number;
  readonly validation: number;
  /** Of the sequences. */
  readonly seed: number;
}

/** The marked word from all that stands before the question; validated in nats an answer. */
export function recallLesson(data: RecallData): Lesson<RecallModel, RecallSequence> {
  const { config, words, seed } = data;
  const items = recallSequences(words, data.sequences, seed);
  return {
    about: `${items.length} sequences (${fingerprint(items.map(({ ids }) => ids))})`,
    items,
    validation: recallSequences(words, data.validation, seed + 1),
    build: (runtime) => soften(recallModel(runtime, config), TIED),
    sortKey: ({ ids }) => ids.length,
    loss(model, sequences) {
      const { runtime } = model;
      const wanted = sequences.map(({ answer }) => answer);
      return crossEntropy(
        recallLogits(model, recallBatch(runtime, sequences, words.padding)),
        tensor(runtime, wanted, [wanted.length], "i32"),
      );
    },
    weightOf: () => 1,
  };
}
