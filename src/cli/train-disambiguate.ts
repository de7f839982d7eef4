import { basename, dirname, join } from "node:path";
import { idOf, type Tokenizer } from "../io/tokenizer.js";
import type {
  ContextAwareEmbedding,
  ContextAwareEmbeddingConfig,
} from "../models/context-aware-embedding.js";
import { turn } from "../runtime/event-loop.js";
import {
  disambiguationLesson,
  type SenseExample,
  type SenseItem,
} from "../tasks/disambiguation-training.js";
import {
  type LabelledSentence,
  readLabelled,
  type SplitSentences,
  sentenceKey,
} from "../tasks/labelled-sentences.js";
import { type KnownWord, knownWords } from "../tasks/senses.js";
import { splitSentences } from "../tasks/sentences.js";
import { ContextReader, wordsIn } from "../tasks/word-contexts.js";
import { shippedModel } from "./shipped-model.js";
import { readTextFile } from "./text-file.js";
import type { TrainingProgram, TrainOptions } from "./train.js";

export interface TrainDisambiguateOptions extends TrainOptions {
  readonly dropout: number;
  readonly data: string;
  readonly text: readonly string[];
  readonly embedding: number;
  readonly context?: number;
  readonly window: number;
  readonly temperature: number;
  readonly repeats: number;
}

/** `heed train disambiguate`: learns from DATA/bank.tsv and DATA/homographs.tsv, and from plain text. */
export const disambiguationProgram: TrainingProgram<
  TrainDisambiguateOptions,
  ContextAwareEmbedding,
  SenseItem
> = {
  task: "disambiguate",
  tokenizer: join(shippedModel("disambiguate-en"), "tokenizer.json"),

  async prepare(options, tokenizer, signal) {
    const { embedding, context = embedding, window, temperature, dropout } = options;
    const parts = await readLabelledFolder(options.data);
    const words = knownWords([...parts.train, ...parts.validation]);
    const reader = new ContextReader(tokenizer, window);
    const padding = idOf(tokenizer, "<pad>");
    const blank = idOf(tokenizer, "<unk>");
    const config: ContextAwareEmbeddingConfig = {
      vocab: tokenizer.vocabSize,
      embedding,
      context,
      project: options.context !== undefined,
      padding,
      temperature,
    };
    const examples = (rows: readonly LabelledSentence[]): SenseExample[] =>
      rows.map((row) => exampleOf(row, words, reader, tokenizer));
    const lesson = disambiguationLesson({
      config: {
        ...config,
        dropout,
        senses: words.reduce((sum, { senses }) => sum + senses.length, 0),
      },
      examples: examples(parts.train),
      validation: examples(parts.validation),
      repeats: options.repeats,
      text: await readText(options.text, parts, reader, signal),
      special: new Set([padding, blank]),
      blank,
    });
    return {
      config: {
        architecture: "ContextAwareEmbedding",
        ...config,
        window,
        words: words.map(({ word, forms, senses }) => ({
          word,
          forms,
          senses: senses.map(({ name, examples }) => ({ name, examples })),
        })),
      },
      lesson,
      items: "words in their contexts",
    };
  },
};

/** The labelled sentences of a folder, in their three parts. */
export async function readLabelledFolder(folder: string): Promise<SplitSentences> {
  const [bank, homographs] = await Promise.all(
    ["bank.tsv", "homographs.tsv"].map((name) => readTextFile(folder, [name], "LABELS")),
  );
  return readLabelled(bank?.text ?? "", homographs?.text ?? "");
}

function exampleOf(
  { word, sense, sentence, start }: LabelledSentence,
  words: readonly KnownWord[],
  reader: ContextReader,
  tokenizer: Tokenizer,
): SenseExample {
  let first = 0;
  for (const known of words) {
    const end = first + known.senses.length;
    if (known.word === word) {
      const placed = wordsIn(sentence);
      const at = placed.findIndex((one) => one.start === start);
      return {
        word: idOf(tokenizer, word),
        context: reader.around(placed, at).ids,
        sense: first + known.senses.findIndex(({ name }) => name === sense),
        senses: [first, end],
      };
    }
    first = end;
  }
  throw new Error(`exampleOf: the word must be among the known ones, got ${word}`);
}

/** The sentences of text files as ids, without those that are there to choose by or to test on. */
async function readText(
  files: readonly string[],
  { validation, test }: SplitSentences,
  reader: ContextReader,
  signal: AbortSignal,
): Promise<number[][]> {
  const held = new Set([...validation, ...test].map(({ sentence }) => sentenceKey(sentence)));
  const seen = new Set<string>();
  const sentences: number[][] = [];
  for (const file of files) {
    const { text } = await readTextFile(dirname(file), [basename(file)], "TEXT");
    for (const line of text.split(/\r?\n/))
      for (const sentence of splitSentences(line.split("\t", 1)[0] as string)) {
        const key = sentenceKey(sentence);
        if (held.has(key) || seen.has(key)) continue;
        seen.add(key);
        sentences.push(wordsIn(sentence).flatMap(({ text }) => reader.idsOf(text)));
        await turn(signal);
      }
  }
  return sentences;
}
