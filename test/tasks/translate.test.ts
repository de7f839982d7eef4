import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.js";
import type { Heed } from "../../src/heed.js";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { init } from "../../src/node.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { Translator } from "../../src/tasks/translate.js";
import type { TranslatedSentence, Translation } from "../../src/tasks/translation.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { withRuntime } from "../support/runtime.js";

const MODEL = "models/translate-en-es";
const TEXTS = [
  "The black cat sleeps.",
  "Where is the hotel?",
  "I don't know what to say.",
  "",
  "He reads. She writes! Do they talk?",
  "A long sentence in which the cat, the dog and the bird go to the house of the man.",
];

const tokenizer = loadTokenizer(readFileSync(`${MODEL}/tokenizer.json`));

/** A small translator whose weights are drawn: what it says is babble, but it is quick. */
function babbler(runtime: Runtime): Translator {
  runtime.seed(3);
  const { vocabSize } = tokenizer;
  const sizes = { sourceVocab: vocabSize, targetVocab: vocabSize, embedding: 8, hidden: 8 };
  return new Translator(new Seq2Seq(runtime, { ...sizes, padding: 0 }), tokenizer);
}

function expectSame(actual: Translation, expected: Translation): void {
  expect(actual.text).toBe(expected.text);
  expect(actual.score).toBe(expected.score);
  expect(actual.sentences).toHaveLength(expected.sentences.length);
  expected.sentences.forEach(({ attention, source, target }, index) => {
    const sentence = actual.sentences[index];
    expect(sentence?.source).toEqual(source);
    expect(sentence?.target).toEqual(target);
    attention.forEach((row, piece) => {
      expectSameBits(sentence?.attention[piece] ?? [], row, `${expected.text}, piece ${piece}`);
    });
  });
}

