// Attention, and what it looked at: each word looks at itself and at those before it.
import { attentionWithWeights, init } from "heed";

const heed = await init({ threads: 1 });

const words = ["the", "black", "cat", "sleeps"];
// One feature a column: article, colour, animal, action. A query asks, a key answers.
const keys = [1, 0, 0, 0, /**/ 0, 1, 0, 0, /**/ 0, 0, 1, 0, /**/ 0, 0, 0, 1];
const queries = [3, 0, 0, 0, /**/ 3, 1, 0, 0, /**/ 1, 3, 2, 0, /**/ 0, 0, 6, 1];

heed.scope(() => {
  const q = heed.tensor(queries, [4, 4]);
  const k = heed.tensor(keys, [4, 4]);
  const { weights } = attentionWithWeights(q, k, k, { causal: true });
  const rows = weights.read();

  console.log("          ", words.map((word) => word.padStart(7)).join(""));
  words.forEach((word, row) => {
    const shares = [...rows.slice(4 * row, 4 * row + 4)].map((x) => `${Math.round(100 * x)} %`);
    console.log(word.padStart(10), shares.map((share) => share.padStart(7)).join(""));
  });
});

heed.dispose();
