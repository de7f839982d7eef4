import { expect, test, vi } from "vitest";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { echo, look } from "../../src/tasks/auxiliary-losses.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { padRows } from "../../src/train/batches.js";
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

function looked(runtime: Runtime, weight = 1) {
  const sizes = { sourceVocab: 20, targetVocab: 20, embedding: 4, hidden: 4, padding: 0 };
  const model = new Seq2Seq(runtime, { ...sizes, bidirectional: true });
  const { values, lengths, longest } = padRows(ROWS, 0);
  const ids = tensor(runtime, values, [ROWS.length, longest]);
  const predictions = model.predict(ids, tensor(runtime, lengths), ids);
  const asked = vi.spyOn(model, "lookLoss");
  const loss = look(model, predictions, ROWS, weight).item();
  const [, positions, tokens] = asked.mock.calls[0] as [unknown, Tensor, Tensor];
  const [result] = asked.mock.results as unknown as [{ value: Tensor }];
  const bare = result.value.item();
  return { positions: [...positions.read()], tokens: [...tokens.read()], loss, bare };
}

test("look() asks for tokens that are predicted, of every row, and weighs the loss", () =>
  withRuntime({}, (runtime) => {
    const { positions, tokens, loss, bare } = looked(runtime, 0.25);
    expect(positions).toHaveLength(8);
    positions.forEach((position, index) => {
      const [row, step] = [Math.floor(position / 5), position % 5];
      expect(row).toBe(index < 4 ? 0 : 1);
      // step t predicts target[t + 1]
      expect(tokens[index]).toBe(ROWS[row]?.[step + 1]);
    });
    expect(loss).toBe(Math.fround(bare * 0.25));
    const by = (seed: number): number[] => {
      runtime.seed(seed);
      return looked(runtime).positions;
    };
    expect(by(1)).toEqual(by(1));
    expect(by(1)).not.toEqual(by(2));
  }));
