import { HeedError } from "../errors.js";
import { init } from "../node.js";
import type { Answering, QuestionAndContext, QuestionAnswerer } from "../tasks/answer.js";
import { digits } from "./digits.js";
import { Album, type DrawingOptions } from "./drawing.js";
import { readLines, readText } from "./input.js";
import { printable } from "./printable.js";
import { parseQuestion } from "./questions.js";
import { modelFolder } from "./shipped-model.js";

export interface AnswerCommandOptions extends DrawingOptions {
  readonly question?: string;
  readonly context?: string;
  readonly contextFile?: string;
  readonly questions?: string;
  readonly model?: string;
  readonly top: number;
  readonly threshold?: number;
  readonly longest: number;
  readonly decoding: "best" | "greedy";
  readonly threads: number;
  readonly json?: boolean;
}

/** Questions of a file that are worked on together. */
const LOT = 256;

/** `heed answer`: one question on a context, or a file of questions with theirs. */
export async function answerCommand(
  options: AnswerCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const album = await Album.open(options);
  const heed = await init({ threads: options.threads });
  try {
    const answerer = await heed.load(modelFolder(options.model, "answer-en"), "answer");
    if (options.questions === undefined)
      await answerSome(answerer, [await readQuestion(options, signal)], options, album, signal);
    else
      for await (const lot of readQuestions(options.questions, signal))
        await answerSome(answerer, lot, options, album, signal);
    await album.write("Answers");
  } finally {
    heed.dispose();
  }
}

async function readQuestion(
  { question = "", context, contextFile: file }: AnswerCommandOptions,
  signal: AbortSignal,
): Promise<QuestionAndContext> {
  const prompt = "type or paste the text that has the answer";
  const text = context ?? (await readText({ who: "answer", file, prompt }, signal));
  if (text.trim() === "")
    throw new HeedError(
      "answer: the context must have text, got a blank one. Give it with --context, --context-file or on standard input",
    );
  return { question, context: text };
}

async function* readQuestions(
  file: string,
  signal: AbortSignal,
): AsyncGenerator<QuestionAndContext[]> {
  let number = 0;
  for await (const lines of readLines({ who: "answer", file, prompt: "" }, signal))
    for (let from = 0; from < lines.length; from += LOT)
      yield lines.slice(from, from + LOT).flatMap((line) => {
        number++;
        const name = `${file}, line ${number}`;
        return line === "" ? [] : [{ ...parseQuestion(line, name), name }];
      });
}

async function answerSome(
  answerer: QuestionAnswerer,
  items: readonly QuestionAndContext[],
  options: AnswerCommandOptions,
  album: Album,
  signal: AbortSignal,
): Promise<void> {
  const { top, longest, decoding, threshold } = options;
  const found = await answerer.answerAll(items, {
    ...{ top, longest, decoding, signal },
    ...(threshold !== undefined && { noAnswer: threshold }),
  });
  for (const answering of found) {
    process.stdout.write(`${options.json ? toJson(answering) : toText(answering, top)}\n`);
    await album.add(answering.attention);
  }
}

/** One answer alone, several with their probabilities; where there is none, a blank line for programs. */
function toText({ answers, noAnswer }: Answering, top: number): string {
  const none = process.stdout.isTTY ? "(no answer)" : "";
  if (top === 1) return onOneLine(answers[0]?.text ?? none);
  const rated = answers.map(
    ({ text, probability }) => `${probability.toFixed(2)}  ${onOneLine(text)}`,
  );
  return [...rated, `${noAnswer.toFixed(2)}  (no answer)`].join("\n");
}

function onOneLine(text: string): string {
  return printable(text.replace(/\s+/gu, " "));
}

function toJson({ attention, ...rest }: Answering): string {
  const weights = attention.weights.map((heads) =>
    heads.map((rows) => rows.map((row) => Array.from(row, digits))),
  );
  return printable(JSON.stringify({ ...rest, attention: { ...attention, weights } }));
}
