/**
 * Sets from which probability of "no answer" on a model gives none:
 *
 *   tsx scripts/calibrate-answer.ts MODEL QUESTIONS.jsonl
 *
 * Every question is asked on its own context and on that of a question half the file away. The
 * threshold that parts the two goes to MODEL/config.json, see bestThreshold().
 */
import { readFile } from "node:fs/promises";
import { init } from "../src/node.js";
import type { QuestionAndContext } from "../src/tasks/answer.js";
import { setField } from "./model-config.js";
import { bestThreshold } from "./threshold.js";

const [model, questions] = process.argv.slice(2);
if (!model || !questions) throw new Error("calibrate-answer: usage is MODEL QUESTIONS.jsonl");
const lines = (await readFile(questions, "utf8")).split("\n").filter((line) => line !== "");
const own = lines.map((line): QuestionAndContext => JSON.parse(line));
const others = own.flatMap(({ question, context: known }, index) => {
  const { context } = own[(index + (own.length >> 1)) % own.length] as QuestionAndContext;
  return context === known ? [] : [{ question, context }];
});

const heed = await init({ threads: 1 });
const answerer = await heed.load(model, "answer");
const noAnswer = async (items: readonly QuestionAndContext[]): Promise<number[]> =>
  (await answerer.answerAll(items)).map((answering) => answering.noAnswer);
const { threshold, accuracy } = bestThreshold(await noAnswer(own), await noAnswer(others));
heed.dispose();

const noAnswerFrom = Number(threshold.toPrecision(3));
await setField(model, "noAnswer", noAnswerFrom);
console.log(
  `no answer from ${noAnswerFrom} on: right for ${(100 * accuracy).toFixed(1)} % (a guess: 50 %)`,
);
