import { expect, test, vi } from "vitest";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import { backward } from "../../src/ops/tape.js";
import { AdamW } from "../../src/optim/adam-w.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { echo, guide } from "../../src/tasks/auxiliary-losses.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { padRows } from "../../src/train/batches.js";
import { expectClose } from "../support/compare.js";
import { withRuntime } from "../support/runtime.js";

const ROWS = [
  [2, 5, 9, 16, 4, 3],
  [2, 11, 3],
];

function asked(
  runtime: Runtime,
  weight = 1,
): { positions: number[]; tokens: number[]; loss: number; bare: number } {
  const sizes = { vocab: 20, embedding: 4, hidden: 4, padding: 0 };
  const model = new SummarizationModel(runtime, sizes);
  const { values, lengths, longest } = padRows(ROWS, 0);
  const ids = tensor(runtime, values, [ROWS.length, longest]);
  const predictions = model.predict(ids, tensor(runtime, lengths), ids);
  const echoed = vi.spyOn(model, "echoLoss");
  const loss = echo(model, predictions, ROWS, weight).item();
  const [, positions, tokens] = echoed.mock.calls[0] as [unknown, Tensor, Tensor];
  const [result] = echoed.mock.results as unknown as [{ value: Tensor }];
  const bare = result.value.item();
  return { positions: [...positions.read()], tokens: [...tokens.read()], loss, bare };
}

test("echo() asks for as many tokens of every row, and never for padding", () =>
  withRuntime({}, (runtime) => {
    const { positions, tokens } = asked(runtime);
    expect(positions).toHaveLength(16);
    positions.forEach((position, index) => {
      const [row, at] = [Math.floor(position / 6), position % 6];
      expect(row).toBe(index < 8 ? 0 : 1);
      expect(tokens[index]).toBe(ROWS[row]?.[at]);
    });
    expect(new Set(positions.slice(0, 8)).size).toBeGreaterThan(2);
  }));

test("echo() draws by the runtime's seed", () =>
  withRuntime({}, (runtime) => {
    const by = (seed: number): number[] => {
      runtime.seed(seed);
      return asked(runtime).positions;
    };
    expect(by(1)).toEqual(by(1));
    expect(by(1)).not.toEqual(by(2));
  }));

test("echo() weighs the loss", () =>
  withRuntime({}, (runtime) => {
    const { loss, bare } = asked(runtime, 0.25);
    expect(loss).toBe(Math.fround(bare * 0.25));
  }));

const SIZES = { sourceVocab: 20, targetVocab: 20, embedding: 8, hidden: 8, padding: 0 };

/** Predictions of ROWS from themselves: rows of 5 and 2 steps that look at 6 and 3 tokens. */
function predicted(runtime: Runtime) {
  const model = new Seq2Seq(runtime, { ...SIZES, bidirectional: true });
  const { values, lengths, longest } = padRows(ROWS, 0);
  const ids = tensor(runtime, values, [ROWS.length, longest]);
  return { model, predictions: model.predict(ids, tensor(runtime, lengths), ids) };
}

test("guide() is −log of the weight at a target's source, the mean of several, of all targets", () =>
  withRuntime({}, (runtime) => {
    const { model, predictions } = predicted(runtime);
    const links = [
      [
        { source: 2, target: 1 },
        { source: 1, target: 3 },
        { source: 4, target: 3 },
      ],
      [{ source: 2, target: 2 }],
    ];
    const loss = guide(predictions, links, 0.25);
    const weights = predictions.weights.read();
    // step t predicts target[t + 1]
    const cost = (row: number, target: number, source: number): number =>
      -Math.log(weights[(row * 5 + target - 1) * 6 + source] as number);
    const want = (cost(0, 1, 2) + (cost(0, 3, 1) + cost(0, 3, 4)) / 2 + cost(1, 2, 2)) / 3;
    // weights are about 1/6 and 1/3: the 1e-6 beside them is less than 1e-5 of each
    expectClose([loss.item()], [0.25 * want], 1e-5);
    backward(loss);
    const gradient = (name: string): number =>
      Math.max(...(model.parameters().get(name)?.grad?.read() ?? [0]).map(Math.abs));
    expect(gradient("decoder.attention.v.weight")).toBeGreaterThan(0);
    expect(gradient("encoder.rnn.weight_hh_l0")).toBeGreaterThan(0);
  }));

test("guide() brings the weights to where the links say", () =>
  withRuntime({}, (runtime) => {
    runtime.seed(5);
    const { model } = predicted(runtime);
    const optimizer = new AdamW(model.parameters().values(), { rate: 0.05 });
    const links = [
      [
        { source: 4, target: 1 },
        { source: 1, target: 4 },
      ],
      [{ source: 1, target: 2 }],
    ];
    const { values, lengths, longest } = padRows(ROWS, 0);
    for (let step = 0; step < 100; step++)
      runtime.scope(() => {
        const ids = tensor(runtime, values, [ROWS.length, longest]);
        backward(guide(model.predict(ids, tensor(runtime, lengths), ids), links, 1));
        optimizer.step();
        optimizer.zeroGrad();
      });
    const ids = tensor(runtime, values, [ROWS.length, longest]);
    const weights = model.predict(ids, tensor(runtime, lengths), ids).weights.read();
    for (const [row, target, source] of [
      [0, 1, 4],
      [0, 4, 1],
      [1, 2, 1],
    ] as const)
      expect(weights[(row * 5 + target - 1) * 6 + source]).toBeGreaterThan(0.9);
  }));

test("guide() of rows without links is nought", () =>
  withRuntime({}, (runtime) => {
    const { predictions } = predicted(runtime);
    expect(guide(predictions, [[], []], 1).item()).toBeCloseTo(0, 12);
  }));
