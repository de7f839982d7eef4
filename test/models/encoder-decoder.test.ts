import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, IndexError, ShapeError } from "../../src/errors.js";
import type { EncoderDecoder } from "../../src/models/encoder-decoder.js";
import { Seq2Seq, type Seq2SeqConfig } from "../../src/models/seq2seq.js";
import {
  type SummarizationConfig,
  SummarizationModel,
} from "../../src/models/summarization-model.js";
import { backward, noGrad } from "../../src/ops/tape.js";
import { AdamW } from "../../src/optim/adam-w.js";
import { clipGradientNorm } from "../../src/optim/clip.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { padRows } from "../../src/train/batches.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime, withRuntime } from "../support/runtime.js";

const VOCAB = 29;

interface Variant {
  /** Steps that training is followed for. */
  readonly steps?: number;
  build(on: Runtime, dropout?: number): EncoderDecoder;
}

const VARIANTS: readonly (readonly [name: string, variant: Variant])[] = [
  ["Seq2Seq of one layer", seq2seq({})],
  ["Seq2Seq of two layers", seq2seq({ layers: 2 })],
  [
    "Seq2Seq with a bidirectional encoder",
    { ...seq2seq({ layers: 2, bidirectional: true }), steps: 100 },
  ],
  ["Seq2Seq with a learned bridge", seq2seq({ bidirectional: true, bridge: "linear" })],
  ["SummarizationModel of one layer", { ...summarization({}), steps: 100 }],
  ["SummarizationModel of two layers", summarization({ layers: 2 })],
  ["SummarizationModel with a learned bridge", summarization({ layers: 2, bridge: "linear" })],
];
const SOURCES = [[5, 9, 16, 4, 3], [11, 7, 3], [3], [8, 5, 10, 5, 14, 3, 22]];
const TARGETS = [
  [2, 9, 18, 4, 3],
  [2, 12, 3],
  [2, 6, 6, 15, 10, 3],
  [2, 28, 27, 3],
];

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

function batch(
  rows: readonly number[][],
  on: Runtime = runtime,
): { ids: Tensor; lengths: Tensor; longest: number } {
  const { values, lengths, longest } = padRows(rows, 0);
  return {
    ids: tensor(on, values, [rows.length, longest]),
    lengths: tensor(on, lengths),
    longest,
  };
}

/** Row `row` of a tensor [B, …], its second axis cut to `length`. */
function rowOf(x: Tensor, row: number, length: number): number[] {
  const [, , width] = x.shape as [number, number, number];
  const size = x.size / (x.shape[0] as number);
  return [...x.read().slice(row * size, row * size + length * width)];
}

function seq2seq(options: Partial<Seq2SeqConfig>): Variant {
  const sizes = { sourceVocab: VOCAB, targetVocab: VOCAB, embedding: 12, hidden: 10, padding: 0 };
  return { build: (on, dropout = 0) => new Seq2Seq(on, { ...sizes, dropout, ...options }) };
}

function summarization(options: Partial<SummarizationConfig>): Variant {
  const sizes = { vocab: VOCAB, embedding: 12, hidden: 10, padding: 0 };
  return {
    build: (on, dropout = 0) => new SummarizationModel(on, { ...sizes, dropout, ...options }),
  };
}

function make({ build }: Variant, on: Runtime = runtime, dropout = 0): EncoderDecoder {
  on.seed(3);
  return build(on, dropout);
}

