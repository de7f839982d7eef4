import { AttentionMechanism } from "../../src/models/attention-mechanism.js";
import { input, maybe, numberOf, type Parity, stateOf } from "./fixture.js";

const attentionMechanism: Parity = {
  files: /^attention-mechanism/,
  compute(fixture, runtime) {
    const dropout = numberOf(fixture, "dropout");
    const module = new AttentionMechanism(runtime, numberOf(fixture, "hidden"), { dropout })
      .load(stateOf(fixture))
      .train();
    const query = input(fixture, runtime, "query");
    const key = input(fixture, runtime, "key");
    const value = input(fixture, runtime, "value");
    const dropoutMask = maybe(fixture, runtime, "dropout_mask");
    const { output, weights } = module.forward(query, key, value, {
      mask: maybe(fixture, runtime, "mask"),
      ...(dropoutMask && { dropoutMask }),
    });
    return {
      results: { "output.y": output, ...(weights && { weights }) },
      inputs: { query, key, value },
      parameters: module.parameters(),
    };
  },
};

export const parities: Parity[] = [attentionMechanism];
