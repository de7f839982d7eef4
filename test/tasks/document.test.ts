import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { beginningOf, sentencesOf, windowsOf } from "../../src/tasks/document.js";
import { cutSentence } from "../../src/tasks/sentences.js";
import { cpuTime } from "../io/cpu-time.js";

const tokenizer = loadTokenizer(readFileSync("models/translate-en-es/tokenizer.json"));
const texts = (text: string): string[] => sentencesOf(text).map((sentence) => sentence.text);

describe("sentencesOf()", () => {
  test.each([
    ["", []],
    [" \n\n\t ", []],
    ["No end", ["No end"]],
    ["One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]],
    ['He said "No." Then he left.', ['He said "No."', "Then he left."]],
    ["It costs 3.50 now. See heed.dev today.", ["It costs 3.50 now.", "See heed.dev today."]],
    ["Wait... what?! Yes.", ["Wait... what?!", "Yes."]],
    [
      "J. K. Rowling wrote it. Mr. Smith read it.",
      ["J. K. Rowling wrote it.", "Mr. Smith read it."],
    ],
    ["Born c. 1850 in St. Louis. Died 1928.", ["Born c. 1850 in St. Louis.", "Died 1928."]],
    ["Made by Gap Inc. in the U.S. army.", ["Made by Gap Inc. in the U.S. army."]],
    ["a wrapped\nline goes on. Next\r\nline.", ["a wrapped line goes on.", "Next line."]],
    ["Title\n\nText here.\r\n \r\nMore", ["Title", "Text here.", "More"]],
    ["The\tblack\u00a0 cat   sleeps.", ["The black cat sleeps."]],
  ])("splits %j", (text, sentences) => {
    expect(texts(text)).toEqual(sentences);
  });

  test("tells where each sentence stands, and in which paragraph", () => {
    const text = "  One 1. Two\n2!\n\n\n Three.  ";
    expect(sentencesOf(text)).toEqual([
      { text: "One 1.", start: 2, end: 8, paragraph: 0 },
      { text: "Two 2!", start: 9, end: 15, paragraph: 0 },
      { text: "Three.", start: 19, end: 25, paragraph: 1 },
    ]);
    expect(text.slice(9, 15)).toBe("Two\n2!");
  });

  test.each([
    ["quotes", `.${'"'.repeat(2 ** 18)}`],
    ["full stops", ". ".repeat(2 ** 18)],
    ["line breaks", "\r\n".repeat(2 ** 18)],
    ["a line break and spaces", `a\n${" ".repeat(2 ** 18)}b`.repeat(2)],
    ["initials", "A. ".repeat(2 ** 17)],
    ["dotted letters", "a.".repeat(2 ** 18)],
  ])("takes linear time for many %s", (_, text) => {
    expect(cpuTime(() => sentencesOf(text))).toBeLessThan(3000);
  });
});

describe("windowsOf()", () => {
  const text = "The cat sleeps. The dog barks. Birds sing.\n\nA new paragraph begins here.";
  const sentences = sentencesOf(text);

  test("puts sentences of a paragraph together as long as they fit", () => {
    const sizes = sentences.map((sentence) => tokenizer.ids(sentence.text).length);
    const two = (sizes[0] as number) + (sizes[1] as number);
    const windows = windowsOf(sentences, tokenizer, two);
    expect(windows.map(({ segments }) => segments.map(({ sentence }) => sentence))).toEqual([
      [0, 1],
      [2],
      [3],
    ]);
    expect(windows.map(({ tokens }) => tokens)).toEqual([two, sizes[2], sizes[3]]);
  });

  test("has the tokens of the whole text, in windows of at most the size", () => {
    for (const most of [1, 2, 3, 5, 1000]) {
      const windows = windowsOf(sentences, tokenizer, most);
      const ids = windows.flatMap(({ segments }) => segments.flatMap((segment) => segment.ids));
      expect(ids).toEqual(tokenizer.ids(text.replace(/\s+/g, " ")));
      for (const { segments, tokens } of windows) {
        expect(tokens).toBeLessThanOrEqual(most);
        expect(segments.reduce((sum, segment) => sum + segment.ids.length, 0)).toBe(tokens);
      }
    }
  });
});

describe("beginningOf()", () => {
  const text = "The cat sleeps. The dog barks.\n\nExtraordinarily, birds sing.";
  const sentences = sentencesOf(text);
  const all = tokenizer.ids(text.replace(/\s+/g, " "));

  test("has the first tokens of the text, up to a word's end, sentence by sentence", () => {
    const { wordOf } = cutSentence(text.replace(/\s+/g, " "), tokenizer, 1000)[0]?.text ?? {};
    for (let most = 1; most <= all.length + 1; most++) {
      const { segments, tokens } = beginningOf(sentences, tokenizer, most);
      expect(segments.flatMap(({ ids }) => ids)).toEqual(all.slice(0, tokens));
      let end = Math.min(most, all.length);
      // A word that does not fit is left out, unless nothing of its sentence would stay.
      while (end < all.length && wordOf?.[end] === wordOf?.[end - 1]) end--;
      if (tokens !== end) expect(segments.at(-1)?.text.words).toHaveLength(1);
      expect(segments.map(({ sentence }) => sentence)).toEqual(segments.map((_, index) => index));
    }
  });

  test("is empty for a text without a sentence", () => {
    expect(beginningOf([], tokenizer, 5)).toEqual({ segments: [], tokens: 0 });
  });
});
