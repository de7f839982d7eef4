import { describe, expect, test, vi } from "vitest";
import { StateError } from "../../src/errors.js";
import { Seq2Seq, type Seq2SeqConfig } from "../../src/models/seq2seq.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { type PairData, pairLesson } from "../../src/tasks/pair-training.js";
import { type TrainingPlan, trainLesson } from "../../src/tasks/training.js";
import { Tensor } from "../../src/tensor/tensor.js";
import type { TrainingEvent, TrainingState } from "../../src/train/trainer.js";
import { expectSameBits } from "../support/compare.js";
import { withRuntime } from "../support/runtime.js";
import { TOY_SIZES, toyPairs } from "../support/toy-language.js";

function train(
  runtime: Runtime,
  plan: Partial<TrainingPlan> = {},
  data: Partial<PairData<Seq2Seq>> = {},
  config: Seq2SeqConfig = { ...TOY_SIZES, dropout: 0.1, bidirectional: true },
): Promise<void> {
  const lesson = pairLesson({
    build: (on) => new Seq2Seq(on, config),
    padding: config.padding,
    pairs: toyPairs(200),
    validation: toyPairs(20, 2),
    smoothing: 0.1,
    teacherForcing: 1,
    ...data,
  });
  return trainLesson(lesson, {
    runtime,
    epochs: 2,
    batch: 16,
    rate: 0.02,
    warmup: 5,
    weightDecay: 0.01,
    seed: 1,
    patience: 5,
    resume: null,
    checkpointEvery: 1e9,
    checkpoint: async () => {},
    onBest: async () => {},
    onEvent: () => {},
    ...plan,
  });
}

