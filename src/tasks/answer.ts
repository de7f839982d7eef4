import { FormatError } from "../errors.js";
import type { AttentionMap } from "../inspect/attention-map.js";
import { integer, oneOf, optional, readFields, real } from "../io/fields.js";
import type { ModelFolder } from "../io/model-folder.js";
import { quote } from "../io/quote.js";
import { loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { unpackWeights } from "../io/weights.js";
import { QuestionAnsweringModel } from "../models/question-answering-model.js";
import { withoutInit } from "../nn/init.js";
import { logSoftmax } from "../ops/softmax.js";
import { noGrad } from "../ops/tape.js";
import { turn } from "../runtime/event-loop.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectList, expectNumber, shown } from "./arguments.js";
import { expectShapes, expectVocabulary, withWeights } from "./model-file.js";
import { type QuestionRow, questionBatch } from "./question-batch.js";
import { MARK_ROWS, type Piece, QuestionReader, type ReadText } from "./question-reader.js";
import { logSum, type Span, searchSpans } from "./spans.js";
import { Task } from "./task.js";

export interface AnswerOptions {
  /** Answers wanted at most, 1 … 100; default 1. */
  readonly top?: number;
  /**
   * How probable it must be that the context has no answer before none is given, 0 … 1; above 1
   * there always is one. Default: what the model was calibrated to.
   */
  readonly noAnswer?: number;
  /** Words, numbers and signs that an answer may have, 1 … 1000; default 20. */
  readonly longest?: number;
  /**
   * "best" (default): the best first and last token together. "greedy": the best first token and
   * the best last one, each alone, as in the textbook; no answer where the last stands before.
   */
  readonly decoding?: "best" | "greedy";
  readonly signal?: AbortSignal | undefined;
}

export interface QuestionAndContext {
  readonly question: string;
  readonly context: string;
  /** What errors about them begin with: a line of a file. */
  readonly name?: string;
}

/** A part of the context that answers the question. */
export interface Answer {
  readonly text: string;
  /** Where it stands in the context: [start, end) in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /**
   * Among all spans up to the longest and "no answer", which sum to 1. In a long context spans that
   * two windows see count twice.
   */
  readonly probability: number;
  /** Sum of the log-probabilities of its first and its last token. */
  readonly score: number;
}

/** What a context says about a question; plain data. */
export interface Answering {
  readonly question: string;
  /** The best first, none overlaps a better one; empty when there is no answer. */
  readonly answers: readonly Answer[];
  /** How probable it is that the context has none. */
  readonly noAnswer: number;
  /**
   * Which tokens of the question each token of the context looked at, by heads. Of a long context,
   * the part in which the best answer stands, see `part`.
   */
  readonly attention: AttentionMap;
  /** The part of the context that `attention` is about: [start, end) in UTF-16 units. */
  readonly part: { readonly start: number; readonly end: number };
}

/** What config.json of a model for this task holds. */
const FIELDS = {
  task: oneOf("answer"),
  architecture: oneOf("QuestionAnsweringModel"),
  vocab: integer(1, 1_000_000),
  embedding: integer(1, 16_384),
  hidden: integer(1, 8192),
  heads: integer(1, 1024),
  layers: integer(1, 64),
  padding: integer(0, 999_999),
  window: integer(16, 4096),
  noAnswer: optional(real(0, 2), 2),
} as const;

/** Windows read side by side. */
const BATCH = 32;
const MOST_ANSWERS = 100;
const LONGEST = { standard: 20, most: 1000 };
/** UTF-16 units of a text. */
const MOST_TEXT = 2 ** 20;
/** Tokens of a question; more are no question. */
const MOST_QUESTION = 512;
/** The position of the start, which means that there is no answer. */
const NONE = 0;

type Settled = Required<Omit<AnswerOptions, "signal">>;

/** One window of one item. */
interface Work extends QuestionRow {
  readonly item: number;
  /** Pieces of the context by the window's tokens, −1 at its edges. */
  readonly pieceOf: readonly number[];
}

/** What one window gave. */
interface Found {
  readonly work: Work;
  readonly spans: readonly Span[];
  /** The logarithm of the weight of "no answer", and of all spans together. */
  readonly logNone: number;
  readonly logTotal: number;
  /** [heads][context tokens][question tokens]; null once a better window of the context is known. */
  weights: Float32Array[][] | null;
}

/** What the model was trained with. */
export interface AnswererSettings {
  readonly padding: number;
  /** Tokens of the longest context it saw; longer ones are read in windows. */
  readonly window: number;
  /** See AnswerOptions. */
  readonly noAnswer: number;
}

/** Answers questions with parts of a context. */
export class QuestionAnswerer extends Task<QuestionAnsweringModel> {
  readonly settings: AnswererSettings;
  readonly #reader: QuestionReader;

  constructor(model: QuestionAnsweringModel, tokenizer: Tokenizer, settings: AnswererSettings) {
    super("answer", model);
    this.settings = settings;
    this.#reader = new QuestionReader(tokenizer);
  }

  /**
   * The best answers to a question in a context.
   *
   * @throws {RangeError} the question is blank, a text is too long, or an option is out of range
   * @throws the signal's reason
   * @example
   * const { answers } = await answerer.answer("Where does it live?", "The heron lives at the lake.");
   * answers[0]?.text; // "at the lake"
   */
  async answer(question: string, context: string, options: AnswerOptions = {}): Promise<Answering> {
    const [answering] = await this.answerAll([{ question, context }], options);
    return answering as Answering;
  }

  /** answer() for many: the same results, sooner. */
  async answerAll(
    items: readonly QuestionAndContext[],
    options: AnswerOptions = {},
  ): Promise<Answering[]> {
    return this.use(options, () => this.#answerAll(items, options));
  }

  async #answerAll(
    items: readonly QuestionAndContext[],
    options: AnswerOptions,
  ): Promise<Answering[]> {
    expectItems(items);
    const { signal } = options;
    const settled = this.#settle(options);
    signal?.throwIfAborted();
    // Many questions may share a context.
    const texts = new Map<string, ReadText>();
    const read = async (text: string): Promise<ReadText> => {
      const known = texts.get(text) ?? this.#reader.read(text);
      texts.set(text, known);
      await turn(signal);
      return known;
    };
    const work: Work[] = [];
    const contexts: ReadText[] = [];
    for (const [item, { question, context, name }] of items.entries()) {
      const who = name ?? (items.length > 1 ? `answer: item ${item}` : "answer");
      expectText(who, "question", question);
      expectText(who, "context", context);
      const asked = expectQuestion(who, await read(question), question);
      const known = await read(context);
      contexts.push(known);
      for (const window of this.#windows(item, asked, known)) work.push(window);
    }
    const found = items.map((): Found[] => []);
    for (const one of await this.#read(work, settled, signal)) found[one.work.item]?.push(one);
    return items.map((item, index) =>
      this.#merge(item, contexts[index] as ReadText, found[index] as Found[], settled),
    );
  }

  #settle(options: AnswerOptions): Settled {
    const { top = 1, longest = LONGEST.standard, noAnswer = this.settings.noAnswer } = options;
    const { decoding = "best" } = options;
    expectCount("top", top, MOST_ANSWERS);
    expectCount("longest", longest, LONGEST.most);
    expectNumber("answer", "noAnswer", noAnswer);
    if (!(noAnswer >= 0))
      throw new RangeError(`answer: noAnswer must be a number from 0 up, got ${noAnswer}`);
    if (decoding !== "best" && decoding !== "greedy")
      throw new TypeError(`answer: decoding must be best or greedy, got ${String(decoding)}`);
    return { top, longest, noAnswer, decoding };
  }

  /** Windows of the size the model knows; each shares half of its tokens with the next. */
  #windows(item: number, question: ReadText, context: ReadText): Work[] {
    const marks = this.#reader.marks(question, context);
    const { length } = context.ids;
    const size = this.settings.window;
    const ids = this.#reader.framed(question.ids);
    const work: Work[] = [];
    for (let from = 0; from < length; from += Math.ceil(size / 2)) {
      const to = Math.min(from + size, length);
      work.push({
        item,
        question: ids,
        window: this.#reader.window(context, marks, from, to),
        pieceOf: [-1, ...context.pieceOf.slice(from, to), -1],
      });
      if (to === length) break;
    }
    return work;
  }

  async #read(
    work: readonly Work[],
    settled: Settled,
    signal: AbortSignal | undefined,
  ): Promise<Found[]> {
    // Windows of like length share a batch.
    const order = work
      .map((_, index) => index)
      .sort((a, b) => (work[a] as Work).pieceOf.length - (work[b] as Work).pieceOf.length);
    const found: Found[] = [];
    const best = new Map<number, Found>();
    for (let from = 0; from < order.length; from += BATCH) {
      const indices = order.slice(from, from + BATCH);
      const batch = indices.map((index) => work[index] as Work);
      this.#readBatch(batch, settled).forEach((one, row) => {
        found[indices[row] as number] = one;
        const before = best.get(one.work.item);
        const better = !before || bestOdds(one) > bestOdds(before);
        if (better) best.set(one.work.item, one);
        const worse = better ? before : one;
        if (worse) worse.weights = null;
      });
      await turn(signal);
    }
    return found;
  }

  #readBatch(work: readonly Work[], { longest, top, decoding }: Settled): Found[] {
    const { model } = this;
    const { runtime } = model;
    return runtime.scope(() =>
      noGrad(runtime, () => {
        const { question, context } = questionBatch(runtime, work, this.settings.padding);
        const predicted = model.withWeights(question, context, { average: false });
        const [starts, ends] = [predicted.start, predicted.end].map(
          (logits) => logSoftmax(logits).read() as Float32Array,
        ) as [Float32Array, Float32Array];
        const length = predicted.start.shape[1] as number;
        const weights = predicted.weights.read() as Float32Array;
        const shape = predicted.weights.shape as [number, number, number, number];
        return work.map((one, row): Found => {
          const { pieceOf } = one;
          const rowOf = (all: Float32Array): Float32Array =>
            all.subarray(row * length, row * length + pieceOf.length);
          const [start, end] = [rowOf(starts), rowOf(ends)];
          const search = searchSpans(start, end, pieceOf, longest, top);
          return {
            work: one,
            spans: decoding === "greedy" ? greedySpan(start, end, pieceOf) : search.spans,
            logNone: (start[NONE] as number) + (end[NONE] as number),
            logTotal: search.logTotal,
            weights: headsOf(weights, shape, row, pieceOf.length, one.question.length),
          };
        });
      }),
    );
  }

  /**
   * What the windows of a context say together. Within a window a span's odds are against that
   * window's "no answer", so odds of all windows can be held against each other.
   */
  #merge(
    { question, context }: QuestionAndContext,
    read: ReadText,
    found: readonly Found[],
    { top, noAnswer: threshold }: Settled,
  ): Answering {
    const logOdds = found.map(({ logTotal, logNone }) => logTotal - logNone);
    const logAll = logOdds.reduce(logSum, 0);
    const noAnswer = Math.exp(-logAll);
    const candidates = found
      .flatMap(({ spans, logNone, work }) =>
        spans.map((span): Answer => {
          const [start, end] = placeOf(span, work, read);
          const probability = Math.exp(span.score - logNone - logAll);
          return { text: context.slice(start, end), start, end, probability, score: span.score };
        }),
      )
      .sort((a, b) => b.probability - a.probability);
    const answers: Answer[] = [];
    for (const one of noAnswer < threshold ? candidates : []) {
      if (answers.length === top) break;
      if (answers.every(({ start, end }) => one.end <= start || end <= one.start))
        answers.push(one);
    }
    const shown = found.find(({ weights }) => weights !== null);
    return { question, answers, noAnswer, ...this.#attention(question, read, shown) };
  }

  #attention(
    title: string,
    context: ReadText,
    shown: Found | undefined,
  ): Pick<Answering, "attention" | "part"> {
    const { question, window, pieceOf } = shown?.work ?? {};
    const textOf = (id: number): string => this.#reader.textOf(id);
    const place = (at: number): Piece | undefined => context.pieces[pieceOf?.at(at) ?? -1];
    return {
      attention: {
        title,
        kind: "cross",
        queries: window?.ids.map(textOf) ?? [],
        keys: question?.map(textOf) ?? [],
        weights: [shown?.weights ?? [[]]],
      },
      part: { start: place(1)?.start ?? 0, end: place(-2)?.end ?? 0 },
    };
  }
}

