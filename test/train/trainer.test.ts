import { afterEach, describe, expect, test, vi } from "vitest";
import { StateError } from "../../src/errors.js";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { record } from "../../src/ops/tape.js";
import { AdamW } from "../../src/optim/adam-w.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { full, tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { batchesByLength, padRows } from "../../src/train/batches.js";
import {
  type LossInParts,
  type TrainingEvent,
  type TrainingOptions,
  type TrainingState,
  train,
} from "../../src/train/trainer.js";
import { expectSameBits } from "../support/compare.js";
import { everyTurn, rushClock } from "../support/event-loop.js";
import { testRuntime, withRuntime } from "../support/runtime.js";
import { TOY_SIZES, toyPairs } from "../support/toy-language.js";

const PAIRS = toyPairs(40);
const BATCHES = 5;
const STOPPED = new Error("stopped");

afterEach(() => vi.restoreAllMocks());

interface Run {
  readonly model: Seq2Seq;
  readonly optimizer: AdamW;
  readonly options: TrainingOptions<number[]>;
}

/** A run over the toy language with dropout, so that a wrong seed shows in the weights. */
function makeRun(runtime: Runtime, given: Partial<TrainingOptions<number[]>> = {}): Run {
  runtime.seed(5);
  const model = new Seq2Seq(runtime, { ...TOY_SIZES, dropout: 0.2 });
  const optimizer = new AdamW(model.parameters(), { rate: 0.01 });
  const options: TrainingOptions<number[]> = {
    model,
    optimizer,
    epochs: 3,
    batches: (epoch) =>
      batchesByLength(
        PAIRS.map(({ source }) => source.length),
        8,
        epoch,
      ),
    loss: (batch) => lossOfPairs(model, batch),
    rate: (step, total) => 0.01 * (1 - step / total),
    ...given,
  };
  return { model, optimizer, options };
}

function* lossOfPairs(model: Seq2Seq, batch: readonly number[]): LossInParts {
  const { runtime } = model;
  const side = (name: "source" | "target"): { ids: Tensor; lengths: Tensor } => {
    const { values, lengths, longest } = padRows(
      batch.map((index) => PAIRS[index]?.[name] ?? []),
      0,
    );
    return {
      ids: tensor(runtime, values, [batch.length, longest]),
      lengths: tensor(runtime, lengths),
    };
  };
  const source = side("source");
  const target = side("target").ids;
  const { logits } = yield* model.predictInParts(source.ids, source.lengths, target, {
    teacherForcing: 0.7,
  });
  return model.loss(logits, target);
}

/** Frees what a run held; its weights are returned. */
function finish({ model, optimizer }: Run): Map<string, Float32Array> {
  const weights = new Map(
    [...model.stateDict()].map(([name, weight]) => [name, weight.read() as Float32Array]),
  );
  optimizer.dispose();
  model.dispose();
  return weights;
}

async function trained(
  runtime: Runtime,
  given?: Partial<TrainingOptions<number[]>>,
): Promise<Map<string, Float32Array>> {
  const run = makeRun(runtime, given);
  await train(run.options);
  return finish(run);
}

/** Trains in sittings: each is broken off by `stop`, and the next goes on from its checkpoint. */
async function trainedInSittings(
  runtime: Runtime,
  given: Partial<TrainingOptions<number[]>>,
  stop: (controller: AbortController, sitting: number) => Partial<TrainingOptions<number[]>>,
): Promise<{ weights: Map<string, Float32Array>; sittings: number }> {
  let resume: TrainingState | null = null;
  for (let sitting = 1; ; sitting++) {
    const controller = new AbortController();
    const run = makeRun(runtime, {
      ...given,
      ...stop(controller, sitting),
      resume,
      checkpoint: async (state) => {
        resume = state;
      },
      signal: controller.signal,
    });
    try {
      await train(run.options);
      return { weights: finish(run), sittings: sitting };
    } catch (error) {
      if (error !== STOPPED) throw error;
      finish(run);
    }
  }
}

