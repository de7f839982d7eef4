import { expect } from "vitest";
import type { Module } from "../../src/nn/module.js";

/**
 * −ln softmax(bias + weight · [0 ; context])[token] in f64: an output layer's cost of a token where
 * the decoder's state, which stands before the context, is nought.
 */
export function contextCost(
  { weight, bias }: { readonly weight: Float32Array; readonly bias: Float32Array },
  context: readonly number[],
  token: number,
): number {
  const width = weight.length / bias.length;
  const before = width - context.length;
  const logits = Array.from(bias, (start, id) =>
    context.reduce((sum, x, i) => sum + x * (weight[id * width + before + i] as number), start),
  );
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  return Math.log(total) - (logits[token] as number);
}

/** Each of these parameters has a gradient that is not nought. */
export function expectGradients(model: Module, names: readonly string[]): void {
  for (const name of names) {
    const gradient = model.parameters().get(name)?.grad?.read() ?? [];
    expect(
      [...gradient].some((x) => x !== 0),
      name,
    ).toBe(true);
  }
}
