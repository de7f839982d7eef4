import { Seq2Seq } from "../../src/models/seq2seq.js";
import { argmax } from "../../src/ops/select.js";
import { slice } from "../../src/ops/shape.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { input, numberOf, type Parity, stateOf } from "./fixture.js";
import { stack } from "./lstm.js";

const seq2seq: Parity = {
  files: /^seq2seq-/,
  compute(fixture, runtime) {
    const model = new Seq2Seq(runtime, {
      sourceVocab: numberOf(fixture, "source"),
      targetVocab: numberOf(fixture, "target"),
      embedding: numberOf(fixture, "width"),
      hidden: numberOf(fixture, "hidden"),
      layers: numberOf(fixture, "layers"),
      bidirectional: fixture.config.bidirectional === true,
      padding: numberOf(fixture, "pad"),
    })
      .load(stateOf(fixture))
      .train();
    const source = input(fixture, runtime, "source");
    const lengths = input(fixture, runtime, "lengths");
    const target = input(fixture, runtime, "target");
    const teacherForcing = numberOf(fixture, "teacher_forcing");

    const { outputs, weights } = model.forward(source, lengths, target, { teacherForcing });
    const logits = slice(outputs, 1, 1, outputs.shape[1] as number);
    const encoded = model.encode(source, lengths);
    return {
      results: {
        "output.logits": outputs,
        "output.fed": fedTokens(target, logits, teacherForcing === 1),
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

/** What each step was fed: the target, or after the first step the best token of the step before. */
function fedTokens(target: Tensor, logits: Tensor, forced: boolean): number[] {
  const [batch, steps] = [logits.shape[0] as number, logits.shape[1] as number];
  const truth = target.read();
  const best = argmax(logits).read();
  return Array.from({ length: batch * steps }, (_, index) => {
    const [row, step] = [Math.floor(index / steps), index % steps];
    const own = forced || step === 0;
    return (own ? truth[row * (steps + 1) + step] : best[row * steps + step - 1]) as number;
  });
}

export const parities: Parity[] = [seq2seq];