describe.each(VARIANTS)("%s", (_, variant) => {
  test("gives each row of a padded batch the bits it gives alone", () => {
    const model = make(variant);
    runtime.scope(() => {
      const source = batch(SOURCES);
      const target = batch(TARGETS);
      const all = model.predict(source.ids, source.lengths, target.ids);
      SOURCES.forEach((row, index) => {
        const own = TARGETS[index] as number[];
        const one = batch([row]);
        const alone = model.predict(one.ids, one.lengths, batch([own]).ids);
        const steps = own.length - 1;
        expectSameBits(
          rowOf(all.logits, index, steps),
          rowOf(alone.logits, 0, steps),
          `logits of row ${index}`,
        );
        for (let step = 0; step < steps; step++) {
          const padded = weightsAt(all.weights, index, step);
          const bare = weightsAt(alone.weights, 0, step);
          expectSameBits(padded.slice(0, row.length), bare, `weights of row ${index}`);
          expect(padded.slice(row.length).every((weight) => weight === 0)).toBe(true);
        }
      });
    });
    model.dispose();
  });

  test("predicts the same bits step by step as with teacher forcing in one go", () => {
    const model = make(variant);
    runtime.scope(() =>
      noGrad(runtime, () => {
        const source = batch(SOURCES);
        const target = batch(TARGETS);
        const forced = model.predict(source.ids, source.lengths, target.ids);
        const encoded = model.encode(source.ids, source.lengths);
        let { state } = encoded;
        for (let t = 0; t < target.longest - 1; t++) {
          const column = TARGETS.map((row) => row[t] ?? 0);
          const step = model.step(tensor(runtime, column, [4], "i32"), state, encoded.source);
          state = step.state;
          const logits = step.logits.read();
          TARGETS.forEach((__, row) => {
            const vocab = VOCAB;
            expectSameBits(
              logits.slice(row * vocab, (row + 1) * vocab),
              rowOf(forced.logits, row, t + 1).slice(t * vocab),
              `row ${row}, step ${t}`,
            );
          });
        }
      }),
    );
    model.dispose();
  });

  test("lets several beams share a row of the source, with the bits of a row each", () => {
    const model = make(variant);
    runtime.scope(() =>
      noGrad(runtime, () => {
        const shared = batch(SOURCES.slice(0, 2));
        const apart = batch([SOURCES[0], SOURCES[0], SOURCES[1], SOURCES[1]] as number[][]);
        const ids = tensor(runtime, [4, 5, 6, 7], [4], "i32");
        const one = model.encode(shared.ids, shared.lengths);
        const two = model.encode(apart.ids, apart.lengths);
        const beams = model.step(ids, two.state, one.source);
        const rows = model.step(ids, two.state, two.source);
        expect(beams.weights.shape).toEqual([2, 2, 5]);
        expectSameBits(beams.logits.read(), rows.logits.read(), "logits");
        expectSameBits(beams.weights.read(), rows.weights.read(), "weights");
      }),
    );
    model.dispose();
  });

  test("is trained to the same weights on one thread, two and three", async () => {
    const { steps = 20 } = variant;
    const trained = [];
    for (const threads of [1, 2, 3])
      trained.push(await withRuntime({ threads }, (on) => train(make(variant, on, 0.1), steps)));
    const [first, ...others] = trained as [
      Map<string, Float32Array>,
      ...Map<string, Float32Array>[],
    ];
    for (const other of others)
      for (const [name, values] of first)
        expectSameBits(other.get(name) ?? [], values, `${name} after ${steps} steps`);
  });

  test("forward() starts with a step of zeros", () => {
    const model = make(variant);
    runtime.scope(() => {
      const source = batch(SOURCES);
      const { outputs } = model.forward(source.ids, source.lengths, batch(TARGETS).ids);
      expect(outputs.shape).toEqual([4, 6, 29]);
      for (let row = 0; row < 4; row++)
        expect(rowOf(outputs, row, 1).every((value) => value === 0)).toBe(true);
    });
    model.dispose();
  });

  test("mixes true and own tokens by the seed, the same for one seed", () => {
    const model = make(variant);
    const run = (seed: number): Float32Array =>
      runtime.scope(() => {
        const source = batch(SOURCES);
        const options = { teacherForcing: 0.5, seed };
        const { logits } = model.predict(source.ids, source.lengths, batch(TARGETS).ids, options);
        return logits.read() as Float32Array;
      });
    expectSameBits(run(1), run(1));
    const others = [2, 3, 4, 5].filter((seed) => run(seed).some((y, i) => y !== run(1)[i]));
    expect(others.length, "seeds that choose otherwise").toBeGreaterThan(0);
    model.dispose();
  });

  test("drops elements in training only, by the runtime's seed", () => {
    const model = make(variant, runtime, 0.3);
    const loss = (): number =>
      runtime.scope(() => {
        const source = batch(SOURCES);
        const target = batch(TARGETS);
        const { logits } = model.predict(source.ids, source.lengths, target.ids);
        return model.loss(logits, target.ids).item();
      });
    expect(loss()).toBe(loss());
    model.train();
    runtime.seed(9);
    const first = loss();
    expect(loss(), "the next masks").not.toBe(first);
    runtime.seed(9);
    expect(loss()).toBe(first);
    model.dispose();
  });

  test("loss() leaves padding out", () => {
    const model = make(variant);
    runtime.scope(() => {
      const source = batch(SOURCES.slice(0, 1));
      const bare = batch([[2, 9, 3]]).ids;
      const padded = tensor(runtime, [2, 9, 3, 0, 0], [1, 5], "i32");
      const [short, long] = [bare, padded].map((target) => {
        const { logits } = model.predict(source.ids, source.lengths, target);
        return model.loss(logits, target).item();
      });
      expect(long).toBe(short);
    });
    model.dispose();
  });

  test("refuses what does not fit, with one clear error each", () => {
    const model = make(variant);
    runtime.scope(() => {
      const { ids, lengths } = batch(SOURCES);
      const target = batch(TARGETS).ids;
      const floats = tensor(runtime, new Float32Array(ids.size), ids.shape);
      expect(() => model.predict(floats, lengths, target)).toThrow(DTypeError);
      expect(() => model.predict(ids, target, target)).toThrow(ShapeError);
      const fewer = batch(TARGETS.slice(1)).ids;
      expect(() => model.predict(ids, lengths, fewer)).toThrow(
        "target must be [4, any], got [3, 6]",
      );
      const start = tensor(runtime, [2, 2, 2, 2], [4, 1], "i32");
      expect(() => model.predict(ids, lengths, start)).toThrow("a start token and one more");
      const strange = tensor(runtime, ids.read().fill(VOCAB), ids.shape);
      expect(() => model.predict(strange, lengths, target)).toThrow(IndexError);
      const long = tensor(runtime, [5, 3, 1, 8], [4], "i32");
      expect(() => model.predict(ids, long, target)).toThrow(IndexError);
      for (const teacherForcing of [-0.1, 1.1, Number.NaN])
        expect(() => model.predict(ids, lengths, target, { teacherForcing })).toThrow(
          `teacherForcing must lie in 0 … 1, got ${teacherForcing}`,
        );
    });
    model.dispose();
  });

  test("leaves no memory behind, and asks for no more in a steady loop", () => {
    const { memory } = runtime;
    const before = memory.usedBytes;
    const model = make(variant);
    const { usedBytes } = memory;
    const step = (): void =>
      runtime.scope(() =>
        noGrad(runtime, () => {
          const source = batch(SOURCES);
          const encoded = model.encode(source.ids, source.lengths);
          model.step(tensor(runtime, [2, 2, 2, 2], [4], "i32"), encoded.state, encoded.source);
        }),
      );
    step();
    const { capacityBytes, peakBytes, usedBytes: warm } = memory;
    for (let i = 0; i < 50; i++) step();
    expect(memory.capacityBytes).toBe(capacityBytes);
    expect(memory.peakBytes).toBe(peakBytes);
    expect(memory.usedBytes, "packed weights stay, nothing else").toBe(warm);
    expect(warm).toBeGreaterThanOrEqual(usedBytes);
    model.dispose();
    expect(memory.usedBytes).toBe(before);
  });
});

