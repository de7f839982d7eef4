// Questions about a text: the spans that answer them, what was looked at, and when there is none.
import { fileURLToPath } from "node:url";
import { init } from "heed";

const heed = await init({ threads: 1 });
const model = fileURLToPath(new URL("../models/answer-en", import.meta.url));
const answerer = await heed.load(model, "answer");

const context =
  "The old bridge was built by two brothers in 1742. A flood destroyed it eighty years later, " +
  "and the town paid for a new one of iron.";

for (const question of [
  "Who built the old bridge?",
  "When was the bridge built?",
  "What destroyed the bridge?",
  "Who sings in the opera?",
]) {
  const { answers, noAnswer } = await answerer.answer(question, context, { top: 2 });
  console.log(question);
  if (answers.length === 0) console.log(`  no answer (${Math.round(100 * noAnswer)} %)`);
  for (const { text, start, end, probability } of answers)
    console.log(`  ${Math.round(100 * probability)} %  ${text}  [${start}, ${end})`);
}

heed.dispose();
