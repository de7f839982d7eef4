import {
  type PaddedIds,
  QuestionAnsweringModel,
} from "../../src/models/question-answering-model.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { type Fixture, input, numberOf, type Parity, stateOf } from "./fixture.js";

const questionAnswering: Parity = {
  files: /^question-answering/,
  compute(fixture, runtime) {
    const { attends, features } = fixture.config;
    const model = new QuestionAnsweringModel(runtime, {
      vocab: numberOf(fixture, "vocab"),
      embedding: numberOf(fixture, "embedding"),
      hidden: numberOf(fixture, "hidden"),
      heads: numberOf(fixture, "heads"),
      layers: numberOf(fixture, "layers"),
      attends: attends as "context" | "question",
      features: features as "joined" | "bare",
    })
      .load(stateOf(fixture))
      .train();
    const question = padded(fixture, runtime, "question");
    const context = {
      ...padded(fixture, runtime, "context"),
      marks: Array.from({ length: numberOf(fixture, "marks") }, (_, index) =>
        input(fixture, runtime, `marks_${index}`),
      ),
    };
    const lengths = (attends === "question" ? question : context).lengths;

    const { start, end, weights } = model.withWeights(question, context);
    const heads = model.withWeights(question, context, { average: false });
    return {
      results: {
        "output.start": withoutPadding(start, lengths),
        "output.end": withoutPadding(end, lengths),
        weights,
        head_weights: heads.weights,
        loss: model.loss(
          { start, end },
          input(fixture, runtime, "starts"),
          input(fixture, runtime, "ends"),
        ),
      },
      parameters: model.parameters(),
    };
  },
};

function padded(fixture: Fixture, runtime: Runtime, name: string): PaddedIds {
  return {
    ids: input(fixture, runtime, name),
    lengths: input(fixture, runtime, `${name}_lengths`),
  };
}

/** Logits with 0 for the −∞ that must stand behind each length, as the fixtures have them. */
function withoutPadding(logits: Tensor, lengths: Tensor): number[] {
  const [, width] = logits.shape as [number, number];
  const shown = lengths.read();
  return Array.from(logits.read(), (logit, index) => {
    if (index % width < (shown[Math.floor(index / width)] as number)) return logit;
    if (logit !== -Infinity) throw new Error(`padding must have the logit −∞, got ${logit}`);
    return 0;
  });
}

export const parities: Parity[] = [questionAnswering];
