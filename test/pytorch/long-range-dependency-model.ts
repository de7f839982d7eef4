import { LongRangeDependencyModel } from "../../src/models/long-range-dependency-model.js";
import { crossEntropy } from "../../src/ops/cross-entropy.js";
import { full } from "../../src/tensor/create.js";
import { input, maybe, numberOf, type Parity, stateOf } from "./fixture.js";

const longRange: Parity = {
  files: /^long-range/,
  compute(fixture, runtime) {
    const causal = fixture.config.causal === true;
    const model = new LongRangeDependencyModel(runtime, {
      vocab: numberOf(fixture, "vocab"),
      width: numberOf(fixture, "width"),
      heads: numberOf(fixture, "heads"),
      positions: numberOf(fixture, "positions"),
      causal,
    })
      .load(stateOf(fixture))
      .train();
    const ids = input(fixture, runtime, "ids");
    const lengths = maybe(fixture, runtime, "lengths");
    const ignore = numberOf(fixture, "pad");

    const { output, weights } = model.withWeights(ids, { lengths });
    const logits = model.logits(output);
    const [batch, length] = ids.shape as [number, number];
    const loss = causal
      ? model.nextTokenLoss(ids, lengths ?? full(runtime, [batch], length, "i32"), ignore)
      : crossEntropy(logits, ids, { ignore });
    return {
      results: { "output.y": output, "output.logits": logits, weights, loss },
      // The table of positions too, so that it is freed; it gets no gradient.
      parameters: model.stateDict(),
    };
  },
};

export const parities: Parity[] = [longRange];
