import { describe, expect, test } from "vitest";
import { Progress } from "../../src/cli/progress.js";
import type { TrainingEvent } from "../../src/train/trainer.js";

const STEP: TrainingEvent = {
  kind: "step",
  epoch: 0,
  batch: 3,
  batches: 20,
  step: 3,
  skipped: 0,
  loss: 2.34567,
  validation: null,
  best: false,
};

function written(isTTY: boolean, ...events: TrainingEvent[]): string {
  let text = "";
  const write = (part: string): void => {
    text += part;
  };
  const progress = new Progress({ isTTY, write });
  for (const event of events) progress.training(event);
  return text;
}

describe("Progress", () => {
  test("tells where the training is", () => {
    expect(written(false, STEP)).toMatch(/^epoch 1, 3 of 20: loss 2\.3457, \d+ ms a step\n$/);
  });

  test("tells the steps that were skipped", () => {
    expect(written(false, { ...STEP, skipped: 2 })).toMatch(/a step, 2 skipped \(not finite\)\n$/);
  });

  test("tells each validation", () => {
    const validated = { ...STEP, kind: "validated", validation: 1.5, best: true } as const;
    expect(written(false, validated, { ...validated, best: false, skipped: 1 })).toMatch(
      /^epoch 1: loss 2\.3457, validation 1\.5000 \(best so far\), 0\.0 min\nepoch 1: [^\n]+ min, 1 skipped \(not finite\)\n$/,
    );
  });

  test("stays on one line of a terminal, and does not fill a log", () => {
    const shown = written(true, STEP, STEP);
    expect(shown.startsWith("\r\u001b[Kepoch 1, 3 of 20: ")).toBe(true);
    expect(shown).not.toContain("\n");
    expect(written(false, STEP, STEP).split("\n")).toHaveLength(2);
  });
});
