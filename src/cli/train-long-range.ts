import { HeedError } from "../errors.js";
import { idOf } from "../io/tokenizer.js";
import type {
  LongRangeConfig,
  LongRangeDependencyModel,
} from "../models/long-range-dependency-model.js";
import { languageLesson } from "../tasks/language-training.js";
import type { PassageGroup } from "../tasks/passages.js";
import { readPassages } from "./passages.js";
import type { TrainingProgram, TrainOptions } from "./train.js";

export interface TrainLongRangeOptions extends TrainOptions {
  readonly data: string;
  readonly width: number;
  readonly heads: number;
  readonly positions: number;
  readonly limit?: number;
}

/** `heed train long-range`: learns from DATA/train.txt and chooses by DATA/dev.txt. */
export const languageProgram: TrainingProgram<
  TrainLongRangeOptions,
  LongRangeDependencyModel,
  PassageGroup
> = {
  task: "long-range",
  tokenizer: null,

  async prepare(options, tokenizer, signal) {
    const { data, width, heads, positions, limit = Infinity } = options;
    if (width % heads !== 0)
      throw new HeedError(
        `train: the width must be a multiple of the heads, got ${width} and ${heads}. Give them with --width and --heads`,
      );
    const padding = idOf(tokenizer, "<pad>");
    const config: LongRangeConfig = {
      vocab: tokenizer.vocabSize,
      width,
      heads,
      positions,
      causal: true,
    };
    const most = positions;
    const lesson = languageLesson({
      config,
      passages: await readPassages(data, "train", tokenizer, { most, limit, signal }),
      validation: await readPassages(data, "dev", tokenizer, { most, signal }),
      padding,
    });
    return {
      config: {
        architecture: "LongRangeDependencyModel",
        ...config,
        padding,
      },
      lesson,
      items: "groups of passages",
    };
  },
};
