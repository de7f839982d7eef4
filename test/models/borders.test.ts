/**
 * Every system at the borders of what it takes: no rows, no positions, rows of padding alone, lengths
 * that lie, and NaN where nothing may look. Fresh memory of a test runtime holds NaN.
 */
import { describe, expect, test } from "vitest";
import { HeedError } from "../../src/errors.js";
import { AttentionMechanism } from "../../src/models/attention-mechanism.js";
import { ContextAwareEmbedding } from "../../src/models/context-aware-embedding.js";
import { LongRangeDependencyModel } from "../../src/models/long-range-dependency-model.js";
import { ParallelAttention } from "../../src/models/parallel-attention.js";
import { QuestionAnsweringModel } from "../../src/models/question-answering-model.js";
import { RecurrentModel } from "../../src/models/recurrent-model.js";
import { scaledDotProductAttention } from "../../src/models/scaled-dot-product-attention.js";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import type { Module } from "../../src/nn/module.js";
import { paddingMask } from "../../src/ops/mask.js";
import { reshape } from "../../src/ops/shape.js";
import { softmax } from "../../src/ops/softmax.js";
import { noGrad } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { withRuntime } from "../support/runtime.js";

const WIDTH = 4;
const VOCAB = 9;
const PADDING = 0;
const POSITIONS = 6;
const SIZES = { embedding: WIDTH, hidden: WIDTH, layers: 1, padding: PADDING };

/** A batch of rows [B, L] of which the first lengths[b] positions count. */
interface Batch {
  readonly runtime: Runtime;
  readonly batch: number;
  readonly length: number;
  readonly lengths: readonly number[];
  /** What stands behind the lengths, in inputs of floats. */
  readonly filling: number;
}

interface System {
  make(runtime: Runtime): Module | null;
  /** Its outputs by row of the batch: [B, …]. */
  run(model: never, batch: Batch): readonly Tensor[];
}

const lengthsOf = ({ runtime, lengths, batch }: Batch): Tensor =>
  tensor(runtime, Int32Array.from(lengths), [batch]);
const ids = ({ runtime, batch, length, lengths }: Batch): Tensor =>
  tensor(
    runtime,
    Int32Array.from({ length: batch * length }, (_, i) =>
      i % length < (lengths[Math.floor(i / length)] ?? 0) ? 4 + (i % length) : PADDING,
    ),
    [batch, length],
  );
const floats = ({ runtime, batch, length, lengths, filling }: Batch): Tensor =>
  tensor(
    runtime,
    Float32Array.from({ length: batch * length * WIDTH }, (_, i) => {
      const position = Math.floor(i / WIDTH);
      const shown = position % length < (lengths[Math.floor(position / length)] ?? 0);
      return shown ? Math.sin(i % (length * WIDTH)) : filling;
    }),
    [batch, length, WIDTH],
  );
const maskOf = (batch: Batch): Tensor =>
  reshape(paddingMask(lengthsOf(batch), batch.length), [batch.batch, 1, batch.length]);
const target = ({ runtime, batch }: Batch): Tensor =>
  tensor(runtime, new Int32Array(3 * batch).fill(5), [batch, 3]);
const encoderDecoder = (model: Seq2Seq | SummarizationModel, batch: Batch): readonly Tensor[] => {
  const { outputs, weights } = model.forward(ids(batch), lengthsOf(batch), target(batch));
  return [outputs, weights];
};

const SYSTEMS: Record<string, System> = {
  AttentionMechanism: {
    make: (runtime) => new AttentionMechanism(runtime, WIDTH).eval(),
    run: (model: AttentionMechanism, batch) => {
      const x = floats(batch);
      return [
        model.forward(floats({ ...batch, filling: 0 }), x, x, { mask: maskOf(batch) }).output,
      ];
    },
  },
  scaledDotProductAttention: {
    make: () => null,
    run: (_, batch) => {
      const x = floats(batch);
      const query = floats({ ...batch, filling: 0 });
      return [scaledDotProductAttention(query, x, x, { attnMask: maskOf(batch) }).output];
    },
  },
  ParallelAttention: {
    make: (runtime) => new ParallelAttention(runtime, WIDTH, 2),
    run: (model: ParallelAttention, batch) => [
      model.forward(floats(batch), { lengths: lengthsOf(batch) }),
    ],
  },
  ContextAwareEmbedding: {
    make: (runtime) =>
      new ContextAwareEmbedding(runtime, {
        vocab: VOCAB,
        embedding: WIDTH,
        padding: PADDING,
        senses: 2,
      }),
    run: (model: ContextAwareEmbedding, batch) => {
      const words = tensor(batch.runtime, new Int32Array(batch.batch).fill(4));
      const { output, weights } = model.forward(words, ids(batch));
      return [output, model.senseLogits(output), weights as Tensor];
    },
  },
  LongRangeDependencyModel: {
    make: (runtime) =>
      new LongRangeDependencyModel(runtime, {
        ...{ vocab: VOCAB, width: WIDTH, heads: 2, positions: POSITIONS, causal: true },
      }),
    run: (model: LongRangeDependencyModel, batch) => {
      const { output, weights } = model.withWeights(ids(batch), { lengths: lengthsOf(batch) });
      return [output, model.logits(output), weights];
    },
  },
  RecurrentModel: {
    make: (runtime) => new RecurrentModel(runtime, { vocab: VOCAB, width: WIDTH }),
    run: (model: RecurrentModel, batch) => [
      model.logits(model.forward(ids(batch), { lengths: lengthsOf(batch) })),
    ],
  },
  QuestionAnsweringModel: {
    make: (runtime) =>
      new QuestionAnsweringModel(runtime, {
        ...{ vocab: VOCAB, embedding: WIDTH, hidden: WIDTH, heads: 2 },
      }),
    run: (model: QuestionAnsweringModel, batch) => {
      const side = { ids: ids(batch), lengths: lengthsOf(batch) };
      const { start, end, weights } = model.withWeights(side, side);
      // −∞ behind a row's length.
      const probabilities = [start, end].map((logits) =>
        reshape(softmax(logits), [batch.batch, batch.length, 1]),
      );
      return [...probabilities, weights];
    },
  },
  Seq2Seq: {
    make: (runtime) =>
      new Seq2Seq(runtime, { ...SIZES, sourceVocab: VOCAB, targetVocab: VOCAB, dropout: 0 }),
    run: encoderDecoder,
  },
  SummarizationModel: {
    make: (runtime) => new SummarizationModel(runtime, { ...SIZES, vocab: VOCAB, dropout: 0 }),
    run: encoderDecoder,
  },
};

