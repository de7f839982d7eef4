import { join } from "node:path";
import { idOf } from "../io/tokenizer.js";
import { Seq2Seq, type Seq2SeqConfig } from "../models/seq2seq.js";
import { guide } from "../tasks/auxiliary-losses.js";
import { pairLesson, type TokenPair } from "../tasks/pair-training.js";
import { readPairs } from "./pairs.js";
import { shippedModel } from "./shipped-model.js";
import type { TrainingProgram, TrainOptions } from "./train.js";

export interface TrainTranslateOptions extends TrainOptions {
  readonly dropout: number;
  readonly data: string;
  readonly embedding: number;
  readonly hidden: number;
  readonly layers: number;
  readonly unidirectional: boolean;
  readonly smoothing: number;
  readonly forcing: number;
  readonly guide: number;
  readonly limit?: number;
}

/** `heed train translate`: learns from DATA/train.tsv and chooses by DATA/dev.tsv. */
export const translationProgram: TrainingProgram<TrainTranslateOptions, Seq2Seq, TokenPair> = {
  task: "translate",
  tokenizer: join(shippedModel("translate-en-es"), "tokenizer.json"),

  async prepare(options, tokenizer, signal) {
    const { data, limit = Infinity, smoothing, forcing } = options;
    const config: Seq2SeqConfig = {
      sourceVocab: tokenizer.vocabSize,
      targetVocab: tokenizer.vocabSize,
      embedding: options.embedding,
      hidden: options.hidden,
      layers: options.layers,
      dropout: options.dropout,
      bidirectional: !options.unidirectional,
      padding: idOf(tokenizer, "<pad>"),
    };
    const lesson = pairLesson({
      build: (runtime) => new Seq2Seq(runtime, config),
      padding: config.padding,
      pairs: await readPairs(data, "train", tokenizer, { limit, linked: true, signal }),
      validation: await readPairs(data, "dev", tokenizer, { linked: true, signal }),
      smoothing,
      teacherForcing: forcing,
      also: (_, predictions, rows) => {
        const links = rows.map((row) => row.links ?? []);
        const told = options.guide > 0 && links.some(({ length }) => length > 0);
        return told ? guide(predictions, links, options.guide) : null;
      },
    });
    return {
      config: { architecture: "Seq2Seq", ...config },
      lesson,
      items: "pairs",
    };
  },
};
