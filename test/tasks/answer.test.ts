import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Heed } from "../../src/heed.js";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { QuestionAnsweringModel } from "../../src/models/question-answering-model.js";
import { init } from "../../src/node.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import {
  type Answering,
  type AnswerOptions,
  type QuestionAndContext,
  QuestionAnswerer,
} from "../../src/tasks/answer.js";
import { MARK_ROWS, QuestionReader } from "../../src/tasks/question-reader.js";
import { expectSameBits } from "../support/compare.js";
import { withRuntime } from "../support/runtime.js";

const MODEL = "models/answer-en";
const BRIDGE =
  "The old bridge was begun in 1884 by two brothers. It was opened in 1889, and repaired after the flood of 1910.";
const ITEMS: QuestionAndContext[] = [
  { question: "When was the bridge opened?", context: BRIDGE },
  { question: "Who began the bridge?", context: BRIDGE },
  { question: "What sleeps?", context: "The black cat sleeps." },
  { question: "What is it?", context: "" },
  { question: "Where does the heron live?", context: `The heron lives at the lake. ${BRIDGE}` },
];
const SETTINGS = { padding: 0, window: 256, noAnswer: 2 };

const tokenizer = loadTokenizer(readFileSync(`${MODEL}/tokenizer.json`));

/** An answerer whose weights are drawn: its answers are arbitrary, but they come quickly. */
function guesser(runtime: Runtime, settings: Partial<typeof SETTINGS> = {}): QuestionAnswerer {
  runtime.seed(3);
  const sizes = { embedding: 8, hidden: 8, heads: 2 };
  const vocab = tokenizer.vocabSize + MARK_ROWS;
  const model = new QuestionAnsweringModel(runtime, { vocab, ...sizes });
  return new QuestionAnswerer(model, tokenizer, { ...SETTINGS, ...settings });
}

function expectSame(actual: Answering, expected: Answering): void {
  const { attention, ...rest } = expected;
  expect(actual).toMatchObject(rest);
  expect(actual.attention.queries).toEqual(attention.queries);
  attention.weights[0]?.forEach((rows, head) => {
    rows.forEach((row, query) => {
      expectSameBits(actual.attention.weights[0]?.[head]?.[query] ?? [], row);
    });
  });
}

/** What must hold of any answering. */
function expectSound({ answers, noAnswer }: Answering, context: string): void {
  let total = noAnswer;
  answers.forEach(({ text, start, end, probability }, index) => {
    expect(text).toBe(context.slice(start, end));
    expect(end).toBeGreaterThan(start);
    expect(text).toBe(text.trim());
    total += probability;
    const before = answers.slice(0, index);
    expect(before.every((other) => other.probability >= probability)).toBe(true);
    expect(before.some((other) => start < other.end && other.start < end)).toBe(false);
  });
  // a few thousand spans, added up in float64
  expect(total).toBeLessThan(1 + 1e-9);
  expect(noAnswer).toBeGreaterThanOrEqual(0);
}

