// The translator that comes with heed: text as it grows, and which word looked at which.
import { fileURLToPath } from "node:url";
import { init } from "heed";

const heed = await init({ threads: 1 });
const model = fileURLToPath(new URL("../models/translate-en-es", import.meta.url));
const translator = await heed.load(model);

const { text, source, target, alignment } = await translator.translate("The black cat sleeps.", {
  beam: 5,
  onPartial: (soFar) => console.log(`… ${soFar}`),
});

console.log(text);
target.words.forEach((word, row) => {
  const weights = alignment[row];
  const best = weights.indexOf(Math.max(...weights));
  console.log(
    `${word.padStart(12)} ← ${source.words[best]} (${Math.round(100 * weights[best])} %)`,
  );
});

heed.dispose();
