import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import {
  type LongRangeConfig,
  LongRangeDependencyModel,
} from "../../src/models/long-range-dependency-model.js";
import { backward } from "../../src/ops/tape.js";
import { AdamW } from "../../src/optim/adam-w.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { padRows } from "../../src/train/batches.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { testRuntime, withRuntime } from "../support/runtime.js";

const SIZES = { vocab: 17, width: 12, heads: 3, positions: 8 };
const ROWS = [
  [5, 9, 16, 4, 3, 7],
  [11, 7, 3],
  [8, 5, 10, 5, 14],
];

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

function make(config: LongRangeConfig = SIZES, on: Runtime = runtime): LongRangeDependencyModel {
  on.seed(3);
  return new LongRangeDependencyModel(on, config);
}

function batch(rows: readonly number[][], on: Runtime = runtime): { ids: Tensor; lengths: Tensor } {
  const { values, lengths, longest } = padRows(rows, 0);
  return { ids: tensor(on, values, [rows.length, longest]), lengths: tensor(on, lengths) };
}

/** What the model makes of one row alone. */
function alone(model: LongRangeDependencyModel, row: readonly number[]): number[] {
  return model.runtime.scope(() => [...model.forward(batch([[...row]], model.runtime).ids).read()]);
}

function weight(model: LongRangeDependencyModel, name: string): Tensor {
  return model.stateDict().get(name) as Tensor;
}

