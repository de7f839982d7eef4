import {
  type QuestionAnsweringConfig,
  QuestionAnsweringModel,
} from "../models/question-answering-model.js";
import { add, mul } from "../ops/arithmetic.js";
import { mix32 } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { questionBatch } from "./question-batch.js";
import type { QuestionReader, ReadText } from "./question-reader.js";
import { fingerprint, type Lesson } from "./training.js";

/** A question on a context, and the parts of the context that answer it. */
export interface LabelledQuestion {
  readonly question: string;
  readonly context: string;
  /** `start` counts UTF-16 units. */
  readonly answers: readonly { readonly start: number; readonly text: string }[];
}

/** A question on a part of a context, as the model learns it. */
export interface AnswerItem {
  readonly question: ReadText;
  readonly context: ReadText;
  /** Tokens [from, to) of the context are read. */
  readonly from: number;
  readonly to: number;
  /** First and last token of each answer among those; none where the context has no answer. */
  readonly answers: readonly (readonly [first: number, last: number])[];
}

export interface AnswerLesson {
  readonly config: QuestionAnsweringConfig;
  readonly reader: QuestionReader;
  readonly padding: number;
  readonly items: readonly AnswerItem[];
  readonly validation: readonly AnswerItem[];
}

/** Answers of one question that are learned side by side; those of a question with fewer recur. */
const ANSWERS = 3;
/** The start, which is pointed at when there is no answer. */
const NONE = [-1, -1] as const;

/** What a model that answers questions learns from. */
export function answerLesson(lesson: AnswerLesson): Lesson<QuestionAnsweringModel, AnswerItem> {
  const { config, reader, padding, items, validation } = lesson;
  return {
    about: `${items.length} questions (${fingerprint(rowsOf(items))})`,
    items,
    validation,
    build: (runtime) => encodersAlike(new QuestionAnsweringModel(runtime, config)),
    sortKey: ({ from, to, question }) => to - from + question.ids.length / 64,
    loss: (model, batch) => lossOf(model, batch, reader, padding),
    weightOf: () => 1,
  };
}

/**
 * Questions as the model learns them. Of a context that is longer than `window` tokens, a part with
 * its first answer is taken.
 *
 * @param unanswerable  for each question, how many there are on another's context, 0 … 1
 */
export function* answerItems(
  rows: readonly LabelledQuestion[],
  reader: QuestionReader,
  options: { readonly window: number; readonly unanswerable: number; readonly seed: number },
): Generator<AnswerItem> {
  const { window, unanswerable, seed } = options;
  const texts = new Map<string, ReadText>();
  const read = (text: string): ReadText => {
    const known = texts.get(text) ?? reader.read(text);
    texts.set(text, known);
    return known;
  };
  for (const [index, row] of rows.entries()) {
    const question = reader.read(row.question);
    const context = read(row.context);
    const spans = row.answers.flatMap((answer) => tokensOf(answer, context));
    const part = partAround(spans[0], context.ids.length, window);
    const answers = spans
      .filter(([first, last]) => first >= part.from && last < part.to)
      .map(([first, last]) => [first - part.from, last - part.from] as const);
    if (answers.length > 0 && question.ids.length > 0)
      yield { question, context, ...part, answers };
    const draw = mix32((mix32(index) + seed) >>> 0);
    if (draw / 2 ** 32 >= unanswerable) continue;
    const other = read((rows[mix32(draw) % rows.length] as LabelledQuestion).context);
    if (other !== context && question.ids.length > 0 && other.ids.length > 0)
      yield {
        question,
        context: other,
        ...partAround(undefined, other.ids.length, window),
        answers: [],
      };
  }
}

/** First and last token of an answer; nothing where no piece of the text stands. */
function tokensOf(
  { start, text }: LabelledQuestion["answers"][number],
  { pieces, pieceOf }: ReadText,
): [first: number, last: number][] {
  const end = start + text.length;
  const inside = (at: number): boolean => {
    const piece = pieces[at];
    return piece !== undefined && piece.end > start && piece.start < end;
  };
  const first = pieceOf.findIndex(inside);
  return first < 0 ? [] : [[first, pieceOf.findLastIndex(inside)]];
}

/** `window` tokens at most, with a span in their middle as far as possible. */
function partAround(
  span: readonly [number, number] | undefined,
  length: number,
  window: number,
): { from: number; to: number } {
  const middle = span ? Math.floor((span[0] + span[1]) / 2) : 0;
  const from = Math.max(0, Math.min(length - window, middle - Math.floor(window / 2)));
  return { from, to: Math.min(length, from + window) };
}

/** The mean over the answers of each question of the cross-entropy of first and last token. */
function lossOf(
  model: QuestionAnsweringModel,
  items: readonly AnswerItem[],
  reader: QuestionReader,
  padding: number,
): Tensor {
  const { runtime } = model;
  const rows = items.map(({ question, context, from, to }) => ({
    question: reader.framed(question.ids),
    window: reader.window(context, reader.marks(question, context), from, to),
  }));
  const { question, context } = questionBatch(runtime, rows, padding);
  const logits = model.forward(question, context);
  const losses = Array.from({ length: ANSWERS }, (_, nth) => {
    const spans = items.map(({ answers }) => answers[nth % answers.length] ?? NONE);
    const places = (side: 0 | 1): Tensor =>
      // Behind the start token.
      tensor(
        runtime,
        Int32Array.from(spans, (span) => span[side] + 1),
      );
    return model.loss(logits, places(0), places(1));
  });
  return mul(losses.reduce(add), 1 / ANSWERS);
}

/**
 * Both encoders, and queries and keys, begin with the same weights: equal words of question and
 * context are then alike from the first step, and attention finds them.
 */
function encodersAlike(model: QuestionAnsweringModel): QuestionAnsweringModel {
  const state = model.stateDict();
  for (const [name, weight] of state) {
    const twin = name.startsWith("question_encoder.")
      ? state.get(name.replace("question_encoder.", "context_encoder."))
      : undefined;
    twin?.write(weight.read());
  }
  const projection = state.get("attention.in_proj_weight") as Tensor;
  const values = projection.read();
  values.copyWithin(values.length / 3, 0, values.length / 3);
  projection.write(values);
  return model;
}

function* rowsOf(items: readonly AnswerItem[]): Generator<readonly number[]> {
  for (const { question, context, from, to, answers } of items) {
    yield question.ids;
    yield context.ids.slice(from, to);
    yield answers.flat();
  }
}