function expectSameWeights(
  actual: ReadonlyMap<string, Float32Array>,
  expected: ReadonlyMap<string, Float32Array>,
): void {
  expect([...actual.keys()]).toEqual([...expected.keys()]);
  for (const [name, values] of expected) expectSameBits(actual.get(name) ?? [], values, name);
}

describe("train()", () => {
  test("goes on to the same bits when it is stopped after every few steps", async () => {
    await withRuntime({}, async (runtime) => {
      const whole = await trained(runtime);
      for (const every of [1, 2, 4, 7]) {
        const { weights, sittings } = await trainedInSittings(runtime, {}, (controller) => {
          let steps = 0;
          return {
            onEvent: () => {
              if (++steps === every) controller.abort(STOPPED);
            },
          };
        });
        expect(sittings).toBeGreaterThanOrEqual(Math.floor((3 * BATCHES) / every));
        expectSameWeights(weights, whole);
      }
    });
  });

  test("goes on to the same bits after an error broke in", async () => {
    await withRuntime({}, async (runtime) => {
      const whole = await trained(runtime);
      const { weights, sittings } = await trainedInSittings(runtime, {}, () => {
        let steps = 0;
        return {
          onEvent: () => {
            if (++steps === 3) throw STOPPED;
          },
        };
      });
      expect(sittings).toBe(Math.floor((3 * BATCHES) / 3) + 1);
      expectSameWeights(weights, whole);
    });
  });

  test("throws what broke in, also when no checkpoint can be kept", async () => {
    await withRuntime({}, async (runtime) => {
      const run = makeRun(runtime, {
        onEvent: () => {
          throw STOPPED;
        },
        checkpoint: async () => {
          throw new Error("the disk is full");
        },
      });
      await expect(train(run.options)).rejects.toBe(STOPPED);
      finish(run);
    });
  });

  test("goes on to the same bits wherever in a step it is stopped", async () => {
    await withRuntime({}, async (runtime) => {
      const validate = async (signal?: AbortSignal): Promise<number> => {
        await new Promise(setImmediate);
        signal?.throwIfAborted();
        return 1;
      };
      const whole = await trained(runtime, { epochs: 2, validate });
      rushClock();
      const { weights, sittings } = await trainedInSittings(
        runtime,
        { epochs: 2, validate },
        (controller, sitting) => {
          // Sittings grow, so that the last steps are reached at last.
          let turns = 0;
          const release = everyTurn(() => {
            if (++turns < 7 * sitting) return;
            release();
            controller.abort(STOPPED);
          });
          return {};
        },
      );
      expect(sittings).toBeGreaterThan(5);
      expectSameWeights(weights, whole);
    });
  });

  test("gives the same bits on 1, 2 and 3 threads over 100 steps", async () => {
    const weights: Map<string, Float32Array>[] = [];
    for (const threads of [1, 2, 3])
      await withRuntime({ threads }, async (runtime) => {
        weights.push(await trained(runtime, { epochs: 100 / BATCHES }));
      });
    const [one, ...others] = weights;
    for (const more of others) expectSameWeights(more, one as Map<string, Float32Array>);
  });

  test("lets the event loop turn between the parts of a step", async () => {
    await withRuntime({}, async (runtime) => {
      rushClock();
      let turns = 0;
      let steps = 0;
      const release = everyTurn(() => turns++);
      await trained(runtime, { epochs: 1, onEvent: () => steps++ });
      release();
      expect(steps).toBe(BATCHES);
      // A step has some ten parts forward and thirty or more ops backward.
      expect(turns).toBeGreaterThan(30 * steps);
    });
  });

  test("gives back all memory but that of weights, moments and gradients", async () => {
    await withRuntime({}, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const used: number[] = [];
      await trained(runtime, { onEvent: () => used.push(runtime.memory.usedBytes) });
      expect(new Set(used.slice(1)).size).toBe(1);
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });

  test("stops once validation has not improved for as many epochs as patience says", async () => {
    await withRuntime({}, async (runtime) => {
      const losses = [3, 2, 2, 2.5, 1, 1, 1, 0.5];
      const best: number[] = [];
      const events: TrainingEvent[] = [];
      const run = makeRun(runtime, {
        epochs: 50,
        patience: 2,
        validate: async () => losses[events.length] as number,
        onBest: async (loss) => void best.push(loss),
        onEvent: (event) => {
          if (event.kind === "validated") events.push(event);
        },
      });
      await expect(train(run.options)).resolves.toBe(2.5);
      expect(best).toEqual([3, 2]);
      expect(events.map(({ best }) => best)).toEqual([true, true, false, false]);
      finish(run);
    });
  });

  test("never takes a validation loss that is no number for the best", async () => {
    await withRuntime({}, async (runtime) => {
      const losses = [Number.NaN, 2, Number.NaN];
      const best: number[] = [];
      const states: TrainingState[] = [];
      await trained(runtime, {
        validate: async () => losses.shift() as number,
        onBest: async (loss) => void best.push(loss),
        checkpoint: async (state) => void states.push(state),
      });
      expect(best).toEqual([2]);
      expect(states.map(({ best, stale }) => ({ best, stale }))).toEqual([
        { best: null, stale: 1 },
        { best: 2, stale: 0 },
        { best: 2, stale: 1 },
      ]);
    });
  });

  test("validates in eval mode and trains in training mode", async () => {
    await withRuntime({}, async (runtime) => {
      const modes: boolean[] = [];
      const run: Run = makeRun(runtime, {
        epochs: 1,
        validate: async () => {
          modes.push(run.model.training);
          return 1;
        },
        onEvent: ({ kind }) => {
          if (kind === "step") modes.push(run.model.training);
        },
      });
      await train(run.options);
      expect(modes).toEqual([...Array<boolean>(BATCHES).fill(true), false]);
      expect(run.model.training).toBe(false);
      finish(run);
    });
  });

  test.each([
    ["loss", (loss: Tensor) => full(loss.runtime, [], Number.NaN)],
    ["infinite loss", (loss: Tensor) => full(loss.runtime, [], Infinity)],
    [
      "gradient",
      (loss: Tensor) =>
        record("broken", full(loss.runtime, [], loss.item()), [loss], (dy) => [
          full(dy.runtime, [], Number.NaN),
        ]),
    ],
  ])("leaves a step with a broken %s out and counts it", async (_, breakLoss) => {
    await withRuntime({}, async (runtime) => {
      const snapshots: { weights: Float32Array; skipped: number; loss: number }[] = [];
      let step = 0;
      const run: Run = makeRun(runtime, {
        epochs: 1,
        *loss(batch) {
          const loss = yield* lossOfPairs(run.model, batch);
          return [1, 2].includes(step) ? breakLoss(loss) : loss;
        },
        onEvent: ({ skipped, loss }) => {
          step++;
          const weights = run.model.parameters().get("decoder.fc_out.weight")?.read();
          snapshots.push({ weights: weights as Float32Array, skipped, loss });
        },
      });
      await train(run.options);
      expect(snapshots.map(({ skipped }) => skipped)).toEqual([0, 1, 2, 2, 2]);
      expect(snapshots.every(({ loss }) => Number.isFinite(loss))).toBe(true);
      const [first, second, third, fourth] = snapshots.map(({ weights }) => weights);
      expectSameBits(second as Float32Array, first as Float32Array);
      expectSameBits(third as Float32Array, first as Float32Array);
      expect(fourth).not.toEqual(first);
      finish(run);
    });
  });

  test("counts skipped steps on over a stop", async () => {
    await withRuntime({}, async (runtime) => {
      let skipped = 0;
      await trainedInSittings(
        runtime,
        { epochs: 1, loss: () => full(runtime, [], Number.NaN) },
        (controller) => ({
          onEvent: (event) => {
            skipped = event.skipped;
            controller.abort(STOPPED);
          },
        }),
      );
      expect(skipped).toBe(BATCHES);
    });
  });

  test("keeps a checkpoint after every epoch, and in between when time is up", async () => {
    await withRuntime({}, async (runtime) => {
      const places: string[] = [];
      const checkpoint = async ({ epoch, batch, step }: TrainingState): Promise<void> =>
        void places.push(`${epoch}.${batch} ${step}`);
      await trained(runtime, { epochs: 2, checkpoint });
      expect(places).toEqual(["1.0 5", "2.0 10"]);
      places.length = 0;
      await trained(runtime, { epochs: 1, checkpoint, checkpointEvery: 0 });
      expect(places).toEqual(["0.1 1", "0.2 2", "0.3 3", "0.4 4", "0.5 5", "1.0 5"]);
    });
  });

  test("fails with the error of a checkpoint that cannot be kept", async () => {
    await withRuntime({}, async (runtime) => {
      const full = new Error("no space left on device");
      const checkpoint = (): Promise<void> => Promise.reject(full);
      await expect(trained(runtime, { checkpoint })).rejects.toBe(full);
      const controller = new AbortController();
      const stopping = trained(runtime, {
        checkpoint,
        signal: controller.signal,
        onEvent: () => controller.abort(STOPPED),
      });
      await expect(stopping).rejects.toBe(full);
    });
  });

  test("refuses a state of another model, and changes nothing", async () => {
    await withRuntime({}, async (runtime) => {
      const states: TrainingState[] = [];
      await trained(runtime, { epochs: 1, checkpoint: async (state) => void states.push(state) });
      const [state] = states as [TrainingState];
      const without = (name: string): TrainingState => ({
        ...state,
        tensors: new Map([...state.tensors].filter(([key]) => key !== name)),
      });
      const broken: [TrainingState, string][] = [
        [
          without("model.decoder.fc_out.bias"),
          'train: a checkpoint must be of the same model, got no values for "decoder.fc_out.bias" [12]. Train with',
        ],
        [
          {
            ...state,
            tensors: new Map([...state.tensors].map(([key, values]) => [key, values.slice(1)])),
          },
          'train: a checkpoint must be of the same model, got 95 values for "encoder.embedding.weight" [12, 8] and 14 more',
        ],
        [without("optimizer.mean.decoder.fc_out.bias"), 'missing "mean.decoder.fc_out.bias"'],
        [
          {
            ...state,
            tensors: new Map([
              ...state.tensors,
              ["optimizer.steps.decoder.fc_out.bias", Float32Array.of(1e30)],
            ]),
          },
          '"steps.decoder.fc_out.bias" must be a whole number from 0 to 2²⁴, got 1.0000000',
        ],
        [{ ...state, epoch: 0, batch: 999 }, "must be of an epoch of "],
        [
          { ...state, about: "200 pairs" },
          "train: a checkpoint must be of the same run, got one of 200 pairs for 40 pairs. Train with",
        ],
      ];
      for (const [resume, message] of broken) {
        const run = makeRun(runtime, { resume, about: "40 pairs" });
        const fresh = finish(makeRun(runtime));
        await expect(train(run.options)).rejects.toThrow(StateError);
        await expect(train(run.options)).rejects.toThrow(message);
        expectSameWeights(finish(run), fresh);
      }
    });
  });

  test("does nothing more for a state at its end", async () => {
    await withRuntime({}, async (runtime) => {
      const states: TrainingState[] = [];
      const checkpoint = async (state: TrainingState): Promise<void> => void states.push(state);
      const whole = await trained(runtime, { checkpoint });
      const again = await trained(runtime, {
        resume: states.at(-1) ?? null,
        onEvent: ({ step }) => expect.fail(`there must be no step, got ${step}`),
      });
      expectSameWeights(again, whole);
    });
  });
});

test("testRuntime() starts alike each time", async () => {
  const runtime = await testRuntime();
  expectSameWeights(finish(makeRun(runtime)), finish(makeRun(runtime)));
  runtime.dispose();
});
