import type { Module } from "../nn/module.js";

/** A share of PyTorch's deviation of 1. */
const SOFT = 0.1;

/**
 * Makes the embedding of a new model small, where it is the head too: at its full size every token
 * would begin by being sure to repeat itself.
 */
export function soften<M extends Module>(model: M): M {
  const embedding = model.stateDict().get("embedding.weight");
  embedding?.write(embedding.read().map((value) => SOFT * value));
  return model;
}