describe("QuestionAnswerer, with the model that comes with heed", () => {
  let heed: Heed;
  let answerer: QuestionAnswerer;
  let alone: Answering[];

  beforeAll(async () => {
    heed = await init({ threads: 1 });
    answerer = await heed.load(MODEL, "answer");
    alone = [];
    for (const { question, context } of ITEMS) alone.push(await answerer.answer(question, context));
  });
  afterAll(() => heed.dispose());

  test("picks the date that is asked for among several", async () => {
    const about = async (question: string): Promise<string | undefined> =>
      (await answerer.answer(question, BRIDGE, { noAnswer: 2 })).answers[0]?.text;
    expect(await about("When was the bridge opened?")).toBe("1889");
    expect(await about("When was the bridge begun?")).toBe("1884");
  });

  test("says that a context has no answer", async () => {
    const other = "The heron lives at the lake and eats fish.";
    const { answers, noAnswer } = await answerer.answer("When was the bridge opened?", other);
    expect(answers).toEqual([]);
    expect(noAnswer).toBeGreaterThan(alone[0]?.noAnswer as number);
    const forced = await answerer.answer("When was the bridge opened?", other, { noAnswer: 1.5 });
    expect(forced.answers).toHaveLength(1);
    expect(forced.noAnswer).toBe(noAnswer);
  });

  test("gives a batch the bits of its questions alone", async () => {
    const together = await answerer.answerAll(ITEMS);
    together.forEach((answering, index) => {
      expectSame(answering, alone[index] as Answering);
    });
  });

  test.each([2, 3])("gives the same bits on %d threads", async (threads) => {
    const more = await init({ threads });
    const found = await (await more.load(MODEL, "answer")).answerAll(ITEMS);
    found.forEach((answering, index) => {
      expectSame(answering, alone[index] as Answering);
    });
    more.dispose();
  });

  test("gives two calls at once what each gives alone", async () => {
    const both = await Promise.all(
      ITEMS.map(({ question, context }) => answerer.answer(question, context)),
    );
    both.forEach((answering, index) => {
      expectSame(answering, alone[index] as Answering);
    });
  });

  test("gives weights over the tokens of the question that sum to 1", () => {
    const { attention, part } = alone[0] as Answering;
    expect(part).toEqual({ start: 0, end: BRIDGE.length });
    expect(attention.kind).toBe("cross");
    // as they look in a text
    expect(attention.keys.join("|")).toMatch(/^<s>\|when\|was\|the\|bridge\|.*\?\|<\/s>$/);
    expect(attention.queries.join("")).not.toContain("▁");
    const [heads] = attention.weights;
    expect(heads).toHaveLength(answerer.model.config.heads);
    for (const rows of heads ?? []) {
      expect(rows).toHaveLength(attention.queries.length);
      for (const row of rows) {
        expect(row).toHaveLength(attention.keys.length);
        // as many f32 weights as there are tokens
        expect(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThan(1e-5);
      }
    }
  });

  test("finds an answer far inside of a long context", async () => {
    const filler = "The men walked over the hills and along the river for many days. ".repeat(60);
    const context = `${filler}${BRIDGE} ${filler}`;
    const found = await answerer.answer("When was the bridge opened?", context, { noAnswer: 2 });
    expect(found.answers[0]).toMatchObject({ text: "1889", start: context.indexOf("1889") });
    expect(found.part.start).toBeGreaterThan(0);
    expect(found.part.end).toBeLessThan(context.length);
    expect(found.attention.queries.length).toBeLessThanOrEqual(answerer.settings.window + 2);
  });

  test("finds an answer that stands across the end of a window", async () => {
    const { window } = answerer.settings;
    const before = BRIDGE.slice(0, BRIDGE.indexOf(" brothers"));
    const tokens = (text: string): number => new QuestionReader(tokenizer).read(text).ids.length;
    let filler = "";
    while (tokens(`${filler}${before}`) < window) filler = `${filler}. `;
    expect(tokens(`${filler}${before}`)).toBe(window);
    const context = `${filler}${BRIDGE} ${BRIDGE.replaceAll("brothers", "men")}`;
    expect(tokens(context)).toBeGreaterThan(window);
    const { answers } = await answerer.answer("Who began the old bridge?", context, {
      noAnswer: 2,
    });
    expect(answers[0]?.text).toMatch(/two (brothers|men)$/);
  });
});

describe("QuestionAnswerer", () => {
  test("gives parts of the context to the character, whatever it holds", async () => {
    await withRuntime({}, async (runtime) => {
      const answerer = guesser(runtime, { window: 16 });
      const unit = fc.constantFrom(
        ..."the bridge 1889 , . Ω é e\u0301 \u0301 \ud83d \ude00 😀 👩‍👩‍👧 中文 ½ \t \n \u00a0 ' \u0000".split(
          " ",
        ),
        " ",
        " ",
      );
      const text = fc.oneof(
        fc.string({ unit, maxLength: 60 }),
        fc.string({ unit: "binary", maxLength: 60 }),
      );
      await fc.assert(
        fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), async (context, top) => {
          const found = await answerer.answer("What is the bridge?", context, { top });
          expectSound(found, context);
          if (/\S/u.test(context)) expect(found.answers.length).toBeGreaterThan(0);
        }),
        { numRuns: 60 },
      );
    });
  });

  test("gives the best, or several that do not overlap", async () => {
    await withRuntime({}, async (runtime) => {
      const answerer = guesser(runtime);
      const ask = (options: AnswerOptions): Promise<Answering> =>
        answerer.answer("When was the bridge opened?", BRIDGE, options);
      const { answers: several, noAnswer } = await ask({ top: 4, longest: 3 });
      expect(several).toHaveLength(4);
      expectSound({ ...(await ask({ top: 4 })) }, BRIDGE);
      const { answers: one } = await ask({ longest: 3 });
      expect(one).toEqual(several.slice(0, 1));
      for (const { text } of several) expect(text.split(/\s+/).length).toBeLessThanOrEqual(3);
      // Every word is its own answer: all of them and none are everything that can be.
      const { answers: all, noAnswer: none } = await ask({ top: 100, longest: 1 });
      expect(all).toHaveLength(25);
      expect(all.reduce((sum, { probability }) => sum + probability, none)).toBeCloseTo(1, 9);
      expect(none).toBeGreaterThan(noAnswer);
    });
  });

  test("gives no answer from its threshold on", async () => {
    await withRuntime({}, async (runtime) => {
      const { noAnswer } = await guesser(runtime).answer("What?", BRIDGE);
      const count = async (threshold: number): Promise<number> =>
        (await guesser(runtime).answer("What?", BRIDGE, { noAnswer: threshold })).answers.length;
      expect(await count(noAnswer)).toBe(0);
      expect(await count(noAnswer + 1e-9)).toBe(1);
      const calibrated = guesser(runtime, { noAnswer });
      expect((await calibrated.answer("What?", BRIDGE)).answers).toEqual([]);
      expect((await calibrated.answer("What?", BRIDGE, { noAnswer: 2 })).answers).toHaveLength(1);
    });
  });

  test("decodes greedily on demand: the best ends, each alone", async () => {
    await withRuntime({}, async (runtime) => {
      const answerer = guesser(runtime);
      let crossed = 0;
      for (let n = 0; n < 24; n++) {
        const context = BRIDGE.split(" ")
          .slice(n, n + 9)
          .join(" ");
        const ask = (decoding: "best" | "greedy"): Promise<Answering> =>
          answerer.answer("What?", context, { decoding, longest: 1000 });
        const [best, greedy] = [await ask("best"), await ask("greedy")];
        expect(greedy.noAnswer).toBe(best.noAnswer);
        const [[one], [other]] = [best.answers, greedy.answers];
        if (!other) crossed++;
        else expect(other.score).toBeGreaterThanOrEqual(one?.score as number);
      }
      expect(crossed).toBeGreaterThan(0);
      expect(crossed).toBeLessThan(24);
    });
  });

  test("reads a long context in windows that overlap, with one result", async () => {
    await withRuntime({}, async (runtime) => {
      const context = Array.from({ length: 40 }, () => BRIDGE).join(" ");
      const found = await guesser(runtime, { window: 64 }).answer("When?", context, { top: 100 });
      expectSound(found, context);
      expect(found.answers).toHaveLength(100);
      expect(found.attention.queries.length).toBeLessThanOrEqual(66);
      const [best] = found.answers;
      expect(best?.start).toBeGreaterThanOrEqual(found.part.start);
      expect(best?.end).toBeLessThanOrEqual(found.part.end);
      // One window sees all of a context that is short enough.
      const [short, long] = [256, 28].map((window) => guesser(runtime, { window }));
      expect((await short?.answer("When?", BRIDGE))?.part).toEqual({
        start: 0,
        end: BRIDGE.length,
      });
      expect((await long?.answer("When?", BRIDGE))?.part).not.toEqual({
        start: 0,
        end: BRIDGE.length,
      });
    });
  });

  test("has no answer in a blank context", async () => {
    await withRuntime({}, async (runtime) => {
      for (const context of ["", " \n\t"]) {
        const found = await guesser(runtime).answer("What?", context);
        expect(found).toMatchObject({ answers: [], noAnswer: 1, part: { start: 0, end: 0 } });
      }
      expect(await guesser(runtime).answerAll([])).toEqual([]);
    });
  });

  test("is plain data that can be posted", async () => {
    await withRuntime({}, async (runtime) => {
      const found = await guesser(runtime).answer("When?", BRIDGE, { top: 3 });
      expect(structuredClone(found)).toEqual(found);
    });
  });

  test("stops at a signal and leaves no tensor behind", async () => {
    await withRuntime({}, async (runtime) => {
      const answerer = guesser(runtime, { window: 32 });
      await answerer.answer("What?", BRIDGE);
      const before = runtime.memory.usedBytes;
      const context = `${BRIDGE} `.repeat(300);
      const controller = new AbortController();
      const stopped = answerer.answer("What?", context, { signal: controller.signal });
      setTimeout(() => controller.abort(new Error("enough")), 20);
      await expect(stopped).rejects.toThrow("enough");
      expect(runtime.memory.usedBytes).toBe(before);
      await expect(
        answerer.answer("What?", BRIDGE, { signal: AbortSignal.abort(new Error("early")) }),
      ).rejects.toThrow("early");
      expect((await answerer.answer("What?", BRIDGE)).answers).toHaveLength(1);
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });

  test.each<[string, (answerer: QuestionAnswerer) => Promise<unknown>, string]>([
    [
      "a blank question",
      (a) => a.answer(" ", BRIDGE),
      "the question must have 1 to 512 tokens, got 0",
    ],
    [
      "a question that is a book",
      (a) => a.answer("what ".repeat(600), BRIDGE),
      "the question must have 1 to 512 tokens, got 600",
    ],
    [
      "a context that is a library",
      (a) => a.answer("What?", "x ".repeat(2 ** 20)),
      "the context must have at most 1048576 characters, got 2097152. Give its parts",
    ],
    [
      "no text",
      (a) => a.answer(undefined as unknown as string, BRIDGE),
      "the question must be a string, got undefined",
    ],
    [
      "no context",
      (a) => a.answer("What?", 5 as unknown as string),
      "the context must be a string, got number",
    ],
    [
      "top 0",
      (a) => a.answer("What?", BRIDGE, { top: 0 }),
      "top must be a whole number from 1 to 100, got 0",
    ],
    ["top 1.5", (a) => a.answer("What?", BRIDGE, { top: 1.5 }), "got 1.5"],
    [
      "longest 0",
      (a) => a.answer("What?", BRIDGE, { longest: 0 }),
      "longest must be a whole number",
    ],
    [
      "noAnswer −1",
      (a) => a.answer("What?", BRIDGE, { noAnswer: -1 }),
      "noAnswer must be a number from 0 up, got -1",
    ],
    ...(["0.5", null, [], true] as unknown as number[]).map(
      (noAnswer): [string, (answerer: QuestionAnswerer) => Promise<unknown>, string] => [
        `noAnswer ${JSON.stringify(noAnswer)}`,
        (a) => a.answer("What?", BRIDGE, { noAnswer }),
        `noAnswer must be a number, got ${JSON.stringify(noAnswer)}`,
      ],
    ),
    ["noAnswer NaN", (a) => a.answer("What?", BRIDGE, { noAnswer: Number.NaN }), "got NaN"],
    [
      "another decoding",
      (a) => a.answer("What?", BRIDGE, { decoding: "beam" as "best" }),
      "decoding must be best or greedy, got beam",
    ],
  ])("refuses %s", async (_, call, message) => {
    await withRuntime({}, async (runtime) => {
      const answerer = guesser(runtime);
      const before = runtime.memory.usedBytes;
      await expect(call(answerer)).rejects.toThrow(`answer: `);
      await expect(call(answerer)).rejects.toThrow(message);
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });
});
