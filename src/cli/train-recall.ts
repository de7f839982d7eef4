import { join } from "node:path";
import { HeedError } from "../errors.js";
import type { RecallConfig, RecallModel } from "../tasks/recall.js";
import { type RecallSequence, recallWords } from "../tasks/recall-sequences.js";
import { recallLesson } from "../tasks/recall-training.js";
import { shippedModel } from "./shipped-model.js";
import type { TrainingProgram, TrainOptions } from "./train.js";

export interface TrainRecallOptions extends TrainOptions {
  readonly architecture: "attention" | "lstm";
  readonly width?: number;
  readonly heads: number;
  readonly sequences: number;
}

/** Widths of the two models at which they have as many weights: 25,152 and 25,200. */
const WIDTHS = { attention: 64, lstm: 48 } as const;
const VALIDATION = 700;

/** `heed train recall`: learns from sequences that are drawn from the seed. */
export const recallProgram: TrainingProgram<TrainRecallOptions, RecallModel, RecallSequence> = {
  task: "recall",
  tokenizer: join(shippedModel("recall"), "attention", "tokenizer.json"),

  async prepare(options, tokenizer) {
    const { architecture, width = WIDTHS[architecture], heads, sequences, seed } = options;
    if (architecture === "attention" && width % heads !== 0)
      throw new HeedError(
        `train: the width must be a multiple of the heads, got ${width} and ${heads}. Give them with --width and --heads`,
      );
    const config: RecallConfig = {
      architecture: architecture === "lstm" ? "RecurrentModel" : "LongRangeDependencyModel",
      vocab: tokenizer.vocabSize,
      width,
      heads,
    };
    const words = recallWords(tokenizer);
    return {
      config: { ...config },
      lesson: recallLesson({ config, words, sequences, validation: VALIDATION, seed }),
      items: "sequences",
    };
  },
};
