import { beamSearch } from "../generation/beam-search.js";
import type { Hypothesis } from "../generation/row-search.js";
import { integer, oneOf, optional, readFields, real } from "../io/fields.js";
import type { ModelFolder } from "../io/model-folder.js";
import { idOf, loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { unpackWeights } from "../io/weights.js";
import type { EncodedSource } from "../models/encoder-decoder.js";
import { SummarizationModel } from "../models/summarization-model.js";
import { withoutInit } from "../nn/init.js";
import { concat, slice } from "../ops/shape.js";
import { noGrad } from "../ops/tape.js";
import { turn } from "../runtime/event-loop.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { padRows } from "../train/batches.js";
import {
  beginningOf,
  type ReadingWindow,
  type SentenceSpan,
  sentencesOf,
  windowsOf,
} from "./document.js";
import { expectShapes, expectVocabulary, withWeights } from "./model-file.js";
import { textOf } from "./sentences.js";
import { type Candidate, chooseSentences, type Summary, type SummaryMode } from "./summary.js";
import { Task } from "./task.js";
import { alignWords, joinTokens, type TokenizedText } from "./translation.js";

/** Tokens of a document that is read as a whole: about twenty thousand words. */
const MOST_TOKENS = 2 ** 15;
/** Windows encoded side by side. */
const BATCH = 16;
/** Tokens of a description. */
const LONGEST = 60;

/** What config.json of a summarizer holds. */
const FIELDS = {
  task: oneOf("summarize"),
  architecture: oneOf("SummarizationModel"),
  vocab: integer(1, 1_000_000),
  embedding: integer(1, 16_384),
  hidden: integer(1, 16_384),
  layers: integer(1, 64),
  dropout: optional(real(0, 1), 0),
  bridge: optional(oneOf("sum", "linear"), "sum"),
  padding: integer(0, 999_999),
  sourceTokens: integer(1, 10_000),
} as const;

export interface SummarizeOptions {
  /** Default "abstractive": in words of its own, of the beginning. "extractive" keeps sentences of all. */
  readonly mode?: SummaryMode;
  /** How many sentences an extractive summary keeps, 1 … 1000; default 3. */
  readonly sentences?: number;
  /** Hypotheses kept alive, 1 … 64. Default 1: greedy, which describes no worse here than more do. */
  readonly beam?: number;
  /** Default 1: see BeamOptions. */
  readonly lengthPenalty?: number;
  /** Called with the best description so far whenever that changes. */
  readonly onPartial?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** English paragraphs to short descriptions, or whatever the model folder was trained on. */
export class Summarizer extends Task<SummarizationModel> {
  readonly #tokenizer: Tokenizer;
  readonly #sourceTokens: number;
  readonly #start: number;
  readonly #end: number;
  readonly #banned: readonly number[];

  /** @param sourceTokens  what the model was trained to read at once: a longer document is windowed */
  constructor(model: SummarizationModel, tokenizer: Tokenizer, sourceTokens: number) {
    super("summarize", model);
    this.#tokenizer = tokenizer;
    this.#sourceTokens = sourceTokens;
    this.#start = idOf(tokenizer, "<s>");
    this.#end = idOf(tokenizer, "</s>");
    this.#banned = [this.#start, model.config.padding, idOf(tokenizer, "<unk>")];
  }

  /**
   * Summarizes a document.
   *
   * A description in the model's own words is one of the document's beginning, as many tokens as the
   * model saw in training. For an extractive summary all of it is read, in windows of whole sentences
   * as long as that; the decoder starts from the first and looks at all of them, and the sentences
   * are kept that it looked at most as it described the document: see chooseSentences().
   *
   * @returns empty for a text without a sentence
   * @throws {RangeError} an option is out of range, or the document is too long
   * @throws the signal's reason
   */
  async summarize(text: string, options: SummarizeOptions = {}): Promise<Summary> {
    return this.use(options, () => this.#summarize(text, options));
  }

  async #summarize(text: string, options: SummarizeOptions): Promise<Summary> {
    const { mode = "abstractive", sentences: most = 3, signal } = options;
    signal?.throwIfAborted();
    checkOptions(text, mode, most);
    const sentences = sentencesOf(text);
    if (sentences.length === 0) return nothing(mode);
    const windows =
      mode === "abstractive"
        ? [beginningOf(sentences, this.#tokenizer, this.#sourceTokens)]
        : windowsOf(sentences, this.#tokenizer, this.#sourceTokens);
    const tokens = windows.reduce((sum, window) => sum + window.tokens, 0);
    if (tokens > MOST_TOKENS)
      throw new RangeError(
        `summarize: a document must have at most ${MOST_TOKENS} tokens, got ${tokens}. Summarize its parts`,
      );
    const hypothesis = await this.#decode(windows, options);
    const source = joinTokens(windows.map((window) => sourceOf(window)));
    const target = textOf(hypothesis.ids, this.#tokenizer);
    const description = this.#tokenizer.decode(hypothesis.ids);
    // Without the row of the end token.
    const attention = hypothesis.weights.slice(0, hypothesis.ids.length);
    const candidates = candidatesOf(sentences, windows, hypothesis.weights);
    const chosen = chooseSentences(candidates, mode === "extractive" ? most : 0);
    return {
      mode,
      text:
        mode === "abstractive"
          ? description
          : chosen.flatMap(({ kept, text }) => (kept ? [text] : [])).join(" "),
      description,
      score: hypothesis.score,
      sentences: chosen,
      source,
      target,
      attention,
      alignment: alignWords(attention, source, target),
    };
  }

  /** The best description. */
  async #decode(windows: readonly ReadingWindow[], options: SummarizeOptions): Promise<Hypothesis> {
    const { beam = 1, lengthPenalty = 1, onPartial, signal } = options;
    const { model } = this;
    const { runtime } = model;
    let told = "";
    const onStep = ([best = []]: readonly (readonly number[])[]): void => {
      const text = this.#tokenizer.decode(best);
      if (text !== told) onPartial?.(text);
      told = text;
    };
    const scope = runtime.openScope();
    try {
      const read: EncodedSource[] = [];
      for (let from = 0; from < windows.length; from += BATCH) {
        await turn(signal);
        const batch = windows.slice(from, from + BATCH);
        for (const each of scope.run(() => noGrad(runtime, () => this.#encode(batch))))
          read.push(each);
      }
      const whole = scope.run(() => noGrad(runtime, () => join(read)));
      const [[best] = []] = await beamSearch(model, 1, () => whole, {
        beams: beam,
        lengthPenalty,
        start: this.#start,
        end: this.#end,
        banned: this.#banned,
        maxTokens: () => LONGEST,
        onStep: onPartial && onStep,
        signal,
      });
      return best as Hypothesis;
    } finally {
      scope.close();
    }
  }

  /** Each window by itself, without padding. */
  #encode(windows: readonly ReadingWindow[]): EncodedSource[] {
    const { model } = this;
    const { runtime, config } = model;
    const rows = windows.map(({ segments }) => [
      this.#start,
      ...segments.flatMap(({ ids }) => ids),
      this.#end,
    ]);
    const { values, lengths, longest } = padRows(rows, config.padding);
    const ids = tensor(runtime, values, [rows.length, longest]);
    const { source, state } = model.encode(ids, tensor(runtime, lengths));
    return rows.map(({ length }, row) => {
      const own = (x: Tensor): Tensor => slice(x, 0, row, row + 1);
      const filled = (x: Tensor): Tensor => slice(own(x), 1, 0, length);
      return {
        source: {
          ...source,
          keys: filled(source.keys),
          values: filled(source.values),
          lengths: null,
        },
        state: { hidden: state.hidden.map(own), cell: state.cell.map(own) },
      };
    });
  }
}

/** The task of a model folder: see loadTask. */
export function loadSummarizer(runtime: Runtime, folder: ModelFolder, name: string): Summarizer {
  const config = readFields(folder.config, FIELDS, `${name}: config.json`);
  const { vocab, embedding, hidden, padding, sourceTokens } = config;
  const weights = unpackWeights(folder.tensors, `${name}: model.safetensors`);
  const tokenizer = loadTokenizer(folder.tokenizer);
  expectShapes(
    { "embedding.weight": [vocab, embedding], "encoder.weight_hh_l0": [4 * hidden, hidden] },
    weights,
    name,
  );
  expectVocabulary({ vocab }, tokenizer, padding, name);
  return runtime.guarded(() => {
    const model = withoutInit(() => new SummarizationModel(runtime, config));
    return new Summarizer(withWeights(model, weights, name), tokenizer, sourceTokens);
  });
}

function checkOptions(text: unknown, mode: string, most: number): void {
  if (typeof text !== "string")
    throw new TypeError(`summarize: the text must be a string, got ${typeof text}`);
  if (mode !== "abstractive" && mode !== "extractive")
    throw new RangeError(
      `summarize: mode must be "abstractive" or "extractive", got ${JSON.stringify(mode)}`,
    );
  if (!(Number.isInteger(most) && most >= 1 && most <= 1000))
    throw new RangeError(`summarize: sentences must be a whole number from 1 to 1000, got ${most}`);
}

function nothing(mode: SummaryMode): Summary {
  const none: TokenizedText = { tokens: [], words: [], wordOf: [] };
  return {
    ...{ mode, text: "", description: "", score: 0, sentences: [] },
    ...{ source: none, target: none, attention: [], alignment: [] },
  };
}

/** Windows one behind the other as one source: the decoder starts where the first one ends. */
function join(read: readonly EncodedSource[]): EncodedSource {
  const [first] = read as [EncodedSource];
  if (read.length === 1) return first;
  const source = {
    ...first.source,
    keys: concat(
      read.map(({ source }) => source.keys),
      1,
    ),
    values: concat(
      read.map(({ source }) => source.values),
      1,
    ),
  };
  return { source, state: first.state };
}

/** A window's tokens and words, with start and end. */
function sourceOf({ segments }: ReadingWindow): TokenizedText {
  const { tokens, words, wordOf } = joinTokens(segments.map(({ text }) => text));
  return { tokens: ["<s>", ...tokens, "</s>"], words, wordOf: [-1, ...wordOf, -1] };
}

/** For each sentence the attention that its tokens got. */
function candidatesOf(
  sentences: readonly SentenceSpan[],
  windows: readonly ReadingWindow[],
  attention: readonly Float32Array[],
): Candidate[] {
  const sentenceOf = windows.flatMap(({ segments }) => [
    -1,
    ...segments.flatMap(({ ids, sentence }) => ids.map(() => sentence)),
    -1,
  ]);
  const found = sentences.map((sentence) => ({ ...sentence, attention: 0 }));
  sentenceOf.forEach((sentence, token) => {
    const own = found[sentence];
    if (own)
      for (const row of attention) own.attention += (row[token] as number) / attention.length;
  });
  return found;
}
