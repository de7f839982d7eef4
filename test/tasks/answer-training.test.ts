import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import type { QuestionAnsweringModel } from "../../src/models/question-answering-model.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { QuestionAnswerer } from "../../src/tasks/answer.js";
import {
  type AnswerItem,
  answerItems,
  answerLesson,
  type LabelledQuestion,
} from "../../src/tasks/answer-training.js";
import { MARK_ROWS, QuestionReader } from "../../src/tasks/question-reader.js";
import { trainLesson } from "../../src/tasks/training.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { withRuntime } from "../support/runtime.js";

const tokenizer = loadTokenizer(readFileSync("models/answer-en/tokenizer.json"));
const reader = new QuestionReader(tokenizer);
const ALL = { window: 256, unanswerable: 0, seed: 1 };

function labelled(question: string, context: string, ...answers: string[]): LabelledQuestion {
  return {
    question,
    context,
    answers: answers.map((text) => ({ start: context.indexOf(text), text })),
  };
}

/** What an item's answers say, as the tokenizer writes it. */
function textsOf({ context, from, answers }: AnswerItem): string[] {
  return answers.map(([first, last]) =>
    tokenizer.decode(context.ids.slice(from + first, from + last + 1)),
  );
}

/** "Who sees the dog?" and the like, on sentences of three parts. */
function corpus(count: number, seed: number): LabelledQuestion[] {
  const random = seeded(seed);
  const pick = <T>(...words: T[]): T => words[random.integer(words.length)] as T;
  return Array.from({ length: count }, () => {
    const animal = `the ${pick("cat", "dog", "bird", "horse", "king")}`;
    const place = `the ${pick("garden", "forest", "house", "river", "church")}`;
    const context = `${pick("Yesterday", "Then", "Now")} ${animal} came into ${place}.`;
    return random.integer(2) === 0
      ? labelled(`Who came into ${place}?`, context, animal)
      : labelled(`Where did ${animal} come?`, context, place);
  });
}

describe("answerItems()", () => {
  const context = "In 1889, Gustave's bridge (unbelievably long) was opened.";

  test("finds the tokens of every answer", () => {
    const rows = [
      labelled("When?", context, "1889"),
      labelled("Whose?", context, "Gustave's", "Gustave"),
      labelled("How long?", context, "unbelievably long", "(unbelievably long)"),
    ];
    const items = [...answerItems(rows, reader, ALL)];
    expect(items.map(textsOf)).toEqual([
      ["1 8 8 9".replaceAll(" ", "")],
      ["gustave ' s", "gustave"],
      ["unbelievably long", "( unbelievably long )"],
    ]);
    expect(items.every(({ from, to, context: { ids } }) => from === 0 && to === ids.length)).toBe(
      true,
    );
    // Read once, however many questions there are.
    expect(items[1]?.context).toBe(items[0]?.context);
  });

  test("takes whole pieces for an answer that ends inside of one", () => {
    const [item] = answerItems([labelled("Who?", context, "ustave's brid")], reader, ALL);
    expect(textsOf(item as AnswerItem)).toEqual(["gustave ' s bridge"]);
  });

  test("takes a part of a long context, with the first answer in its middle", () => {
    const long = `${"one two three four. ".repeat(40)}Here it is. ${"five six seven. ".repeat(40)}`;
    const options = { ...ALL, window: 50 };
    const [item] = answerItems([labelled("What?", long, "Here", "one")], reader, options);
    expect(textsOf(item as AnswerItem)).toEqual(["here"]);
    const { from, to, answers } = item as AnswerItem;
    expect(to - from).toBe(50);
    expect(Math.abs((answers[0]?.[0] as number) - 25)).toBeLessThanOrEqual(1);
  });

  test("adds questions on others' contexts, the same for one seed", () => {
    const rows = corpus(200, 1);
    const count = (unanswerable: number, seed = 1): AnswerItem[] =>
      [...answerItems(rows, reader, { ...ALL, unanswerable, seed })].filter(
        ({ answers }) => answers.length === 0,
      );
    expect(count(0)).toEqual([]);
    // 200 draws of one half: five deviations are 35; a few draw their own context
    expect(Math.abs(count(0.5).length - 100)).toBeLessThan(40);
    expect(count(0.5)).toEqual(count(0.5));
    expect(count(0.5, 2)).not.toEqual(count(0.5));
    for (const { context } of count(1)) expect(context.ids.length).toBeGreaterThan(0);
  });

  test("leaves out what has no token", () => {
    const rows = [labelled(" ", context, "1889"), { ...labelled("What?", context), answers: [] }];
    expect([...answerItems(rows, reader, ALL)]).toEqual([]);
  });
});

