import { Embedding } from "../../src/nn/embedding.js";
import { LayerNorm } from "../../src/nn/layer-norm.js";
import { Linear } from "../../src/nn/linear.js";
import { gelu, silu } from "../../src/ops/activation.js";
import { crossEntropy } from "../../src/ops/cross-entropy.js";
import { logSoftmax, softmax } from "../../src/ops/softmax.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { input, numberOf, type Parity, stateOf, valuesOf } from "./fixture.js";

const linear: Parity = {
  files: /^linear/,
  compute(fixture, runtime) {
    const state = stateOf(fixture);
    const [outputs, inputs] = valuesOf(fixture, "param.weight").shape as [number, number];
    const module = new Linear(runtime, inputs, outputs, { bias: state.has("bias") }).load(state);
    const x = input(fixture, runtime, "x");
    return {
      results: { "output.y": module.forward(x) },
      inputs: { x },
      parameters: module.parameters(),
    };
  },
};

const embedding: Parity = {
  files: /^embedding/,
  compute(fixture, runtime) {
    const [vocab, width] = valuesOf(fixture, "param.weight").shape as [number, number];
    const { padding_idx: padding } = fixture.config;
    const module = new Embedding(
      runtime,
      vocab,
      width,
      typeof padding === "number" ? { padding } : {},
    ).load(stateOf(fixture));
    const ids = input(fixture, runtime, "ids");
    return { results: { "output.y": module.forward(ids) }, parameters: module.parameters() };
  },
};

const crossEntropyLoss: Parity = {
  files: /^cross-entropy/,
  compute(fixture, runtime) {
    const logits = input(fixture, runtime, "logits");
    const targets = input(fixture, runtime, "targets");
    const loss = crossEntropy(logits, targets, {
      ignore: numberOf(fixture, "ignore_index"),
      smoothing: numberOf(fixture, "label_smoothing"),
      reduction: fixture.config.reduction === "sum" ? "sum" : "mean",
    });
    return { results: { loss }, inputs: { logits } };
  },
};

const layerNorm: Parity = {
  files: /^layer-norm$/,
  compute(fixture, runtime) {
    const [width] = valuesOf(fixture, "param.weight").shape as [number];
    const module = new LayerNorm(runtime, width, { eps: numberOf(fixture, "eps") });
    module.load(stateOf(fixture));
    const x = input(fixture, runtime, "x");
    return {
      results: { "output.y": module.forward(x) },
      inputs: { x },
      parameters: module.parameters(),
    };
  },
};

const FUNCTIONS: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  "gelu-erf": gelu,
  "gelu-tanh": (x) => gelu(x, { approximate: "tanh" }),
  silu,
  softmax,
  "log-softmax": logSoftmax,
};

const functions: Parity = {
  files: new RegExp(`^(${Object.keys(FUNCTIONS).join("|")})$`),
  compute(fixture, runtime) {
    const x = input(fixture, runtime, "x");
    const y = (FUNCTIONS[fixture.name] as (x: Tensor) => Tensor)(x);
    return { results: { "output.y": y }, inputs: { x } };
  },
};

export const parities: Parity[] = [linear, embedding, crossEntropyLoss, layerNorm, functions];
