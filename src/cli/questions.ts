import { FormatError } from "../errors.js";
import { quote } from "../io/quote.js";
import type { LabelledQuestion } from "../tasks/answer-training.js";

/** A line of a file of questions: answers are needed for training alone. */
export type QuestionLine = Omit<LabelledQuestion, "answers"> & Partial<LabelledQuestion>;

const RULE = 'an object {"question": "…", "context": "…", "answers": [{"start": 0, "text": "…"}]}';

/**
 * A line of JSON with a question.
 *
 * @param where  the file and the number of the line, for errors
 * @throws {FormatError} QUESTIONS: it is not as it must be, or an answer is not in the context
 */
export function parseQuestion(line: string, where: string): QuestionLine {
  const fail = (what: string, came: string): never => {
    throw new FormatError("QUESTIONS", `${where}: ${what}, got ${came}`);
  };
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return fail(`every line must be ${RULE}`, quote(line.slice(0, 80)));
  }
  if (!isQuestion(value)) return fail(`every line must be ${RULE}`, quote(line.slice(0, 80)));
  for (const { start, text } of value.answers ?? [])
    if (text === "" || value.context.slice(start, start + text.length) !== text)
      fail("an answer must stand in the context, at its start", `${quote(text)} at ${start}`);
  return value;
}

function isQuestion(value: unknown): value is QuestionLine {
  const { question, context, answers = [] } = { ...(value as Partial<QuestionLine> | null) };
  return (
    typeof question === "string" &&
    typeof context === "string" &&
    Array.isArray(answers) &&
    answers.every((answer: unknown) => {
      const { start, text } = { ...(answer as Partial<LabelledQuestion["answers"][0]> | null) };
      return typeof text === "string" && Number.isInteger(start) && (start as number) >= 0;
    })
  );
}
