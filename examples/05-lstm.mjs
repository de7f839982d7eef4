// An LSTM learns to say, at the end of a row of letters, which letter came first.
import { AdamW, argmax, backward, crossEntropy, Embedding, init, Linear, LSTM } from "heed";

const [letters, length, batch] = [4, 6, 32];
const heed = await init({ threads: 1 });
heed.seed(2);

const embedding = new Embedding(heed, letters, 8);
const lstm = new LSTM(heed, 8, 24);
const output = new Linear(heed, 24, letters);
const layers = [embedding, lstm, output];
const weights = layers.flatMap((layer) => [...layer.parameters().values()]);
const optimizer = new AdamW(weights, { rate: 0.02 });

function predict(rows) {
  const { hidden } = lstm.forward(embedding.forward(heed.tensor(rows, [batch, length], "i32")));
  return output.forward(hidden[0]);
}

for (let step = 0; step <= 125; step++)
  heed.scope(() => {
    const rows = Array.from({ length: batch * length }, () => heed.nextSeed() % letters);
    const truth = Int32Array.from(rows.filter((_, i) => i % length === 0));
    optimizer.zeroGrad();
    const guesses = predict(rows);
    backward(crossEntropy(guesses, heed.tensor(truth)));
    optimizer.step();
    const right = argmax(guesses)
      .read()
      .filter((guess, i) => guess === truth[i]).length;
    if (step % 25 === 0) console.log(`step ${step}: ${right} of ${batch} right`);
  });

heed.dispose();
