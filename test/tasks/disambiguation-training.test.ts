import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ContextAwareEmbedding,
  type ContextAwareEmbeddingConfig,
} from "../../src/models/context-aware-embedding.js";
import { backward } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import {
  type DisambiguationData,
  disambiguationLesson,
  type SenseExample,
  senseLoss,
} from "../../src/tasks/disambiguation-training.js";
import { type TrainingPlan, trainLesson } from "../../src/tasks/training.js";
import type { TrainingState } from "../../src/train/trainer.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime, withRuntime } from "../support/runtime.js";

// Ids: 0 padding, 1 blank, 2 and 3 the two words, 4 … 11 words of money, 12 … 19 words of rivers.
const CONFIG: ContextAwareEmbeddingConfig = {
  vocab: 20,
  embedding: 8,
  padding: 0,
  senses: 4,
  temperature: 0.2,
};

/** Sentences about one of two things each. */
function sentences(count: number, seed: number): number[][] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, index) =>
    Array.from({ length: 6 }, () => (index % 2 ? 12 : 4) + random.integer(8)),
  );
}

/** Labelled contexts of two words: senses 0 and 2 are of money, 1 and 3 of rivers. */
function examples(count: number, seed: number, known = 8): SenseExample[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, index) => {
    const river = index % 2;
    const word = random.integer(2);
    return {
      word: 2 + word,
      context: Array.from({ length: 1 + random.integer(4) }, () =>
        river ? 20 - known + random.integer(known) : 12 - known + random.integer(known),
      ),
      sense: 2 * word + river,
      senses: [2 * word, 2 * word + 2] as const,
    };
  });
}

const DATA: DisambiguationData = {
  config: CONFIG,
  examples: examples(16, 1),
  validation: examples(30, 2),
  repeats: 2,
  text: sentences(60, 3),
  special: new Set([0, 1]),
  blank: 1,
};

const PLAN: Omit<TrainingPlan, "runtime"> = {
  epochs: 3,
  batch: 16,
  rate: 0.02,
  warmup: 2,
  weightDecay: 0.01,
  seed: 1,
  patience: 9,
  resume: null,
  checkpointEvery: 1e9,
  checkpoint: async () => {},
  onBest: async () => {},
  onEvent: () => {},
};

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("senseLoss()", () => {
  test("is the mean cross-entropy among the senses of each word alone", () => {
    runtime.seed(2);
    const model = new ContextAwareEmbedding(runtime, CONFIG);
    runtime.scope(() => {
      const rows = DATA.examples.slice(0, 5);
      const losses = rows.map((row) => senseLoss(model, [row]).item());
      const mean = losses.reduce((sum, loss) => sum + loss / rows.length, 0);
      expect(senseLoss(model, rows).item()).toBeCloseTo(mean, 6);
      // Among two senses whose cosines lie in −1 … 1: at most ln(1 + e^(2 / temperature))
      for (const loss of losses) expect(loss).toBeLessThan(Math.log(1 + Math.exp(10)) + 1e-6);
      const only = { ...(rows[0] as SenseExample), senses: [rows[0]?.sense ?? 0, 1] as const };
      expect(senseLoss(model, [{ ...only, sense: 0, senses: [0, 1] }]).item()).toBe(0);
    });
    model.dispose();
  });

  test("sends no gradient to the senses of other words", () => {
    const model = new ContextAwareEmbedding(runtime, CONFIG);
    runtime.scope(() => {
      backward(senseLoss(model, [{ word: 2, context: [5, 6], sense: 0, senses: [0, 2] }]));
    });
    const gradient = model.stateDict().get("sense_prototypes")?.grad?.read() ?? [];
    expect([...gradient].slice(16).every((g) => g === 0)).toBe(true);
    expect([...gradient].slice(0, 16).some((g) => g !== 0)).toBe(true);
    expect([...gradient].every(Number.isFinite)).toBe(true);
    model.dispose();
  });
});

