import { join } from "node:path";
import { FormatError, HeedError } from "../errors.js";
import { idOf } from "../io/tokenizer.js";
import type {
  QuestionAnsweringConfig,
  QuestionAnsweringModel,
} from "../models/question-answering-model.js";
import { turn } from "../runtime/event-loop.js";
import {
  type AnswerItem,
  answerItems,
  answerLesson,
  type LabelledQuestion,
} from "../tasks/answer-training.js";
import { MARK_ROWS, QuestionReader } from "../tasks/question-reader.js";
import { parseQuestion } from "./questions.js";
import { shippedModel } from "./shipped-model.js";
import { readTextFile } from "./text-file.js";
import type { TrainingProgram, TrainOptions } from "./train.js";

export interface TrainAnswerOptions extends TrainOptions {
  readonly dropout: number;
  readonly data: string;
  readonly embedding: number;
  readonly hidden: number;
  readonly heads: number;
  readonly layers: number;
  readonly window: number;
  readonly unanswerable: number;
  readonly limit?: number;
}

/** `heed train answer`: learns from DATA/train.jsonl and chooses by DATA/dev.jsonl. */
export const answerProgram: TrainingProgram<
  TrainAnswerOptions,
  QuestionAnsweringModel,
  AnswerItem
> = {
  task: "answer",
  tokenizer: join(shippedModel("answer-en"), "tokenizer.json"),

  async prepare(options, tokenizer, signal) {
    const { data, limit, embedding, hidden, heads, layers, dropout, window } = options;
    if ((2 * hidden) % heads !== 0)
      throw new HeedError(
        `train: twice the width must be a multiple of the heads, got ${2 * hidden} and ${heads}. Give them with --hidden and --heads`,
      );
    const reader = new QuestionReader(tokenizer);
    const padding = idOf(tokenizer, "<pad>");
    const vocab = tokenizer.vocabSize + MARK_ROWS;
    const sizes = { vocab, embedding, hidden, heads, layers };
    const config: QuestionAnsweringConfig = { ...sizes, dropout };
    const items = async (name: string, limit?: number): Promise<AnswerItem[]> => {
      const found: AnswerItem[] = [];
      for (const item of answerItems(
        await readQuestions(data, name, signal, limit),
        reader,
        options,
      )) {
        found.push(item);
        await turn(signal);
      }
      return found;
    };
    const lesson = answerLesson({
      config,
      reader,
      padding,
      items: await items("train", limit),
      validation: await items("dev"),
    });
    return {
      config: { architecture: "QuestionAnsweringModel", ...sizes, padding, window },
      lesson,
      items: "questions",
    };
  },
};

/** The questions of FOLDER/NAME.jsonl, or of NAME.jsonl.gz. */
async function readQuestions(
  folder: string,
  name: string,
  signal: AbortSignal,
  limit = Infinity,
): Promise<LabelledQuestion[]> {
  const { file, text } = await readTextFile(
    folder,
    [`${name}.jsonl`, `${name}.jsonl.gz`],
    "QUESTIONS",
  );
  const rows: LabelledQuestion[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === "") continue;
    const where = `${file}, line ${index + 1}`;
    const { answers = [], ...row } = parseQuestion(line, where);
    if (answers.length === 0)
      throw new FormatError("QUESTIONS", `${where}: a question must have an answer, got none`);
    rows.push({ ...row, answers });
    if (rows.length === limit) break;
    await turn(signal);
  }
  return rows;
}