/** Attention weights [B, T, S] of one row and step. */
function weightsAt(weights: Tensor, row: number, step: number): number[] {
  const [, steps, source] = weights.shape as [number, number, number];
  const begin = (row * steps + step) * source;
  return [...weights.read().slice(begin, begin + source)];
}

/** Some steps on random sentences, with dropout's, forcing's and clipping's part in it. */
function train(model: EncoderDecoder, steps: number): Map<string, Float32Array> {
  const { runtime: on } = model;
  const random = seeded(5);
  const optimizer = new AdamW(model.parameters(), { rate: 3e-3 });
  model.train();
  const sentence = (): number[] =>
    Array.from({ length: 2 + random.integer(6) }, () => 1 + random.integer(VOCAB - 1));
  for (let step = 0; step < steps; step++) {
    const rows = Array.from({ length: 3 }, sentence);
    const wanted = rows.map(sentence);
    on.scope(() => {
      const source = batch(rows, on);
      const target = batch(wanted, on).ids;
      const teacherForcing = step % 2 ? 1 : 0.5;
      const { logits } = model.predict(source.ids, source.lengths, target, { teacherForcing });
      optimizer.zeroGrad();
      backward(model.loss(logits, target, 0.1));
      clipGradientNorm(model.parameters().values(), 1);
      optimizer.step();
    });
  }
  const state = new Map(
    [...model.stateDict()].map(([name, x]) => [name, x.read() as Float32Array] as const),
  );
  optimizer.dispose();
  model.dispose();
  return state;
}
