import { beamSearch } from "../generation/beam-search.js";
import type { Hypothesis } from "../generation/row-search.js";
import { flag, integer, oneOf, optional, readFields, real } from "../io/fields.js";
import type { ModelFolder } from "../io/model-folder.js";
import { idOf, loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { unpackWeights } from "../io/weights.js";
import { Seq2Seq } from "../models/seq2seq.js";
import { withoutInit } from "../nn/init.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import { padRows } from "../train/batches.js";
import { expectList } from "./arguments.js";
import { expectShapes, expectVocabulary, withWeights } from "./model-file.js";
import { type Segment, segmentsOf, textOf } from "./sentences.js";
import { Task } from "./task.js";
import { alignWords, joinSentences, type TranslatedSentence, Translation } from "./translation.js";

/** Tokens a piece of text may have; longer sentences are cut between words. */
const MOST_TOKENS = 80;
/** Sentences decoded side by side. */
const BATCH = 32;

/** What config.json of a translator holds. */
const FIELDS = {
  task: oneOf("translate"),
  architecture: oneOf("Seq2Seq"),
  sourceVocab: integer(1, 1_000_000),
  targetVocab: integer(1, 1_000_000),
  embedding: integer(1, 16_384),
  hidden: integer(1, 16_384),
  layers: integer(1, 64),
  dropout: optional(real(0, 1), 0),
  bidirectional: optional(flag(), false),
  padding: integer(0, 999_999),
} as const;

export interface TranslateOptions {
  /** Hypotheses kept alive, 1 … 64; default 5. One is greedy. */
  readonly beam?: number;
  /** Default 1: see BeamOptions. */
  readonly lengthPenalty?: number;
  /** Called with the best text so far whenever that changes; of translate() only. */
  readonly onPartial?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** English to Spanish, or whatever the model folder was trained on. */
export class Translator extends Task<Seq2Seq> {
  readonly #tokenizer: Tokenizer;
  readonly #start: number;
  readonly #end: number;
  readonly #banned: readonly number[];

  constructor(model: Seq2Seq, tokenizer: Tokenizer) {
    super("translate", model);
    this.#tokenizer = tokenizer;
    this.#start = idOf(tokenizer, "<s>");
    this.#end = idOf(tokenizer, "</s>");
    this.#banned = [this.#start, model.config.padding, idOf(tokenizer, "<unk>")];
  }

  /**
   * Translates a text; several sentences are translated one by one and joined.
   *
   * @returns empty for a text without a sentence
   * @throws {RangeError} an option is out of range
   * @throws the signal's reason
   */
  async translate(text: string, options: TranslateOptions = {}): Promise<Translation> {
    const [translation] = await this.translateAll([text], options);
    return translation as Translation;
  }

  /** Translates many texts, sentences of all of them side by side: the same results, sooner. */
  async translateAll(
    texts: readonly string[],
    options: TranslateOptions = {},
  ): Promise<Translation[]> {
    return this.use(options, () => this.#translateAll(texts, options));
  }

  async #translateAll(texts: readonly string[], options: TranslateOptions): Promise<Translation[]> {
    expectList("translate", "texts", texts);
    const segments = texts.map((text) => this.#segments(text));
    const all = segments.flat();
    const found = all.map((): TranslatedSentence | null => null);
    const soFar = all.map(() => "");
    const onPartial = texts.length === 1 ? options.onPartial : undefined;
    let told = "";
    // Sentences of like length share a batch.
    const order = all.map((_, index) => index).sort((a, b) => sizeOf(all[a]) - sizeOf(all[b]));
    for (let from = 0; from < order.length; from += BATCH) {
      const indices = order.slice(from, from + BATCH);
      const batch = indices.map((index) => all[index] as Segment);
      const onStep = (best: readonly (readonly number[])[]): void => {
        indices.forEach((index, row) => {
          soFar[index] = this.#tokenizer.decode(best[row] as readonly number[]);
        });
        const text = joinSentences(soFar);
        if (text !== told) onPartial?.(text);
        told = text;
      };
      const hypotheses = await this.#decode(batch, options, onPartial && onStep);
      indices.forEach((index, row) => {
        found[index] = this.#sentence(batch[row] as Segment, hypotheses[row] as Hypothesis);
      });
    }
    let next = 0;
    return segments.map(({ length }) => {
      next += length;
      return new Translation(found.slice(next - length, next) as TranslatedSentence[]);
    });
  }

  #segments(text: string): Segment[] {
    if (typeof text !== "string")
      throw new TypeError(`translate: the text must be a string, got ${typeof text}`);
    return segmentsOf(text, this.#tokenizer, MOST_TOKENS);
  }

  /** The best hypothesis for each of a batch of sentences. */
  async #decode(
    segments: readonly Segment[],
    options: TranslateOptions,
    onStep: ((best: readonly (readonly number[])[]) => void) | undefined,
  ): Promise<Hypothesis[]> {
    const { model } = this;
    const { runtime, config } = model;
    const { beam = 5, lengthPenalty = 1, signal } = options;
    const rows = segments.map(({ ids }) => [this.#start, ...ids, this.#end]);
    const { values, lengths, longest } = padRows(rows, config.padding);
    const found = await beamSearch(
      model,
      rows.length,
      () => model.encode(tensor(runtime, values, [rows.length, longest]), tensor(runtime, lengths)),
      {
        beams: beam,
        lengthPenalty,
        start: this.#start,
        end: this.#end,
        banned: this.#banned,
        maxTokens: (row) => 2 * (lengths[row] as number) + 10,
        onStep,
        signal,
      },
    );
    return found.map(([best]) => best as Hypothesis);
  }

  #sentence({ ids, text }: Segment, { ids: written, ...found }: Hypothesis): TranslatedSentence {
    const source = {
      tokens: ["<s>", ...text.tokens, "</s>"],
      words: text.words,
      wordOf: [-1, ...text.wordOf, -1],
    };
    const target = textOf(written, this.#tokenizer);
    // Without the padding of the batch, and without the row of the end token.
    const attention = written.map((_, row) =>
      (found.weights[row] as Float32Array).slice(0, ids.length + 2),
    );
    return {
      text: this.#tokenizer.decode(written),
      source,
      target,
      attention,
      alignment: alignWords(attention, source, target),
      score: found.score,
    };
  }
}

/** The translator that a model folder holds; `name` is the folder's, for errors. */
export function loadTranslator(runtime: Runtime, folder: ModelFolder, name: string): Translator {
  const config = readFields(folder.config, FIELDS, `${name}: config.json`);
  const { sourceVocab, targetVocab, embedding, hidden, padding } = config;
  const weights = unpackWeights(folder.tensors, `${name}: model.safetensors`);
  const tokenizer = loadTokenizer(folder.tokenizer);
  expectShapes(
    {
      "encoder.embedding.weight": [sourceVocab, embedding],
      "decoder.embedding.weight": [targetVocab, embedding],
      "encoder.rnn.weight_hh_l0": [4 * hidden, hidden],
    },
    weights,
    name,
  );
  expectVocabulary({ sourceVocab, targetVocab }, tokenizer, padding, name);
  return runtime.guarded(() => {
    const model = withoutInit(() => new Seq2Seq(runtime, config));
    return new Translator(withWeights(model, weights, name), tokenizer);
  });
}

function sizeOf(segment: Segment | undefined): number {
  return segment?.ids.length ?? 0;
}