describe("LongRangeDependencyModel", () => {
  test("names its tensors as a PyTorch user does", () => {
    const model = make();
    const shapes = Object.fromEntries([...model.stateDict()].map(([name, x]) => [name, x.shape]));
    expect(shapes).toEqual({
      "embedding.weight": [17, 12],
      "position_encoding.pe": [8, 12],
      "attention.q_linear.weight": [12, 12],
      "attention.q_linear.bias": [12],
      "attention.k_linear.weight": [12, 12],
      "attention.k_linear.bias": [12],
      "attention.v_linear.weight": [12, 12],
      "attention.v_linear.bias": [12],
      "attention.out.weight": [12, 12],
      "attention.out.bias": [12],
      "norm.weight": [12],
      "norm.bias": [12],
    });
    expect(model.parameters().has("position_encoding.pe"), "a buffer is no parameter").toBe(false);
    model.dispose();
    const large = make({ vocab: 2, width: 2, heads: 1 });
    expect(weight(large, "position_encoding.pe").shape).toEqual([5000, 2]);
    large.dispose();
  });

  test.each([
    ["looking both ways", SIZES],
    ["causal", { ...SIZES, causal: true }],
    ["of odd width", { ...SIZES, width: 9 }],
  ])("gives each row of a padded batch the bits it gives alone, %s", (_, config) => {
    const model = make(config);
    runtime.scope(() => {
      const { ids, lengths } = batch(ROWS);
      const { output, weights } = model.withWeights(ids, { lengths });
      expectSameBits(model.forward(ids, { lengths }).read(), output.read(), "without weights");
      const values = output.read();
      ROWS.forEach((row, index) => {
        const from = index * 6 * config.width;
        const mine = values.slice(from, from + row.length * config.width);
        expectSameBits(mine, alone(model, row), `row ${index}`);
        for (let head = 0; head < 3; head++) {
          const padding = weights
            .read()
            .slice((index * 3 + head) * 36, (index * 3 + head + 1) * 36)
            .filter((__, at) => at % 6 >= row.length);
          expect(padding.every((w) => w === 0)).toBe(true);
        }
      });
    });
    model.dispose();
  });

  test("adds row t of the table it was given to position t", () => {
    const model = make();
    const row = [5, 9, 16];
    const before = alone(model, row);
    const pe = weight(model, "position_encoding.pe");
    const table = pe.read();
    // Row 3 and those behind it are not read.
    pe.write(table.map((value, index) => (index < 36 ? value : Number.NaN)));
    expectSameBits(alone(model, row), before);
    // The embedding of position 1 moved into the table gives the same sum.
    const embedding = weight(model, "embedding.weight");
    const vectors = embedding.read();
    pe.write(
      table.map((value, i) =>
        i >= 12 && i < 24 ? value + (vectors[9 * 12 + i - 12] as number) : value,
      ),
    );
    embedding.write(vectors.map((value, i) => (Math.floor(i / 12) === 9 ? 0 : value)));
    expectClose(alone(model, row), before, 1e-6); // one rounding of the sum, then a norm
    model.dispose();
  });

  test("adds what it attended to, and norms the sum", () => {
    const model = make();
    for (const name of ["attention.out.weight", "attention.out.bias"]) {
      const x = weight(model, name);
      x.write(new Float32Array(x.size));
    }
    const [embedding, pe] = ["embedding.weight", "position_encoding.pe"].map((name) =>
      weight(model, name).read(),
    ) as [Float32Array, Float32Array];
    const wanted = [5, 9, 16].flatMap((id, t) => {
      const sum = Array.from(
        { length: 12 },
        (_, j) => (embedding[id * 12 + j] as number) + (pe[t * 12 + j] as number),
      );
      const mean = sum.reduce((all, value) => all + value / 12, 0);
      const variance = sum.reduce((all, value) => all + (value - mean) ** 2 / 12, 0);
      return sum.map((value) => (value - mean) / Math.sqrt(variance + 1e-5));
    });
    expectClose(alone(model, [5, 9, 16]), wanted, 1e-6); // a norm of twelve numbers
    model.dispose();
  });

  test("never looks ahead when causal, and does otherwise", () => {
    for (const causal of [true, false]) {
      const model = make({ ...SIZES, causal });
      const short = alone(model, [5, 9, 16]);
      const long = alone(model, [5, 9, 16, 4, 3]).slice(0, 36);
      if (causal) expectSameBits(long, short);
      else expect(long).not.toEqual(short);
      model.dispose();
    }
  });

  test("scores tokens by the embedding: logits = output·embeddingᵀ", () => {
    const model = make();
    runtime.scope(() => {
      const output = model.forward(batch(ROWS).ids);
      const [y, table] = [output.read(), weight(model, "embedding.weight").read()];
      const wanted = Array.from({ length: 18 * 17 }, (_, index) => {
        const [row, token] = [Math.floor(index / 17), index % 17];
        let sum = 0;
        for (let j = 0; j < 12; j++)
          sum += (y[row * 12 + j] as number) * (table[token * 12 + j] as number);
        return sum;
      });
      const logits = model.logits(output);
      expect(logits.shape).toEqual([3, 6, 17]);
      expectClose(logits.read(), wanted, 1e-6); // sums of twelve products
    });
    model.dispose();
  });

  test("nextTokenLoss() is the mean over the tokens that have one before, padding left out", () => {
    const model = make({ ...SIZES, causal: true });
    runtime.scope(() => {
      const { ids, lengths } = batch(ROWS);
      const loss = model.nextTokenLoss(ids, lengths, 0).item();
      let total = 0;
      for (const row of ROWS) {
        const one = batch([row]);
        const logits = model.logits(model.forward(one.ids)).read();
        for (let t = 1; t < row.length; t++) {
          const scores = [...logits.slice((t - 1) * 17, t * 17)];
          const sum = scores.reduce((all, score) => all + Math.exp(score), 0);
          total += Math.log(sum) - (scores[row[t] as number] as number);
        }
      }
      expectClose([loss], [total / 11], 1e-6);
    });
    model.dispose();
  });

  test("learns a sentence by heart", () => {
    const model = make({ ...SIZES, causal: true });
    const optimizer = new AdamW(model.parameters(), { rate: 0.02 });
    const step = (): number =>
      runtime.scope(() => {
        const { ids, lengths } = batch(ROWS);
        const loss = model.nextTokenLoss(ids, lengths, 0);
        optimizer.zeroGrad();
        backward(loss);
        optimizer.step();
        return loss.item();
      });
    let loss = step();
    expect(loss, "ln 17 is a guess").toBeGreaterThan(2);
    for (let i = 0; i < 150; i++) loss = step();
    expect(loss).toBeLessThan(0.1);
    optimizer.dispose();
    model.dispose();
  });

  test("is trained to the same bits on one thread, two and three", async () => {
    const trained = (on: Runtime): Float32Array[] => {
      const model = make({ ...SIZES, causal: true }, on);
      const optimizer = new AdamW(model.parameters(), { rate: 0.01 });
      for (let i = 0; i < 5; i++)
        on.scope(() => {
          const { ids, lengths } = batch(ROWS, on);
          optimizer.zeroGrad();
          backward(model.nextTokenLoss(ids, lengths, 0));
          optimizer.step();
        });
      const state = [...model.stateDict().values()].map((x) => x.read() as Float32Array);
      optimizer.dispose();
      model.dispose();
      return state;
    };
    const one = trained(runtime);
    for (const threads of [2, 3]) {
      const more = await withRuntime({ threads }, trained);
      one.forEach((values, index) => {
        expectSameBits(more[index] ?? [], values, `tensor ${index} on ${threads} threads`);
      });
    }
  });

  test("leaves no memory behind", () => {
    const before = runtime.memory.usedBytes;
    const model = make({ ...SIZES, causal: true });
    runtime.scope(() => {
      const { ids, lengths } = batch(ROWS);
      backward(model.nextTokenLoss(ids, lengths, 0));
    });
    model.dispose();
    expect(runtime.memory.usedBytes).toBe(before);
  });

  test("refuses what does not fit, with one clear error each", () => {
    expect(() => make({ ...SIZES, heads: 5 })).toThrow("got width 12 and 5 heads");
    const model = make();
    const causal = make({ ...SIZES, causal: true });
    runtime.scope(() => {
      const long = batch([[1, 2, 3, 4, 5, 6, 7, 8, 9]]);
      expect(() => model.forward(long.ids)).toThrow(
        "must be at most as long as the table of 8 positions, got 9",
      );
      const { ids, lengths } = batch(ROWS);
      expect(() => model.forward(tensor(runtime, [1, 2], [1, 2]))).toThrow(DTypeError);
      expect(() => model.forward(tensor(runtime, [1, 2], [2], "i32"))).toThrow(ShapeError);
      expect(() => model.forward(tensor(runtime, [17], [1, 1], "i32"))).toThrow(IndexError);
      expect(() => model.forward(ids, { lengths: batch([[1]]).lengths })).toThrow(
        "lengths must be [3], got [1]",
      );
      expect(() => model.nextTokenLoss(ids, lengths, 0)).toThrow(TypeError);
      const one = batch([[1]]);
      expect(() => causal.nextTokenLoss(one.ids, one.lengths, 0)).toThrow(
        "a sequence must have two tokens to predict one, got ids [1, 1]",
      );
    });
    model.dispose();
    causal.dispose();
  });
});
