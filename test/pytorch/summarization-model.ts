import { SummarizationModel } from "../../src/models/summarization-model.js";
import { input, numberOf, type Parity, stateOf } from "./fixture.js";
import { stack } from "./lstm.js";

const summarization: Parity = {
  files: /^summarization-/,
  compute(fixture, runtime) {
    const model = new SummarizationModel(runtime, {
      vocab: numberOf(fixture, "vocabulary"),
      embedding: numberOf(fixture, "width"),
      hidden: numberOf(fixture, "hidden"),
      layers: numberOf(fixture, "layers"),
      bridge: fixture.config.bridge === "linear" ? "linear" : "sum",
      padding: numberOf(fixture, "pad"),
    })
      .load(stateOf(fixture))
      .train();
    const source = input(fixture, runtime, "source");
    const lengths = input(fixture, runtime, "lengths");
    const target = input(fixture, runtime, "target");
    const teacherForcing = numberOf(fixture, "teacher_forcing");

    const { outputs, weights } = model.forward(source, lengths, target, { teacherForcing });
    const { logits } = model.predict(source, lengths, target, { teacherForcing });
    const encoded = model.encode(source, lengths);
    return {
      results: {
        "output.logits": outputs,
        "output.encoded": encoded.source.values,
        "output.hidden": stack(encoded.state.hidden),
        "output.cell": stack(encoded.state.cell),
        weights,
        loss: model.loss(logits, target),
      },
      parameters: model.parameters(),
    };
  },
};

export const parities: Parity[] = [summarization];
