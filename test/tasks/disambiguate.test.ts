import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FormatError, StateError } from "../../src/errors.js";
import { readModelFolder } from "../../src/io/model-folder.js";
import { bytesSource } from "../../src/io/sources.js";
import { init } from "../../src/node.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import {
  cosineSimilarity,
  type Disambiguation,
  type Disambiguator,
  loadDisambiguator,
  senseAttention,
} from "../../src/tasks/disambiguate.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { testRuntime, withRuntime } from "../support/runtime.js";
import { SENSE_CONFIG, senseModel } from "../support/sense-model.js";

async function load(runtime: Runtime, config?: object): Promise<Disambiguator> {
  const folder = await readModelFolder(bytesSource(senseModel(config)));
  return loadDisambiguator(runtime, folder, "small");
}

describe("Disambiguator", () => {
  let runtime: Runtime;
  let small: Disambiguator;
  beforeAll(async () => {
    runtime = await testRuntime();
    small = await load(runtime);
  });
  afterAll(() => runtime.dispose());

  test("tells the sense with its probability, by hand", async () => {
    const [use, ...others] = await small.disambiguate("bank", "A loan by the bank.");
    expect(others).toEqual([]);
    expect(use).toMatchObject({ word: "bank", start: 14, end: 18, sense: "money" });
    // bank [1, 1] · loan [1, 0] = 1 and · the [0, 0] = 0: e to 1; "a" and "by" are not known.
    const loan = Math.E / (Math.E + 1);
    expect(use?.context).toEqual(["A", "loan", "by", "the"]);
    expectClose(use?.weights ?? [], [0, loan, 0, 1 - loan], 3e-7);
    expectClose(use?.embedding ?? [], [loan, 0], 3e-7);
    // Cosines 1 and 0 at a temperature of 0.5: e² to 1.
    const money = Math.exp(2) / (Math.exp(2) + 1);
    expect(use?.senses.map(({ sense }) => sense)).toEqual(["money", "river"]);
    expectClose(use?.senses.map(({ probability }) => probability) ?? [], [money, 1 - money], 3e-7);
    expect(use?.probability).toBe(use?.senses[0]?.probability);
  });

  test("gives the nearest labelled sentences, the most similar first", async () => {
    const [use] = await small.disambiguate("bank", "The water by the bank", { nearest: 3 });
    expect(use?.sense).toBe("river");
    const [first, second, third] = use?.nearest ?? [];
    expect([first?.sense, second?.sense, third?.sense]).toEqual(["river", "river", "money"]);
    expect(new Set([first?.sentence, second?.sentence])).toEqual(
      new Set(SENSE_CONFIG.words[0].senses[1].examples),
    );
    for (const { sentence, start, end } of use?.nearest ?? [])
      expect(sentence.slice(start, end)).toMatch(/^banks?$/);
    expectClose([first?.similarity ?? 0, third?.similarity ?? 1], [1, 0], 3e-7);
    expect(second?.similarity).toBeLessThanOrEqual(first?.similarity ?? 0);
    const [bare] = await small.disambiguate("bank", "The bank", { nearest: 0 });
    expect(bare?.nearest).toEqual([]);
    const [all] = await small.disambiguate("bank", "The bank", { nearest: 100 });
    expect(all?.nearest).toHaveLength(4);
  });

  test("calls a use familiar that is like some labelled sentence, however many are asked for", async () => {
    // Half loan, half water: 45° from what any example looks at, cosine 0.7071.
    for (const [familiarity, familiar] of [
      [0.7, true],
      [0.71, false],
    ] as const)
      await withRuntime({}, async (own) => {
        const strict = await load(own, { ...SENSE_CONFIG, familiarity });
        for (const nearest of [0, 1, 5]) {
          const [between] = await strict.disambiguate("bank", "loan, water, bank", { nearest });
          expect(between?.familiar).toBe(familiar);
          const [like] = await strict.disambiguate("bank", "the river bank", { nearest });
          expect(like?.familiar).toBe(true);
          const [unlike] = await strict.disambiguate("bank", "a bank", { nearest });
          expect(unlike?.familiar).toBe(false);
        }
      });
    const [use] = await small.disambiguate("bank", "a bank");
    expect(use?.familiar).toBe(true);
  });

  test("answers for each occurrence in any form, the others being its context", async () => {
    const sentence = "BANKS have money; here, by the old bank's river, the Bank-river.";
    const found = await small.disambiguate(" Bank ", sentence);
    expect(found.map(({ start, end }) => sentence.slice(start, end))).toEqual([
      "BANKS",
      "bank",
      "Bank",
    ]);
    expect(found.map(({ sense }) => sense)).toEqual(["money", "river", "river"]);
    expect(found[0]?.context).toEqual(["have", "money", "here", "by"]);
    expect(found[2]?.context).toEqual(["bank", "s", "river", "the", "river"]);
  });

  test("adds the weights of a word's pieces up", async () => {
    // "rivers" is river [0, 2] and ##s [0, 0] with scores 2 and 0; "the" has 0.
    const [use] = await small.disambiguate("bank", "The bank rivers");
    const all = Math.exp(2) + 2;
    expectClose(use?.weights ?? [], [1 / all, (Math.exp(2) + 1) / all], 3e-7);
  });

  test("looks no further than its window", async () => {
    const far = `${"the ".repeat(3)}river bank loan loan loan loan money money`;
    const [use] = await small.disambiguate("bank", `water water ${far}`);
    expect(use?.context).toEqual(["the", "the", "the", "river", "loan", "loan", "loan", "loan"]);
  });

  test("keeps the senses of one word apart from those of another", async () => {
    const [use] = await small.disambiguate("tips", "Tips of water");
    expect(use?.word).toBe("tip");
    expect(use?.senses.map(({ sense }) => sense).sort()).toEqual(["end", "money"]);
    expectClose([use?.probability ?? 0], [0.5], 3e-7);
    expect(small.words).toEqual([
      { word: "bank", senses: ["money", "river"] },
      { word: "tip", senses: ["money", "end"] },
    ]);
  });

  test("knows only the words' own leanings where the context says nothing", async () => {
    for (const sentence of ["bank", "bank!", "ξένη bank 漢字", "bank 😀"]) {
      const [use] = await small.disambiguate("bank", sentence);
      expect([...(use?.weights ?? [1])].every((weight) => weight === 0)).toBe(true);
      expectClose(use?.senses.map(({ probability }) => probability) ?? [], [0.5, 0.5], 3e-7);
    }
  });

  test("gives many sentences what each gets alone, and none to those without the word", async () => {
    const sentences = Array.from({ length: 150 }, (_, index) =>
      index % 7 === 3
        ? "No such word."
        : `${"the ".repeat(index % 9)}bank ${index % 2 ? "money" : "river"} ${"water ".repeat(index % 4)}`,
    );
    const together = await small.disambiguateAll("bank", sentences, { nearest: 1 });
    expect(together.map(({ length }) => length)).toEqual(
      sentences.map((_, index) => (index % 7 === 3 ? 0 : 1)),
    );
    for (const index of [0, 1, 2, 8, 149]) {
      const [alone] = await small.disambiguate("bank", sentences[index] as string, { nearest: 1 });
      const [one] = together[index] ?? [];
      expectSameBits(one?.embedding ?? [], alone?.embedding ?? []);
      expectSameBits(one?.weights ?? [], alone?.weights ?? []);
      expect(one).toEqual(alone);
    }
    expect(await small.disambiguateAll("bank", [])).toEqual([]);
  });

  test("gives the same bits on two threads, and for calls side by side", async () => {
    const sentences = ["the river bank", "a loan, the bank", "bank"];
    const alone = await small.disambiguateAll("bank", sentences);
    const both = await Promise.all([
      small.disambiguateAll("bank", sentences),
      small.disambiguateAll("bank", sentences),
    ]);
    expect(both).toEqual([alone, alone]);
    await withRuntime({ threads: 2 }, async (two) => {
      expect(await (await load(two)).disambiguateAll("bank", sentences)).toEqual(alone);
    });
  });

  test("refuses words that it does not know, and sentences without the word", async () => {
    await expect(small.disambiguate("dog", "The dog")).rejects.toThrow(
      'disambiguate: the word must be one of bank, tip, got "dog"',
    );
    await expect(small.disambiguate("bank", "The embankment\u001b")).rejects.toThrow(
      'disambiguate: the sentence must hold "bank" or "banks", got "The embankment\\u001b"',
    );
    await expect(small.disambiguate("bank", "")).rejects.toThrow(RangeError);
    await expect(small.disambiguate(5 as unknown as string, "bank")).rejects.toThrow(
      "disambiguate: the word must be a string, got number",
    );
    await expect(small.disambiguate("bank", null as unknown as string)).rejects.toThrow(
      "disambiguate: the sentence must be a string, got object",
    );
    for (const nearest of [-1, 101, 1.5, Number.NaN])
      await expect(small.disambiguate("bank", "bank", { nearest })).rejects.toThrow(RangeError);
  });

  test("stops at a signal", async () => {
    const reason = new Error("enough");
    const { signal } = new AbortController();
    const aborted = AbortSignal.abort(reason);
    await expect(small.disambiguate("bank", "bank", { signal: aborted })).rejects.toBe(reason);
    expect(await small.disambiguate("bank", "bank", { signal })).toHaveLength(1);
  });

  test("draws where a word looked", async () => {
    const [use] = await small.disambiguate("bank", "The bank, the money");
    if (!use) throw new Error("there must be an answer");
    expect(senseAttention(use)).toEqual({
      title: "The bank, the money",
      kind: "self",
      queries: ["bank"],
      keys: ["The", "the", "money"],
      weights: [[[use.weights]]],
    });
  });

  test("needs no more memory in a steady loop, and gives all back", async () => {
    await withRuntime({}, async (own) => {
      const before = own.memory.usedBytes;
      const model = await load(own);
      await model.disambiguate("bank", "the river bank");
      const { usedBytes, capacityBytes } = own.memory;
      for (let i = 0; i < 30; i++) await model.disambiguate("bank", "the bank ".repeat(i + 1));
      expect(own.memory.usedBytes).toBe(usedBytes);
      expect(own.memory.capacityBytes).toBe(capacityBytes);
      model.dispose();
      model.dispose();
      expect(own.memory.usedBytes).toBe(before);
      await expect(model.disambiguate("bank", "bank")).rejects.toThrow(StateError);
      expect(own.memory.usedBytes).toBe(before);
    });
  });
});

