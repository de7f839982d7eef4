import { expect, test } from "vitest";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import { soften } from "../../src/tasks/soften.js";
import { withRuntime } from "../support/runtime.js";

test("soften() scales the weights that are named, and leaves the others", () =>
  withRuntime({}, (runtime) => {
    const model = new SummarizationModel(runtime, {
      vocab: 9,
      embedding: 4,
      hidden: 4,
      padding: 0,
    });
    const before = new Map([...model.stateDict()].map(([name, x]) => [name, x.read().slice()]));
    soften(model, { "embedding.weight": 0.25, "none.weight": 7 });
    for (const [name, weight] of model.stateDict()) {
      // a quarter is exact in f32
      const share = name === "embedding.weight" ? 0.25 : 1;
      expect([...weight.read()]).toEqual(Array.from(before.get(name) ?? [], (x) => share * x));
    }
  }));
