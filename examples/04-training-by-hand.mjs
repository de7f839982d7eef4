// A network of two layers learns XOR: forward, loss, backward, step.
import { AdamW, backward, crossEntropy, init, Linear, Module, softmax, tanh } from "heed";

class Network extends Module {
  constructor(runtime) {
    super(runtime);
    this.inner = this.child("inner", new Linear(runtime, 2, 8));
    this.outer = this.child("outer", new Linear(runtime, 8, 2));
  }

  forward(x) {
    return this.outer.forward(tanh(this.inner.forward(x)));
  }
}

const heed = await init({ threads: 1 });
heed.seed(1);
const network = new Network(heed);
const optimizer = new AdamW(network.parameters(), { rate: 0.05 });

const x = heed.tensor([0, 0, 0, 1, 1, 0, 1, 1], [4, 2]);
const wanted = heed.tensor([0, 1, 1, 0], [4], "i32");

for (let step = 0; step <= 200; step++)
  heed.scope(() => {
    optimizer.zeroGrad();
    const loss = crossEntropy(network.forward(x), wanted);
    backward(loss);
    optimizer.step();
    if (step % 50 === 0) console.log(`step ${step}: loss ${loss.item().toFixed(4)}`);
  });

const odds = heed.scope(() => softmax(network.forward(x)).read());
for (let i = 0; i < 4; i++)
  console.log(`${i >> 1} xor ${i & 1}: ${(100 * odds[2 * i + 1]).toFixed(1)} % one`);
heed.dispose();
