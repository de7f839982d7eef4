import { ContextAwareEmbedding } from "../../src/models/context-aware-embedding.js";
import { crossEntropy } from "../../src/ops/cross-entropy.js";
import { type Computed, input, maybe, numberOf, type Parity, stateOf } from "./fixture.js";

const contextAwareEmbedding: Parity = {
  files: /^context-aware-embedding/,
  compute(fixture, runtime) {
    const { config } = fixture;
    const padding = numberOf(fixture, "padding");
    const module = new ContextAwareEmbedding(runtime, {
      vocab: numberOf(fixture, "vocabulary"),
      embedding: numberOf(fixture, "width"),
      context: numberOf(fixture, "context"),
      project: config.project === true,
      dropout: numberOf(fixture, "dropout"),
      ...(padding >= 0 && { padding }),
      ...(config.senses !== undefined && {
        senses: numberOf(fixture, "senses"),
        temperature: numberOf(fixture, "temperature"),
      }),
    })
      .load(stateOf(fixture))
      .train();
    const words = input(fixture, runtime, "words");
    const contexts = input(fixture, runtime, "contexts");
    const dropoutMask = maybe(fixture, runtime, "dropout_mask");
    const { output, weights } = module.forward(words, contexts, dropoutMask && { dropoutMask });
    const results: Record<string, Computed["results"][string]> = { "output.y": output };
    if (weights) results.weights = weights;
    const senses = maybe(fixture, runtime, "senses");
    if (senses) {
      const logits = module.senseLogits(output);
      results["output.logits"] = logits;
      results.loss = crossEntropy(logits, senses);
    }
    return { results, parameters: module.parameters() };
  },
};

export const parities: Parity[] = [contextAwareEmbedding];
