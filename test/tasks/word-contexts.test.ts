import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { ContextReader, wordsIn } from "../../src/tasks/word-contexts.js";
import { senseModel } from "../support/sense-model.js";

const tokenizer = loadTokenizer(senseModel()["tokenizer.json"] as Uint8Array);

describe("wordsIn()", () => {
  test("finds runs of letters, marks and digits with their places", () => {
    expect(wordsIn(" A bank's 2nd-best, naïve!")).toEqual([
      { text: "A", start: 1, end: 2 },
      { text: "bank", start: 3, end: 7 },
      { text: "s", start: 8, end: 9 },
      { text: "2nd", start: 10, end: 13 },
      { text: "best", start: 14, end: 18 },
      { text: "naïve", start: 20, end: 25 },
    ]);
    expect(wordsIn("…?! \u001b")).toEqual([]);
  });

  test("counts places in UTF-16 units, and keeps marks with their letter", () => {
    const text = "😀 e\u0301te\u0301 bank";
    expect(wordsIn(text).map(({ text: word, start }) => [word, start])).toEqual([
      ["e\u0301te\u0301", 3],
      ["bank", 9],
    ]);
  });
});

describe("ContextReader", () => {
  const reader = new ContextReader(tokenizer, 2);

  test("gives the ids of up to `window` words on each side, without the word itself", () => {
    const words = wordsIn("money loan the bank rivers water water");
    const { ids, wordOf, words: near } = reader.around(words, 3);
    expect(near.map(({ text }) => text)).toEqual(["loan", "the", "rivers", "water"]);
    expect(ids.map((id) => tokenizer.tokenOf(id))).toEqual([
      "loan",
      "the",
      "river",
      "##s",
      "water",
    ]);
    expect(wordOf).toEqual([0, 1, 2, 2, 3]);
  });

  test("stops at the ends of the sentence", () => {
    expect(reader.around(wordsIn("bank"), 0)).toEqual({ ids: [], wordOf: [], words: [] });
    const { words } = reader.around(wordsIn("money bank loan"), 0);
    expect(words.map(({ text }) => text)).toEqual(["bank", "loan"]);
  });

  test("leaves out what the vocabulary does not hold, but keeps the word's place", () => {
    const { ids, wordOf, words } = reader.around(wordsIn("quark LOAN bank 漢字 river"), 2);
    expect(ids.map((id) => tokenizer.tokenOf(id))).toEqual(["loan", "river"]);
    expect(wordOf).toEqual([1, 3]);
    expect(words).toHaveLength(4);
  });

  test("reads a word the same however often", () => {
    expect(reader.idsOf("Rivers")).toEqual(tokenizer.ids("rivers"));
    expect(reader.idsOf("Rivers")).toBe(reader.idsOf("Rivers"));
    expect(reader.idsOf("<pad>")).toEqual([]);
  });
});