/** The task that a model folder holds; `name` is the folder's, for errors. */
export function loadQuestionAnswerer(
  runtime: Runtime,
  folder: ModelFolder,
  name: string,
): QuestionAnswerer {
  const config = readFields(folder.config, FIELDS, `${name}: config.json`);
  const { vocab, embedding, hidden, heads, layers, padding, window, noAnswer } = config;
  const weights = unpackWeights(folder.tensors, `${name}: model.safetensors`);
  const tokenizer = loadTokenizer(folder.tokenizer);
  expectShapes(
    {
      "embedding.weight": [vocab, embedding],
      "question_encoder.weight_hh_l0": [4 * hidden, hidden],
      "attention.in_proj_weight": [6 * hidden, 2 * hidden],
    },
    weights,
    name,
  );
  if ((2 * hidden) % heads !== 0)
    throw new FormatError(
      "CONFIG_FIELD",
      `${name}: config.json: "heads" must divide twice "hidden", got ${heads} and ${hidden}`,
    );
  expectVocabulary({ vocab }, tokenizer, padding, name, MARK_ROWS);
  return runtime.guarded(() => {
    const sizes = { vocab, embedding, hidden, heads, layers };
    const model = withoutInit(() => new QuestionAnsweringModel(runtime, sizes));
    const settings = { padding, window, noAnswer };
    return new QuestionAnswerer(withWeights(model, weights, name), tokenizer, settings);
  });
}

