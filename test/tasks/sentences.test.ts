import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { segmentsOf, splitPunctuation, splitSentences, textOf } from "../../src/tasks/sentences.js";
import { cpuTime } from "../io/cpu-time.js";

const tokenizer = loadTokenizer(readFileSync("models/translate-en-es/tokenizer.json"));

describe("splitSentences()", () => {
  test.each([
    ["", []],
    [" \n\t ", []],
    ["No end", ["No end"]],
    ["One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]],
    ['He said "No." Then he left.', ['He said "No."', "Then he left."]],
    ["(Really?) Yes.", ["(Really?)", "Yes."]],
    ["Line one\nline two\r\n\r\nline three", ["Line one", "line two", "line three"]],
    ["It costs 3.50 now. See heed.dev today.", ["It costs 3.50 now.", "See heed.dev today."]],
    ["Wait... what?!", ["Wait...", "what?!"]],
    ["The\tblack\u00a0 cat   sleeps.", ["The black cat sleeps."]],
    // Nothing is known of abbreviations: they end a sentence.
    ["Mr. Smith sleeps.", ["Mr.", "Smith sleeps."]],
  ])("splits %j", (text, sentences) => {
    expect(splitSentences(text)).toEqual(sentences);
  });

  test.each([
    ["quotes", '"'.repeat(2 ** 18) + " ".repeat(2 ** 18)],
    ["brackets", `${")".repeat(50)} `.repeat(2 ** 13)],
    ["full stops", ". ".repeat(2 ** 18)],
    ["line breaks", "\r\n".repeat(2 ** 18)],
  ])("takes linear time for half a million %s", (_, text) => {
    expect(cpuTime(() => splitSentences(text))).toBeLessThan(3000);
  });
});

describe("splitPunctuation()", () => {
  const split = (text: string): string[] => {
    const { tokens, ids, ...words } = tokenizer.encode(text);
    return splitPunctuation(words, ids.map(tokenizer.surfaceOf)).wordTexts;
  };

  test.each([
    ["The black cat sleeps.", ["The", "black", "cat", "sleeps", "."]],
    ["«Hello, (world)!»", ["«", "Hello", ",", "(", "world", ")!»"]],
    ["I don't know 3.5 well-known things", ["I", "don't", "know", "3.5", "well-known", "things"]],
    ["... - ?", ["...", "-", "?"]],
    ["¿Dónde está?", ["¿", "Dónde", "está", "?"]],
    ["word", ["word"]],
    ["", []],
  ])("makes words of %j", (text, words) => {
    expect(split(text)).toEqual(words);
  });

  test("gives every token its word", () => {
    const words = { words: [0, 0, 0, 1, 2, 2], wordTexts: ["«ab»", "c", "d."] };
    expect(splitPunctuation(words, [" «", "ab", "»", " c", " d", "."])).toEqual({
      words: [0, 1, 2, 3, 4, 5],
      wordTexts: ["«", "ab", "»", "c", "d", "."],
    });
  });

  test("leaves a word whole when its tokens do not end where the punctuation begins", () => {
    const words = { words: [0, 0, 1], wordTexts: ["ab.", "c!"] };
    expect(splitPunctuation(words, ["a", "b.", " c!"])).toEqual(words);
  });

  test("leaves a word whole when its tokens are written otherwise than the text", () => {
    const words = { words: [0, 0], wordTexts: ["ab…"] };
    expect(splitPunctuation(words, ["ab", "..."])).toEqual(words);
  });

  test("leaves out words without tokens", () => {
    const words = { words: [0, 2], wordTexts: ["a", "\u200b", "b"] };
    expect(splitPunctuation(words, ["a", " b"])).toEqual({ words: [0, 1], wordTexts: ["a", "b"] });
  });
});

describe("a word of more tokens than a call takes arguments", () => {
  const many = 200_000;

  test("is split by splitPunctuation()", () => {
    const surfaces = ["«", ...new Array<string>(many).fill("a"), "»"];
    const words = surfaces.map(() => 0);
    const found = splitPunctuation({ words, wordTexts: [surfaces.join("")] }, surfaces);
    expect(found.wordTexts).toEqual(["«", "a".repeat(many), "»"]);
    expect(found.words).toHaveLength(many + 2);
    const nameless = splitPunctuation({ words: words.map(() => -1), wordTexts: [] }, surfaces);
    expect(nameless.words).toHaveLength(many + 2);
  });

  test("is cut by segmentsOf(), and read by textOf()", () => {
    const tokenizer = loadTokenizer(readFileSync("models/translate-en-es/tokenizer.json"));
    const segments = segmentsOf("a".repeat(many), tokenizer, 80);
    const ids = segments.flatMap(({ ids }) => ids);
    expect(ids).toEqual(tokenizer.ids("a".repeat(many)));
    const each = Array.from({ length: many }, (_, index) => ids[index % ids.length] as number);
    expect(textOf(each, tokenizer).wordOf).toHaveLength(many);
  });
});

describe("segmentsOf()", () => {
  test("gives the ids of each sentence", () => {
    const segments = segmentsOf("One cat. Two dogs.", tokenizer, 80);
    expect(segments.map(({ ids }) => ids)).toEqual([
      tokenizer.ids("One cat."),
      tokenizer.ids("Two dogs."),
    ]);
    expect(segments.map(({ text }) => text.words)).toEqual([
      ["One", "cat", "."],
      ["Two", "dogs", "."],
    ]);
  });

  test.each([1, 2, 5, 9])(
    "cuts a long sentence between words, at most %d tokens a part",
    (most) => {
      const text = "the extraordinarily long sentence goes on and on";
      const segments = segmentsOf(text, tokenizer, most);
      expect(segments.flatMap(({ ids }) => [...ids])).toEqual(tokenizer.ids(text));
      for (const { ids, text } of segments) {
        expect(ids.length).toBeLessThanOrEqual(most);
        expect(text.tokens).toHaveLength(ids.length);
        expect(text.wordOf[0]).toBe(0);
        expect(text.wordOf.at(-1)).toBe(text.words.length - 1);
      }
      const longest = Math.max(...text.split(" ").map((word) => tokenizer.ids(word).length));
      if (most >= longest)
        expect(segments.flatMap(({ text }) => [...text.words])).toEqual(text.split(" "));
    },
  );

  test("cuts one long word into parts of full length", () => {
    const segments = segmentsOf("x".repeat(5000), tokenizer, 80);
    const { length } = tokenizer.ids("x".repeat(5000));
    expect(segments).toHaveLength(Math.ceil(length / 80));
  });
});

describe("textOf()", () => {
  test("gives ids their tokens and words", () => {
    const ids = tokenizer.ids("¿Dónde está el gato?");
    const { tokens, words, wordOf } = textOf(ids, tokenizer);
    expect(tokens).toEqual(ids.map(tokenizer.tokenOf));
    expect(words).toEqual(["¿", "Dónde", "está", "el", "gato", "?"]);
    expect(new Set(wordOf)).toEqual(new Set(words.keys()));
  });
});
