import { join } from "node:path";
import { idOf } from "../io/tokenizer.js";
import type { BridgeKind } from "../models/state-bridge.js";
import { type SummarizationConfig, SummarizationModel } from "../models/summarization-model.js";
import { echo } from "../tasks/auxiliary-losses.js";
import { pairLesson, type TokenPair } from "../tasks/pair-training.js";
import { soften } from "../tasks/soften.js";
import { readPairs } from "./pairs.js";
import { shippedModel } from "./shipped-model.js";
import type { TrainingProgram, TrainOptions } from "./train.js";

export interface TrainSummarizeOptions extends TrainOptions {
  readonly dropout: number;
  readonly data: string;
  readonly embedding: number;
  readonly hidden: number;
  readonly layers: number;
  readonly bridge: BridgeKind;
  readonly cut: number;
  readonly exercises: number;
  readonly hiding: number;
  readonly echo: number;
  readonly smoothing: number;
  readonly limit?: number;
}

/** From PyTorch's size on they would learn several times slower. */
const SOFT = { "embedding.weight": 0.3 };

/** `heed train summarize`: learns from DATA/train.tsv and chooses by DATA/dev.tsv. */
export const summarizationProgram: TrainingProgram<
  TrainSummarizeOptions,
  SummarizationModel,
  TokenPair
> = {
  task: "summarize",
  tokenizer: join(shippedModel("summarize-en"), "tokenizer.json"),

  async prepare(options, tokenizer, signal) {
    const { data, limit = Infinity, cut, exercises, smoothing, hiding } = options;
    const config: SummarizationConfig = {
      vocab: tokenizer.vocabSize,
      embedding: options.embedding,
      hidden: options.hidden,
      layers: options.layers,
      dropout: options.dropout,
      bridge: options.bridge,
      padding: idOf(tokenizer, "<pad>"),
    };
    const lesson = pairLesson({
      build: (runtime) => soften(new SummarizationModel(runtime, config), SOFT),
      pairs: await readPairs(data, "train", tokenizer, { limit, cut, signal }),
      validation: await readPairs(data, "dev", tokenizer, { cut, signal }),
      padding: config.padding,
      smoothing,
      teacherForcing: 1,
      exercises: {
        pairs:
          exercises > 0
            ? await readPairs(data, "exercises", tokenizer, { limit, cut, signal })
            : [],
        epochs: exercises,
      },
      also: (model, predictions, rows) => {
        const sources = rows.map(({ source }) => source);
        return options.echo > 0 ? echo(model, predictions, sources, options.echo) : null;
      },
      hiding: { share: hiding, as: idOf(tokenizer, "<unk>") },
    });
    return {
      config: {
        architecture: "SummarizationModel",
        ...config,
        sourceTokens: cut,
      },
      lesson,
      items: "pairs",
    };
  },
};
