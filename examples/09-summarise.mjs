// A text in a few words of the model's own, where it looked, and the text's main sentences.
import { fileURLToPath } from "node:url";
import { init } from "heed";

const heed = await init({ threads: 1 });
const model = fileURLToPath(new URL("../models/summarize-en", import.meta.url));
const summarizer = await heed.load(model, "summarize");

const text = `Calow is a village in the county of Derbyshire in England, east of Chesterfield. In 2011 it
had 2,494 people. Coal was mined there until 1936.

Chesterfield Royal Hospital stands at the village's edge. It was opened in 1984, and has 545 beds.
Calow is a village in the county of Derbyshire. The church of Saint Peter was built in 1869.`;

const { description, source, target, alignment } = await summarizer.summarize(text);
console.log(description);
target.words.forEach((word, row) => {
  const weights = alignment[row];
  const best = weights.indexOf(Math.max(...weights));
  const percent = Math.round(100 * weights[best]);
  console.log(`${word.padStart(12)} ← ${source.words[best]} (${percent} %)`);
});

console.log("\nIts main sentences:");
const { sentences } = await summarizer.summarize(text, { mode: "extractive", sentences: 3 });
for (const { text, start, kept, repeats } of sentences)
  if (kept) console.log(`  ${String(start).padStart(3)}: ${text}`);
  else if (repeats) console.log(`       (said already, at ${start})`);

heed.dispose();