describe("trainLesson() with a pairLesson()", () => {
  test("learns, and tells the best weights so far", async () => {
    await withRuntime({ splitting: false, poison: false }, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const events: TrainingEvent[] = [];
      const best: number[] = [];
      await train(
        runtime,
        {
          epochs: 12,
          onEvent: (event) => events.push(event),
          onBest: async (model, loss) => {
            expect(model.training).toBe(false);
            best.push(loss);
          },
        },
        {},
        { ...TOY_SIZES, hidden: 24 },
      );
      const validated = events.filter(({ kind }) => kind === "validated");
      const [first, last] = [validated[0]?.validation, validated.at(-1)?.validation];
      // ln 12 = 2.5 is a guess among all tokens
      expect(first).toBeLessThan(2.5);
      expect(last).toBeLessThan(0.7 * (first as number));
      expect(best).toEqual(best.toSorted((a, b) => b - a));
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });

  test("goes on to the same bits after a stop", async () => {
    await withRuntime({}, async (runtime) => {
      let state: TrainingState | null = null;
      const checkpoint = async (kept: TrainingState): Promise<void> => {
        state = kept;
      };
      await train(runtime, { checkpoint });
      const whole = state as TrainingState | null;

      const controller = new AbortController();
      const reason = new Error("stop");
      const { signal } = controller;
      const onEvent = ({ step }: TrainingEvent): void => {
        if (step === 9) controller.abort(reason);
      };
      const stopped = train(runtime, { checkpoint, signal, onEvent });
      await expect(stopped).rejects.toBe(reason);
      const resume = state as TrainingState | null;
      expect(resume?.step).toBe(9);
      await train(runtime, { checkpoint, resume });
      const again = state as TrainingState | null;
      expect(again?.tensors.size).toBe(whole?.tensors.size);
      for (const [name, values] of whole?.tensors ?? [])
        expectSameBits(again?.tensors.get(name) ?? [], values, name);
    });
  });

  test("does not go on with other pairs, batches or another seed", async () => {
    await withRuntime({}, async (runtime) => {
      let resume: TrainingState | null = null;
      const checkpoint = async (kept: TrainingState): Promise<void> => {
        resume = kept;
      };
      await train(runtime, { epochs: 1, checkpoint });
      const before = runtime.memory.usedBytes;
      const swapped = toyPairs(200).map(({ source, target }) => ({
        source: target,
        target: source,
      }));
      const others: [Partial<TrainingPlan>, Partial<PairData<Seq2Seq>>][] = [
        [{}, { pairs: swapped }],
        [{ batch: 8 }, {}],
        [{ seed: 2 }, {}],
      ];
      for (const [plan, data] of others) {
        const wrong = train(runtime, { resume, ...plan }, data);
        await expect(wrong).rejects.toThrow(StateError);
        await expect(wrong).rejects.toThrow(
          /^train: a checkpoint must be of the same run, got one of 200 pairs \([0-9a-f]{8}\) in batches of 16 by seed 1 for 200 pairs \(/,
        );
        expect(runtime.memory.usedBytes).toBe(before);
      }
    });
  });

  test.each([
    ["pairs", "items"],
    ["validation", "validation"],
  ])("needs %s", async (name, said) => {
    await withRuntime({}, async (runtime) => {
      await expect(train(runtime, {}, { [name]: [] })).rejects.toThrow(
        `train: there must be data to learn from and to choose by, got no ${said}`,
      );
    });
  });
});

describe("pairLesson() with exercises", () => {
  const data = {
    build: (on: Runtime) => new Seq2Seq(on, TOY_SIZES),
    padding: TOY_SIZES.padding,
    ...{ pairs: toyPairs(10), validation: toyPairs(2, 3), smoothing: 0, teacherForcing: 1 },
  };
  const exercises = { pairs: toyPairs(4, 2), epochs: 2 };

  test("learns from them in the first epochs, and then from the pairs", () => {
    const lesson = pairLesson({ ...data, exercises });
    const of = (epoch: number) => lesson.itemsOf?.(epoch).map((index) => lesson.items[index]);
    for (const epoch of [0, 1]) expect(of(epoch)).toEqual(exercises.pairs);
    for (const epoch of [2, 3]) expect(of(epoch)).toEqual(data.pairs);
    expect(pairLesson(data).itemsOf?.(0)).toEqual([...data.pairs.keys()]);
  });

  test("are part of what a run is about", () => {
    expect(pairLesson({ ...data, exercises }).about).not.toBe(pairLesson(data).about);
  });

  test("make up their epochs alone", () =>
    withRuntime({}, async (runtime) => {
      const batches: number[] = [];
      const plan = {
        ...{ epochs: 3, batch: 3 },
        onEvent: (event: TrainingEvent) => {
          if (event.kind === "validated") batches.push(event.batches);
        },
      };
      await train(runtime, plan, { ...data, exercises });
      expect(batches).toEqual([2, 2, 4]);
    }));
});

describe("pairLesson() with hiding", () => {
  const pairs = toyPairs(40);
  const shown = (runtime: Runtime, share: number, training: boolean): number[] => {
    const lesson = pairLesson({
      build: (on) => new Seq2Seq(on, TOY_SIZES),
      padding: TOY_SIZES.padding,
      ...{ pairs, validation: pairs, smoothing: 0, teacherForcing: 1 },
      hiding: { share, as: 1 },
    });
    const model = lesson.build(runtime);
    const predict = vi.spyOn(model, "predictInParts");
    const loss = lesson.loss(model, pairs, training);
    if (!(loss instanceof Tensor)) while (!loss.next().done);
    const ids = predict.mock.calls[0]?.[0] as Tensor;
    return [...ids.read()];
  };
  const whole = (runtime: Runtime): number[] => shown(runtime, 0, true);

  test("puts one id in the place of a share of the source tokens, in training only", () =>
    withRuntime({ splitting: false }, (runtime) => {
      const truth = whole(runtime);
      expect(shown(runtime, 0.5, false)).toEqual(truth);
      const ids = shown(runtime, 0.5, true);
      const words = truth.filter((id) => id >= 4).length;
      const hidden = ids.filter((id) => id === 1).length;
      expect(hidden / words).toBeGreaterThan(0.3);
      expect(hidden / words).toBeLessThan(0.7);
      ids.forEach((id, at) => {
        if (id !== 1) expect(id).toBe(truth[at]);
        else expect(truth[at], "start, end and padding stay").toBeGreaterThanOrEqual(4);
      });
    }));

  test("hides others at the next step, and the same for the same seed", () =>
    withRuntime({ splitting: false }, (runtime) => {
      // The seed is drawn after the model's weights.
      const after = (seed: number): number[] => {
        runtime.seed(seed);
        return shown(runtime, 0.5, true);
      };
      expect(after(1)).toEqual(after(1));
      expect(after(1)).not.toEqual(after(2));
    }));
});