describe("answerLesson()", () => {
  const options = { window: 64, unanswerable: 0.6, seed: 1 };
  const lesson = answerLesson({
    config: { vocab: tokenizer.vocabSize + MARK_ROWS, embedding: 16, hidden: 16, heads: 2 },
    reader,
    padding: 0,
    items: [...answerItems(corpus(160, 1), reader, options)],
    validation: [...answerItems(corpus(40, 2), reader, options)],
  });

  async function train(runtime: Runtime, epochs: number): Promise<Map<string, Float32Array>> {
    let best = new Map<string, Float32Array>();
    await trainLesson(lesson, {
      ...{ runtime, epochs, batch: 16, rate: 0.01, warmup: 10, weightDecay: 0.01, seed: 4 },
      ...{ patience: 100, resume: null, checkpointEvery: 1e9 },
      checkpoint: async () => {},
      onBest: async (model) => {
        best = new Map([...model.stateDict()].map(([name, x]) => [name, x.read() as Float32Array]));
      },
      onEvent: () => {},
    });
    return best;
  }

  test("teaches a model to answer, and to say that there is no answer", async () => {
    await withRuntime({ splitting: false, poison: false }, async (runtime) => {
      const weights = await train(runtime, 16);
      const model = lesson.build(runtime);
      for (const [name, weight] of model.stateDict()) weight.write(weights.get(name) ?? []);
      const answerer = new QuestionAnswerer(model, tokenizer, {
        ...{ padding: 0, window: 64, noAnswer: 0.5 },
      });
      const rows = corpus(40, 3);
      const found = await answerer.answerAll(rows);
      const right = found.filter(
        ({ answers }, index) => answers[0]?.text === rows[index]?.answers[0]?.text,
      );
      expect(right.length).toBeGreaterThan(32);
      const elsewhere = rows.filter(({ context }) => !context.includes("church"));
      const strange = await answerer.answerAll(
        elsewhere.map(({ context }) => ({ question: "Who came into the church?", context })),
      );
      const none = strange.filter(({ answers }) => answers.length === 0);
      expect(none.length).toBeGreaterThan(0.8 * elsewhere.length);
    });
  });

  test("begins with encoders that are alike, and queries like keys", async () => {
    await withRuntime({}, (runtime) => {
      runtime.seed(1);
      const model: QuestionAnsweringModel = lesson.build(runtime);
      const state = model.stateDict();
      for (const [name, weight] of state)
        if (name.startsWith("question_encoder.")) {
          const twin = state.get(name.replace("question_encoder.", "context_encoder."));
          expectSameBits(twin?.read() ?? [], weight.read(), name);
        }
      const projection = state.get("attention.in_proj_weight")?.read() ?? new Float32Array();
      const third = projection.length / 3;
      expectSameBits(projection.slice(third, 2 * third), projection.slice(0, third));
      expect(projection.slice(2 * third)).not.toEqual(projection.slice(0, third));
      model.dispose();
    });
  });

  test("takes the mean over the answers of a question", async () => {
    await withRuntime({}, (runtime) => {
      runtime.seed(1);
      const model = lesson.build(runtime);
      const context = "The cat sleeps in the garden.";
      const lossOf = (...answers: string[]): number => {
        const items = [...answerItems([labelled("Where?", context, ...answers)], reader, options)];
        return runtime.scope(() => {
          const loss = lesson.loss(model, items.slice(0, 1), false);
          if (!("item" in loss)) throw new Error("the loss comes at once");
          return loss.item();
        });
      };
      const [one, two] = [lossOf("garden"), lossOf("the garden")];
      // three answers: those of a question with two are the first, the second and the first again
      expect(lossOf("garden", "the garden")).toBeCloseTo((2 * one + two) / 3, 5);
      expect(lossOf("garden", "the garden", "the garden")).toBeCloseTo((one + 2 * two) / 3, 5);
      model.dispose();
    });
  });
});
