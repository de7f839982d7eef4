import type { Module } from "../nn/module.js";

/** For models whose embedding is the head too. */
export const TIED = { "embedding.weight": 0.5, "norm.weight": 0.1 };

/**
 * Begins a new model softly: PyTorch's sizes suit embeddings that a linear layer reads. Where they
 * are the head too, or products of them are not scaled, every token would start by being sure.
 *
 * @param shares  of what the weights are at first, by their names; others stay as they are
 */
export function soften<M extends Module>(model: M, shares: Readonly<Record<string, number>>): M {
  const state = model.stateDict();
  for (const [name, share] of Object.entries(shares)) {
    const weight = state.get(name);
    weight?.write(weight.read().map((value) => share * value));
  }
  return model;
}