describe("Disambiguator, with the model that comes with heed", () => {
  test("tells the senses of bank apart, and says when none of them is meant", async () => {
    const heed = await init({ threads: 1 });
    const shipped = await heed.load("models/disambiguate-en", "disambiguate");
    const found = await shipped.disambiguateAll("bank", [
      "I need to go to the bank to deposit money.",
      "We sat by the river bank watching the sunset.",
      "The plane had to bank sharply to avoid the storm.",
    ]);
    heed.dispose();
    const uses = found.map(([use]) => use as Disambiguation);
    expect(uses.map(({ sense, familiar }) => (familiar ? sense : "another"))).toEqual([
      "money",
      "river",
      "another",
    ]);
    const [money, river, plane] = uses.map(({ embedding }) => embedding) as [
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    for (const [a, b] of [
      [money, river],
      [money, plane],
      [river, plane],
    ] as const)
      expect(cosineSimilarity(a, b)).toBeLessThan(0.5);
  });
});

describe("cosineSimilarity()", () => {
  test("compares directions", () => {
    expect(cosineSimilarity([3, 4], [6, 8])).toBeCloseTo(1, 12);
    expect(cosineSimilarity([1, 0], [0, 5])).toBe(0);
    expect(cosineSimilarity([1, 2], [-1, -2])).toBeCloseTo(-1, 12);
    expect(cosineSimilarity([0, 0], [1, 2])).toBe(0);
    expect(() => cosineSimilarity([1], [1, 2])).toThrow(
      "cosineSimilarity: both embeddings must be equally long, got 1 and 2",
    );
  });
});

describe("loadDisambiguator()", () => {
  const [bank, tip] = SENSE_CONFIG.words;
  const [money, river] = bank.senses;
  const withSenses = (...senses: object[]): object => ({
    ...SENSE_CONFIG,
    words: [{ ...bank, senses }, tip],
  });
  const withForms = (...forms: unknown[]): object => ({
    ...SENSE_CONFIG,
    words: [{ ...bank, forms }, tip],
  });

  test.each([
    ["CONFIG_FIELD", '"task" must be "disambiguate"', { ...SENSE_CONFIG, task: "translate" }],
    ["CONFIG_FIELD", '"window" must be', { ...SENSE_CONFIG, window: 0 }],
    ["CONFIG_FIELD", '"familiarity" must be', { ...SENSE_CONFIG, familiarity: 2 }],
    ["CONFIG_FIELD", '"temperature" must be', { ...SENSE_CONFIG, temperature: 0 }],
    ["CONFIG_FIELD", '"words" must be an array', { ...SENSE_CONFIG, words: {} }],
    ["CONFIG_FIELD", '"context" must be "embedding"', { ...SENSE_CONFIG, context: 3 }],
    ["CONFIG_FIELD", 'words.0: "forms" must be', { ...SENSE_CONFIG, words: [{ word: "bank" }] }],
    ["CONFIG_FIELD", "words.0: the value must be an object", { ...SENSE_CONFIG, words: [3] }],
    ["CONFIG_FIELD", "words.0.forms.1: must be text", withForms("bank", 4)],
    ["CONFIG_FIELD", 'words.0.senses.0: "name" must be', withSenses({ examples: [] })],
    [
      "CONFIG_FIELD",
      "words.0.senses.0.examples.0: must be text of 1 to 1000 characters",
      withSenses({ name: "a", examples: [`bank ${"x".repeat(1000)}`] }, river),
    ],
    ["CONFIG_WORDS", "hold the word itself", withForms("banks")],
    ["CONFIG_WORDS", "be forms of one word alone", withForms("bank", "bank")],
    ["CONFIG_WORDS", "be forms of one word alone", withForms("bank", "banks", "tip")],
    ["CONFIG_WORDS", "single words in small letters", withForms("bank", "Banks")],
    ["CONFIG_WORDS", "single words in small letters", withForms("bank", "river bank")],
    ["CONFIG_WORDS", "have names, each its own", withSenses(money, money)],
    ["CONFIG_WORDS", "have names, each its own", withSenses()],
    [
      "CONFIG_WORDS",
      'have examples that hold "bank" once',
      withSenses(money, { name: "river", examples: ["No such word"] }),
    ],
    [
      "CONFIG_WORDS",
      'have examples that hold "bank" once',
      withSenses(money, { name: "river", examples: ["Bank by bank"] }),
    ],
    ["CONFIG_WEIGHTS", '"sense_prototypes" must be [3, 2]', withSenses(money)],
    ["CONFIG_WEIGHTS", '"word_embeddings.weight" must be', { ...SENSE_CONFIG, vocab: 11 }],
    [
      "CONFIG_TOKENIZER",
      '"padding" must be that of <pad>, 0, got 10',
      { ...SENSE_CONFIG, padding: 10 },
    ],
  ])("refuses with %s: %s", async (code, message, config) => {
    await withRuntime({}, async (runtime) => {
      const error = await load(runtime, config).then(
        () => expect.fail("it must be refused"),
        (error: unknown) => error,
      );
      expect(error).toBeInstanceOf(FormatError);
      expect((error as FormatError).code).toBe(code);
      expect((error as FormatError).message).toContain(message);
      expect((error as FormatError).message).toContain("small: ");
      expect(runtime.memory.usedBytes).toBe(0);
    });
  });

  test("refuses a word that is no token of its own", async () => {
    await withRuntime({}, async (runtime) => {
      const words = [bank, { ...tip, word: "tips" }];
      await expect(load(runtime, { ...SENSE_CONFIG, words })).rejects.toThrow(
        "tokenizer: the vocabulary must hold tips",
      );
      expect(runtime.memory.usedBytes).toBe(0);
    });
  });
});
