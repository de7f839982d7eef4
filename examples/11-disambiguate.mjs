// One word in several senses: its sense in each sentence, and how like its embeddings are.
import { fileURLToPath } from "node:url";
import { cosineSimilarity, init } from "heed";

const heed = await init({ threads: 1 });
const model = fileURLToPath(new URL("../models/disambiguate-en", import.meta.url));
const disambiguator = await heed.load(model, "disambiguate");

const sentences = [
  "I need to go to the bank to deposit money.",
  "She opened an account at the bank.",
  "We sat by the river bank watching the sunset.",
  "The boat was tied to the far bank of the stream.",
];
const found = await disambiguator.disambiguateAll("bank", sentences, { nearest: 1 });
const uses = found.map(([use]) => use);

for (const { sentence, sense, probability, context, weights, nearest } of uses) {
  const most = weights.indexOf(Math.max(...weights));
  console.log(
    `${sentence}\n  ${sense} (${Math.round(100 * probability)} %), by "${context[most]}"`,
  );
  console.log(`  like: ${nearest[0].sentence}`);
}

console.log('\ncosines of the four embeddings of "bank":');
for (const a of uses)
  console.log(
    uses.map((b) => cosineSimilarity(a.embedding, b.embedding).toFixed(2).padStart(6)).join(""),
  );

heed.dispose();