/** Runs a system on a batch; and then no memory is left. */
async function outputs(
  name: string,
  { filling = 0, ...given }: Partial<Batch> & Pick<Batch, "batch" | "length" | "lengths">,
): Promise<{ shape: readonly number[]; values: number[] }[]> {
  const system = SYSTEMS[name] as System;
  return withRuntime({}, (runtime) => {
    runtime.seed(5);
    const model = system.make(runtime);
    try {
      return runtime.scope(() =>
        noGrad(runtime, () =>
          system
            .run(model as never, { ...given, filling, runtime })
            .map((x) => ({ shape: x.shape, values: [...x.read()] })),
        ),
      );
    } finally {
      model?.dispose();
      expect(runtime.memory.usedBytes).toBe(0);
    }
  });
}

/** Values of the positions that count, of outputs [B, L, …]; all values of other outputs. */
function counted(
  { shape, values }: { shape: readonly number[]; values: number[] },
  row: number,
  lengths: readonly number[],
  length: number,
): number[] {
  const size = values.length / (shape[0] as number);
  const own = values.slice(row * size, (row + 1) * size);
  return shape[1] === length && shape.length === 3
    ? own.slice(0, ((lengths[row] as number) * size) / length)
    : own;
}

describe.each(Object.keys(SYSTEMS))("%s", (name) => {
  test.each([
    ["no rows", 0, 3, []],
    ["no positions", 2, 0, [0, 0]],
    ["neither", 0, 0, []],
  ])("takes %s, or says why not", async (_, batch, length, lengths) => {
    const found = await outputs(name, { batch, length, lengths }).catch((error: unknown) => error);
    if (found instanceof Error) {
      expect(found).toBeInstanceOf(HeedError);
      expect(found.message).toMatch(/: .* must .*, got /);
      return;
    }
    for (const { shape, values } of found as Awaited<ReturnType<typeof outputs>>) {
      expect(shape[0]).toBe(batch);
      for (const value of values) expect(value).not.toBeNaN();
    }
  });

  test("gives a row of padding alone finite numbers, and its neighbour what it gets alone", async () => {
    const both = await outputs(name, { batch: 2, length: 3, lengths: [0, 3] });
    const alone = await outputs(name, { batch: 1, length: 3, lengths: [3] });
    both.forEach((x, index) => {
      for (const value of x.values) expect(Number.isFinite(value)).toBe(true);
      expect(counted(x, 1, [0, 3], 3)).toEqual(counted(alone[index] as typeof x, 0, [3], 3));
    });
  });

  test("gives a padded row what it gets without padding", async () => {
    const padded = await outputs(name, { batch: 2, length: 5, lengths: [2, 5] });
    const bare = await outputs(name, { batch: 1, length: 2, lengths: [2] });
    padded.forEach((x, index) => {
      // Weights have a column for every position.
      if (x.shape.at(-1) !== 5)
        expect(counted(x, 0, [2, 5], 5)).toEqual(counted(bare[index] as typeof x, 0, [2], 2));
    });
  });

  test("is blind to what stands behind a row's length", async () => {
    const lengths = [2, 3];
    const plain = await outputs(name, { batch: 2, length: 3, lengths });
    for (const filling of [Number.NaN, Infinity, 1e30]) {
      const odd = await outputs(name, { batch: 2, length: 3, lengths, filling });
      odd.forEach((x, index) => {
        for (const row of [0, 1])
          expect(counted(x, row, lengths, 3)).toEqual(
            counted(plain[index] as typeof x, row, lengths, 3),
          );
      });
    }
  });

  // It is told no lengths.
  if (name !== "ContextAwareEmbedding")
    test("refuses a length outside of its row", async () => {
      for (const length of [4, -1, 2 ** 31 - 1, -(2 ** 31)])
        await expect(outputs(name, { batch: 2, length: 3, lengths: [3, length] })).rejects.toThrow(
          HeedError,
        );
    });
});
