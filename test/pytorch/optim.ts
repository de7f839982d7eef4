import { AdamW } from "../../src/optim/adam-w.js";
import { clipGradientNorm } from "../../src/optim/clip.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import { SGD } from "../../src/optim/sgd.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { type Computed, type Fixture, numberOf, type Parity, valuesOf } from "./fixture.js";

/** PyTorch's name of what an optimiser remembers → ours. */
type Memory = Readonly<Record<string, string>>;

const adamW: Parity = {
  files: /^adamw/,
  compute(fixture, runtime) {
    const parameter = startOf(fixture, runtime);
    const optimizer = new AdamW([["p", parameter]], {
      rate: numberOf(fixture, "lr"),
      betas: fixture.config.betas as [number, number],
      eps: numberOf(fixture, "eps"),
      weightDecay: numberOf(fixture, "weight_decay"),
    });
    return walk(fixture, parameter, optimizer, { exp_avg: "mean.p", exp_avg_sq: "variance.p" });
  },
};

const sgd: Parity = {
  files: /^sgd/,
  compute(fixture, runtime) {
    const parameter = startOf(fixture, runtime);
    const optimizer = new SGD([["p", parameter]], {
      rate: numberOf(fixture, "lr"),
      momentum: numberOf(fixture, "momentum"),
      nesterov: fixture.config.nesterov === true,
      weightDecay: numberOf(fixture, "weight_decay"),
    });
    return walk(fixture, parameter, optimizer, { momentum_buffer: "velocity.p" });
  },
};

const clip: Parity = {
  files: /^clip-grad-norm/,
  compute(fixture, runtime) {
    const parameters = ["a", "b"].map((name) => {
      const { values, shape } = valuesOf(fixture, `input.${name}`);
      const parameter = tensor(runtime, new Float32Array(values.length), shape);
      parameter.grad = tensor(runtime, values, shape);
      return parameter;
    });
    const norm = clipGradientNorm(parameters, numberOf(fixture, "max_norm"));
    const [a, b] = parameters.map((parameter) => parameter.grad as Tensor) as [Tensor, Tensor];
    return { results: { "output.a": a, "output.b": b, "output.norm": [norm] } };
  },
};

function startOf(fixture: Fixture, runtime: Runtime): Tensor {
  const { values, shape } = valuesOf(fixture, "input.param");
  return tensor(runtime, values, shape);
}

/** One step a gradient; the parameter after each, and what is remembered after the last. */
function walk(fixture: Fixture, parameter: Tensor, optimizer: Optimizer, memory: Memory): Computed {
  const { values, shape } = valuesOf(fixture, "input.grad");
  const { runtime, size } = parameter;
  const path: number[] = [];
  for (let step = 0; step < (shape[0] as number); step++) {
    parameter.grad = tensor(runtime, values.subarray(step * size, (step + 1) * size));
    optimizer.step();
    path.push(...parameter.read());
  }
  const state = optimizer.state();
  const results: Record<string, ArrayLike<number>> = { "output.param": path };
  for (const [theirs, ours] of Object.entries(memory)) {
    const kept = state.get(ours);
    if (kept) results[`output.${theirs}`] = kept;
  }
  optimizer.dispose();
  return { results };
}

export const parities: Parity[] = [adamW, sgd, clip];
