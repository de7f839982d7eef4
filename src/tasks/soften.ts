import type { Module } from "../nn/module.js";

/** Of embeddings, as a share of PyTorch's deviation of 1; and of the norm's weights. */
const [EMBEDDING, NORM] = [0.5, 0.1];

/**
 * Begins a new model softly whose embedding is the head too: at PyTorch's sizes every token would
 * start by being sure to repeat itself.
 */
export function soften<M extends Module>(model: M): M {
  const state = model.stateDict();
  for (const [name, share] of [
    ["embedding.weight", EMBEDDING],
    ["norm.weight", NORM],
  ] as const) {
    const weight = state.get(name);
    weight?.write(weight.read().map((value) => share * value));
  }
  return model;
}