/** How probable the best span of a window is, against that window's "no answer". */
function bestOdds({ spans: [best], logNone }: Found): number {
  return best ? best.score - logNone : -Infinity;
}

/** The best first and the best last token, each alone; nothing where the last stands before. */
function greedySpan(
  starts: Float32Array,
  ends: Float32Array,
  pieceOf: readonly number[],
): readonly Span[] {
  const best = (logs: Float32Array): number => {
    let at = 1;
    for (let i = 2; i < logs.length - 1; i++)
      if ((logs[i] as number) > (logs[at] as number)) at = i;
    return at;
  };
  const [first, last] = [best(starts), best(ends)];
  if (last < first || pieceOf[first] === undefined) return [];
  return [{ first, last, score: (starts[first] as number) + (ends[last] as number) }];
}

/** Where a span stands in the context's text. */
function placeOf({ first, last }: Span, { pieceOf }: Work, { pieces }: ReadText): [number, number] {
  const piece = (at: number): Piece => pieces[pieceOf[at] as number] as Piece;
  return [piece(first).start, piece(last).end];
}

/** [heads][queries][keys] of one row of weights [B, heads, Lq, Lk]. */
function headsOf(
  values: Float32Array,
  [, heads, height, width]: readonly [number, number, number, number],
  row: number,
  queries: number,
  keys: number,
): Float32Array[][] {
  return Array.from({ length: heads }, (_, head) =>
    Array.from({ length: queries }, (__, query) => {
      const from = ((row * heads + head) * height + query) * width;
      return values.slice(from, from + keys);
    }),
  );
}

function expectItems(items: readonly unknown[]): void {
  expectList("answer", "items", items);
  for (const [index, item] of items.entries())
    if (typeof item !== "object" || item === null)
      throw new TypeError(
        `answer: item ${index} must be an object with a question and a context, got ${shown(item)}`,
      );
}

function expectText(who: string, name: string, text: unknown): void {
  if (typeof text !== "string")
    throw new TypeError(`${who}: the ${name} must be a string, got ${typeof text}`);
  if (text.length > MOST_TEXT)
    throw new RangeError(
      `${who}: the ${name} must have at most ${MOST_TEXT} characters, got ${text.length}. Give its parts`,
    );
}

function expectQuestion(who: string, read: ReadText, question: string): ReadText {
  const { length } = read.ids;
  if (length === 0 || length > MOST_QUESTION)
    throw new RangeError(
      `${who}: the question must have 1 to ${MOST_QUESTION} tokens, got ${length} in ${quote(question.slice(0, 80))}`,
    );
  return read;
}

function expectCount(name: string, value: number, most: number): void {
  if (!(Number.isInteger(value) && value >= 1 && value <= most))
    throw new RangeError(`answer: ${name} must be a whole number from 1 to ${most}, got ${value}`);
}