describe("disambiguationLesson()", () => {
  const lesson = disambiguationLesson(DATA);

  test("asks for places in the text and for every labelled sentence so often", () => {
    const places = lesson.items.filter((item) => typeof item === "number");
    expect(lesson.items.length - places.length).toBe(2 * DATA.examples.length);
    expect(new Set(places).size).toBe(places.length);
    // Words that are frequent, as all are here, are asked for less often.
    expect(places.length).toBeGreaterThan(1);
    expect(places.length).toBeLessThan(0.3 * 360);
    expect(lesson.validation).toBe(DATA.validation);
    expect(lesson.about).toMatch(/^16 labelled sentences \([\da-f]{8}\) 2 times and text \(/);
  });

  test("says of other data that it is about something else", () => {
    const others: Partial<DisambiguationData>[] = [
      { examples: examples(16, 9) },
      { repeats: 3 },
      { text: sentences(60, 9) },
    ];
    for (const other of others)
      expect(disambiguationLesson({ ...DATA, ...other }).about).not.toBe(lesson.about);
  });

  test("keeps batches of text and of labelled sentences apart, and takes a mixed one", () => {
    const [place, example] = [lesson.items[0], lesson.items.at(-1)];
    if (place === undefined || example === undefined) throw new Error("there must be items");
    expect(lesson.sortKey(example) - lesson.sortKey(place)).toBeGreaterThan(1000);
    runtime.seed(3);
    const model = lesson.build(runtime);
    runtime.scope(() => {
      const loss = (items: typeof lesson.items): number => {
        const found = lesson.loss(model, items, true);
        return "item" in found ? found.item() : Number.NaN;
      };
      const places = lesson.items.filter((item) => typeof item === "number").slice(0, 3);
      const mixed = loss([...places, example]);
      expect(mixed).toBeCloseTo(0.75 * loss(places) + 0.25 * loss([example]), 5);
    });
    model.dispose();
  });

  test("begins with soft embeddings, so that no weight is 1 at once", () => {
    runtime.seed(3);
    const model = lesson.build(runtime);
    const values = [...(model.stateDict().get("word_embeddings.weight")?.read() ?? [])];
    expect(Math.max(...values.map(Math.abs))).toBeLessThan(0.7);
    expect(Math.max(...values.map(Math.abs))).toBeGreaterThan(0.1);
    model.dispose();
  });

  test("counts a word twice in a batch as no wrong answer", () => {
    // All three places ask for the same word, so there is no wrong answer among them.
    const twin = disambiguationLesson({ ...DATA, text: Array(40).fill([4, 5, 4]), examples: [] });
    const places = twin.items.filter((item) => typeof item === "number");
    runtime.seed(3);
    const model = twin.build(runtime);
    runtime.scope(() => {
      const fours = places.filter((place) => place % 8 !== 6).slice(0, 3);
      const found = twin.loss(model, fours, true);
      expect("item" in found && found.item()).toBe(0);
    });
    model.dispose();
  });

  test("learns senses, and those of words that only the text connects", async () => {
    await withRuntime({ splitting: false, poison: false }, async (own) => {
      const before = own.memory.usedBytes;
      // Labelled contexts hold two words of each kind; the validation holds all eight.
      const data = { ...DATA, examples: examples(16, 1, 2), text: sentences(4000, 3) };
      const losses: number[] = [];
      const onEvent: TrainingPlan["onEvent"] = ({ validation }) => {
        if (validation !== null) losses.push(validation);
      };
      await trainLesson(disambiguationLesson(data), { ...PLAN, runtime: own, epochs: 8, onEvent });
      expect(losses[0]).toBeLessThan(2);
      expect(losses.at(-1)).toBeLessThan(0.1);
      const blind: number[] = [];
      await trainLesson(disambiguationLesson({ ...data, text: [] }), {
        ...PLAN,
        runtime: own,
        epochs: 200,
        patience: 200,
        onEvent: ({ validation }) => {
          if (validation !== null) blind.push(validation);
        },
      });
      expect(Math.min(...blind)).toBeGreaterThan(3 * Math.min(...losses));
      expect(own.memory.usedBytes).toBe(before);
    });
  });

  test("goes on to the same bits after a stop", async () => {
    await withRuntime({}, async (own) => {
      const run = async (plan: Partial<TrainingPlan>): Promise<TrainingState | null> => {
        let state: TrainingState | null = null;
        const checkpoint = async (kept: TrainingState): Promise<void> => {
          state = kept;
        };
        const stopped = trainLesson(lesson, { ...PLAN, runtime: own, checkpoint, ...plan });
        await stopped.catch((error: unknown) => {
          if (error !== plan.signal?.reason) throw error;
        });
        return state;
      };
      const whole = await run({});
      const controller = new AbortController();
      const resume = await run({
        signal: controller.signal,
        onEvent: ({ step }) => {
          if (step === 5) controller.abort(new Error("stop"));
        },
      });
      expect(resume?.step).toBe(5);
      const again = await run({ resume });
      for (const [name, values] of whole?.tensors ?? [])
        expectSameBits(again?.tensors.get(name) ?? [], values, name);
    });
  });
});
