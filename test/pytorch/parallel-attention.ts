import { ParallelAttention } from "../../src/models/parallel-attention.js";
import { input, maybe, numberOf, type Parity, stateOf } from "./fixture.js";

const parallelAttention: Parity = {
  files: /^parallel-attention/,
  compute(fixture, runtime) {
    const model = new ParallelAttention(
      runtime,
      numberOf(fixture, "width"),
      numberOf(fixture, "heads"),
    )
      .load(stateOf(fixture))
      .train();
    const x = input(fixture, runtime, "x");
    const lengths = maybe(fixture, runtime, "lengths");
    const causal = fixture.config.causal === true;
    const { output, weights } = model.withWeights(x, { lengths, causal });
    return {
      results: {
        "output.y": output,
        ...(fixture.tensors.has("weights") && { weights }),
      },
      inputs: { x },
      parameters: model.parameters(),
    };
  },
};

export const parities: Parity[] = [parallelAttention];