describe("Translator, with the model that comes with heed", () => {
  let heed: Heed;
  let translator: Translator;
  let alone: Translation[];

  beforeAll(async () => {
    heed = await init({ threads: 1 });
    translator = await heed.load(MODEL);
    alone = [];
    for (const text of TEXTS) alone.push(await translator.translate(text));
  });
  afterAll(() => heed.dispose());

  test("translates each sentence of a text", () => {
    expect(alone.map(({ sentences }) => sentences.length)).toEqual([1, 1, 1, 0, 3, 1]);
    expect(alone[3]).toMatchObject({ text: "", attention: [], alignment: [] });
  });

  test.each<[string, RegExp]>([
    ["The black cat sleeps.", /^El gato negro (duerme|está durmiendo)\.$/],
    [
      "The cat sat on the mat.",
      /^El gato (se sentó|estaba sentado) (en|sobre) (la alfombra|la estera|el felpudo)\.$/,
    ],
    ["I am reading a book.", /^(Yo )?[Ee]stoy leyendo un libro\.$/],
  ])("translates %j", async (text, right) => {
    expect((await translator.translate(text)).text).toMatch(right);
  });

  test("looks from the noun to the noun and from the adjective to the adjective, which cross", () => {
    const { sentences } = alone[0] as Translation;
    const { source, target, alignment } = sentences[0] as TranslatedSentence;
    const lookedAt = (word: string): string | undefined => {
      const row = [...(alignment[target.words.indexOf(word)] as Float32Array)];
      return source.words[row.indexOf(Math.max(...row))];
    };
    expect(lookedAt("gato")).toBe("cat");
    expect(lookedAt("negro")).toBe("black");
  });

  test("gives weights that sum to 1 over the pieces of the source", () => {
    for (const { source, target, attention, alignment } of alone.flatMap((t) => t.sentences)) {
      expect(attention).toHaveLength(target.tokens.length);
      expect(alignment).toHaveLength(target.words.length);
      for (const row of attention) {
        expect(row).toHaveLength(source.tokens.length);
        // as many f32 weights as there are pieces
        expect(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThan(1e-5);
      }
      for (const row of alignment) expect(row).toHaveLength(source.words.length);
    }
  });

  test("gives a batch the bits of its texts alone", async () => {
    const together = await translator.translateAll(TEXTS);
    together.forEach((translation, index) => {
      expectSame(translation, alone[index] as Translation);
    });
  });

  test.each([2, 3, 4])("gives the same bits on %d threads", async (threads) => {
    const more = await init({ threads });
    const found = await (await more.load(MODEL)).translateAll(TEXTS);
    found.forEach((translation, index) => {
      expectSame(translation, alone[index] as Translation);
    });
    more.dispose();
  });

  test("gives two calls at once what each gives alone", async () => {
    const both = await Promise.all(TEXTS.map((text) => translator.translate(text)));
    both.forEach((translation, index) => {
      expectSame(translation, alone[index] as Translation);
    });
  });
});

describe("Translator", () => {
  test("tells partial texts that end with the result", async () => {
    await withRuntime({}, async (runtime) => {
      const translator = babbler(runtime);
      for (const text of [TEXTS[0] as string, TEXTS[4] as string]) {
        const told: string[] = [];
        const { text: result } = await translator.translate(text, {
          onPartial: (partial) => told.push(partial),
        });
        expect(told.length).toBeGreaterThan(5);
        expect(told.at(-1)).toBe(result);
      }
      const silent = await translator.translate("", { onPartial: () => expect.fail("no partial") });
      expect(silent.text).toBe("");
    });
  });

  test("keeps the order of more sentences than go into a batch", async () => {
    await withRuntime({}, async (runtime) => {
      const translator = babbler(runtime);
      const random = seeded(9);
      const texts = Array.from({ length: 70 }, () =>
        Array.from({ length: 1 + random.integer(6) }, () => "cat").join(" "),
      );
      const found = await translator.translateAll([...texts, texts.join(". ")], { beam: 2 });
      const long = found.pop() as Translation;
      expect(found.map(({ source }) => source.words.join(" "))).toEqual(texts);
      expect(long.sentences.map(({ text }) => text)).toEqual(
        (
          await translator.translateAll(
            texts.map((text, i) => (i < 69 ? `${text}.` : text)),
            {
              beam: 2,
            },
          )
        ).map(({ text }) => text),
      );
    });
  });

  test("stops at a signal and leaves no tensor behind", async () => {
    await withRuntime({}, async (runtime) => {
      const translator = babbler(runtime);
      await translator.translate("The cat.");
      const before = runtime.memory.usedBytes;
      const reason = new Error("enough");
      for (const after of [0, 1, 5]) {
        const controller = new AbortController();
        let steps = 0;
        const stop = (): void => {
          if (steps++ >= after) controller.abort(reason);
        };
        if (after === 0) stop();
        const translating = translator.translate("The cat sat on the mat.", {
          signal: controller.signal,
          onPartial: stop,
        });
        await expect(translating).rejects.toBe(reason);
        expect(runtime.memory.usedBytes).toBe(before);
      }
      const other = { signal: AbortSignal.abort() };
      await expect(translator.translateAll(["a", "b"], other)).rejects.toThrow("aborted");
    });
  });

  test("needs no new memory after the first 50 of 1,000 translations", async () => {
    await withRuntime({ poison: false, splitting: false }, async (runtime) => {
      const translator = babbler(runtime);
      // A likely end token keeps the thousand short.
      const bias = translator.model.stateDict().get("decoder.fc_out.bias") as Tensor;
      bias.write(bias.read().with(3, 5));
      const random = seeded(21);
      const words = ["the", "cat", "sleeps", "house", "yesterday", "unbelievable", "a", "dog"];
      const sentence = (): string =>
        Array.from({ length: 1 + random.integer(12) }, () => words[random.integer(8)]).join(" ");
      let used = 0;
      let capacity = 0;
      for (let count = 0; count < 1000; count++) {
        await translator.translate(sentence());
        if (count === 49) {
          used = runtime.memory.usedBytes;
          capacity = runtime.memory.capacityBytes;
        }
      }
      expect(runtime.memory.usedBytes).toBe(used);
      expect(runtime.memory.capacityBytes).toBe(capacity);
    });
  });

  test("gives all its memory back, and cannot be used after that", async () => {
    await withRuntime({}, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const translator = babbler(runtime);
      await translator.translate("The cat.");
      translator.dispose();
      translator.dispose();
      expect(runtime.memory.usedBytes).toBe(before);
      await expect(translator.translate("The cat.")).rejects.toThrow(StateError);
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });

  test("takes any text", async () => {
    await withRuntime({ splitting: false, poison: false }, async (runtime) => {
      const translator = babbler(runtime);
      const texts = [
        "😀😀",
        "日本語のテキスト",
        "\0\u0007\u001b[31m",
        "\ud800",
        "x".repeat(300),
        "…",
        "?!",
      ];
      for (const { text, sentences } of await translator.translateAll(texts, { beam: 2 })) {
        expect(typeof text).toBe("string");
        expect(sentences.length).toBeGreaterThan(0);
      }
    });
  });

  test("refuses what is no text, and options out of range", async () => {
    await withRuntime({}, async (runtime) => {
      const translator = babbler(runtime);
      await expect(translator.translate(5 as unknown as string)).rejects.toThrow(
        "translate: the text must be a string, got number",
      );
      await expect(translator.translate("a", { beam: 0 })).rejects.toThrow(RangeError);
      await expect(translator.translate("a", { lengthPenalty: -1 })).rejects.toThrow(RangeError);
    });
  });
});
