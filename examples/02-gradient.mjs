// The slope of a function, by backward() and by trying a step to each side.
import { backward, init, mul, sum, tanh } from "heed";

const heed = await init({ threads: 1 });

/** f(x) = Σ tanh(x)·x */
const f = (x) => sum(mul(tanh(x), x));

const values = [-1.5, -0.5, 0, 0.5, 2];
const x = heed.tensor(values);
x.requiresGrad = true;
heed.scope(() => backward(f(x)));
const slopes = x.grad.read();

const step = 1e-2;
values.forEach((at, i) => {
  const shifted = (by) => heed.tensor(values.with(i, at + by));
  const [after, before] = heed.scope(() => [f(shifted(step)).item(), f(shifted(-step)).item()]);
  const tried = (after - before) / (2 * step);
  console.log(`x = ${at}: slope ${slopes[i].toFixed(4)}, tried ${tried.toFixed(4)}`);
});

heed.dispose();
