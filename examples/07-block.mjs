// A transformer block learns to write six letters backwards: each place looks at the one across.
import * as heed from "heed";

const runtime = await heed.init({ threads: 1 });
runtime.seed(1);
const letters = new heed.Embedding(runtime, 8, 32);
const places = new heed.PositionalEncoding(runtime, 32);
const attention = new heed.MultiheadAttention(runtime, 32, 1);
const norms = [1, 2].map(() => new heed.LayerNorm(runtime, 32));
const inner = new heed.Linear(runtime, 32, 64);
const outer = new heed.Linear(runtime, 64, 32);
const output = new heed.Linear(runtime, 32, 8);
const layers = [letters, attention, ...norms, inner, outer, output];
const parameters = layers.flatMap((layer) => [...layer.parameters().values()]);
const optimizer = new heed.AdamW(parameters, { rate: 0.005 });

function forward(ids) {
  const x = places.forward(letters.forward(ids));
  const { output: looked, weights } = attention.forward(x);
  const y = norms[0].forward(heed.add(x, looked));
  const z = norms[1].forward(heed.add(y, outer.forward(heed.gelu(inner.forward(y)))));
  return { logits: output.forward(z), weights };
}

for (let step = 0; step <= 200; step++)
  runtime.scope(() => {
    const ids = Array.from({ length: 32 * 6 }, () => runtime.nextSeed() % 8);
    const backwards = ids.map((_, i) => ids[i + 5 - 2 * (i % 6)]);
    const { logits, weights } = forward(runtime.tensor(ids, [32, 6], "i32"));
    const loss = heed.crossEntropy(logits, runtime.tensor(backwards, [32, 6], "i32"));
    optimizer.zeroGrad();
    heed.backward(loss);
    optimizer.step();
    if (step % 100 > 0) return;
    const map = heed.attentionMap(weights, { queries: [..."123456"] });
    console.log(`step ${step}: loss ${loss.item().toFixed(4)}\n${heed.attentionText(map)}\n`);
  });
runtime.dispose();
