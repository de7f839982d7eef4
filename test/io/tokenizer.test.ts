import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { IndexError } from "../../src/errors.js";
import { loadTokenizer, type Tokenizer } from "../../src/io/tokenizer.js";
import { seeded } from "../support/random.js";
import { cpuTime } from "./cpu-time.js";
import { formatError } from "./format-error.js";

const FIXTURES = new URL("../fixtures/io/", import.meta.url);
const NAMES = [
  "metaspace",
  "metaspace-split",
  "byte-fallback",
  "byte-level",
  "suffix",
  "wordpiece",
  "wordpiece-split",
  "unigram",
] as const;
const load = (name: (typeof NAMES)[number]): Tokenizer =>
  loadTokenizer(readFileSync(new URL(`${name}.tokenizer.json`, FIXTURES)), name);
const TOKENIZERS = NAMES.map((name) => ({ name, tokenizer: load(name) }));

/** Token texts by word, for reading. */
function byWord(tokenizer: Tokenizer, text: string): string[][] {
  const { tokens, words, wordTexts } = tokenizer.encode(text);
  return wordTexts.map((_, word) => tokens.filter((_, i) => words[i] === word));
}

describe.each(TOKENIZERS)("loadTokenizer(), $name", ({ name, tokenizer }) => {
  const golden: { text: string; ids: number[]; decoded: string }[] = JSON.parse(
    readFileSync(new URL(`${name}.golden.json`, FIXTURES), "utf8"),
  );

  test.each(golden)("gives the ids and the text of the reference for $text", (want) => {
    const { ids, tokens } = tokenizer.encode(want.text);
    expect(ids).toEqual(want.ids);
    expect(tokenizer.ids(want.text)).toEqual(want.ids);
    expect(tokens).toHaveLength(ids.length);
    expect(tokenizer.decode(ids)).toBe(want.decoded);
  });

  test("assigns the tokens of each text to its words in order", () => {
    for (const { text } of golden) {
      const { ids, words, wordTexts } = tokenizer.encode(text);
      expect(wordTexts).toEqual(text.match(/\S+/g) ?? []);
      expect(words).toHaveLength(ids.length);
      for (const [i, word] of words.entries()) {
        expect(word).toBeGreaterThanOrEqual(words[i - 1] ?? (wordTexts.length ? 0 : -1));
        expect(word).toBeLessThan(Math.max(wordTexts.length, 0));
      }
    }
  });

  test("gives each word of a sentence the tokens it has alone", () => {
    const text = "The black cat sleeps on the mat.";
    const { ids, words, wordTexts } = tokenizer.encode(text);
    for (const [word, alone] of wordTexts.entries()) {
      const part = ids.filter((_, i) => words[i] === word);
      const lead = name === "byte-level" && word > 0 ? " " : "";
      const scheme = name === "metaspace-split" && word > 0 ? " " : lead;
      expect(part).toEqual(tokenizer.ids(scheme + alone));
    }
  });

  test("groups the tokens a model has made into words", () => {
    const text = "the black cat sleeps";
    const ids = tokenizer.ids(text);
    const [start = -1, end = -1] = ["<s>", "</s>"].map((token) => tokenizer.idOf(token));
    const { words, wordTexts } = tokenizer.wordsOf([start, ...ids, end]);
    expect(wordTexts).toEqual(["the", "black", "cat", "sleeps"]);
    expect(words.at(0)).toBe(-1);
    expect(words.at(-1)).toBe(-1);
    expect(words.slice(1, -1)).toEqual(tokenizer.encode(text).words);
    expect(tokenizer.wordsOf([])).toEqual({ words: [], wordTexts: [] });
  });

  test("takes special tokens in a text for text", () => {
    const special = ["<pad>", "<s>", "</s>"].map((token) => tokenizer.idOf(token));
    expect(special).toEqual([0, 2, 3]);
    for (const id of tokenizer.ids("<pad> </s><s> a</s>b")) expect(special).not.toContain(id);
  });

  test("leaves special tokens out of decoded text", () => {
    const ids = tokenizer.ids("The cat");
    expect(tokenizer.decode([2, ...ids, 3, 0, 0])).toBe(tokenizer.decode(ids));
    expect(tokenizer.decode([])).toBe("");
    expect(tokenizer.decode([0, 2, 3])).toBe("");
    expect(tokenizer.decode(Int32Array.from(ids))).toBe(tokenizer.decode(ids));
  });

  test("has ids from 0 to its size, each with its token", () => {
    for (let id = 0; id < tokenizer.vocabSize; id++)
      expect(tokenizer.idOf(tokenizer.tokenOf(id))).toBe(id);
    expect(tokenizer.idOf("no such token")).toBeUndefined();
    expect(tokenizer.idOf("constructor")).toBeUndefined();
  });

  test("refuses ids that are not of the vocabulary", () => {
    for (const id of [-1, tokenizer.vocabSize, 1.5, Number.NaN, 2 ** 32])
      for (const call of [
        () => tokenizer.decode([id]),
        () => tokenizer.tokenOf(id),
        () => tokenizer.wordsOf([id]),
      ])
        expect(call).toThrow(IndexError);
  });

  test("takes any text: lone surrogates, NUL, controls, marks of direction", () => {
    const random = seeded(77);
    const pieces = [
      "\ud800",
      "\udc00",
      "\0",
      "\u0007",
      "😀",
      "👩‍👩‍👧",
      "é",
      "e\u0301",
      " ",
      "  ",
      "\t",
      "a",
      "the",
      "▁",
      "Ġ",
      "##",
      "</s>",
      "<0x41>",
      "\u202e",
      "ﷺ",
      "\ufeff",
      "\u3000",
      "\n",
    ];
    for (let round = 0; round < 300; round++) {
      const text = Array.from(
        { length: random.integer(20) },
        () => pieces[random.integer(pieces.length)],
      ).join("");
      const { ids, tokens, words, wordTexts } = tokenizer.encode(text);
      for (const id of ids)
        if (!(id >= 0 && id < tokenizer.vocabSize)) expect.fail(`${JSON.stringify(text)}: ${ids}`);
      expect([tokens.length, words.length]).toEqual([ids.length, ids.length]);
      for (const word of words)
        expect(wordTexts.length === 0 ? word === -1 : wordTexts[word] !== undefined).toBe(true);
      expect(tokenizer.decode(ids)).not.toMatch(/\p{Surrogate}/u);
      expect(tokenizer.wordsOf(ids).words).toHaveLength(ids.length);
    }
  });

  test.each<[name: string, text: (n: number) => string]>([
    ["one letter", (n) => "a".repeat(n)],
    ["spaces", (n) => " ".repeat(n)],
    ["spaces and line breaks", (n) => " \n".repeat(n / 2)],
    ["apostrophes", (n) => "'".repeat(n)],
    ["an emoji", (n) => "😀".repeat(n / 2)],
    ["words", (n) => "the cat ".repeat(n / 8)],
  ])("takes linear time for 32 Ki characters of %s", (_, make) => {
    const text = make(2 ** 15);
    // About a microsecond a character; comparing each with each would take minutes.
    expect(cpuTime(() => tokenizer.encode(text))).toBeLessThan(3000);
  });
});

describe("encode()", () => {
  test("gives a text of one letter a megabyte long its ids, and refuses a longer one", () => {
    const tokenizer = load("metaspace");
    const { ids, words } = tokenizer.encode("a".repeat(2 ** 20));
    expect(ids.length).toBeGreaterThan(2 ** 18);
    expect(words.every((word) => word === 0)).toBe(true);
    const error = formatError(() => tokenizer.encode("a".repeat(2 ** 20 + 1)));
    expect(error.code).toBe("TEXT_LENGTH");
    expect(formatError(() => tokenizer.ids(" ".repeat(2 ** 20 + 1))).code).toBe("TEXT_LENGTH");
  });

  test("refuses a word above 64 Ki characters with a Unigram model", () => {
    const tokenizer = load("unigram");
    expect(formatError(() => tokenizer.encode("a".repeat(2 ** 16))).code).toBe("TEXT_LENGTH");
    expect(tokenizer.encode("a".repeat(2 ** 16 - 1)).ids.length).toBeGreaterThan(1000);
  });

  test("finds the words of pieces with marks, of bytes, of suffixes and of WordPiece", () => {
    const text = "El pingüino  duerme.";
    expect(byWord(load("metaspace"), text)).toEqual([
      ["▁El"],
      ["▁ping", "üin", "o"],
      ["▁duer", "me."],
    ]);
    expect(byWord(load("byte-level"), text)[1]?.join("")).toBe("ĠpingÃ¼ino");
    expect(byWord(load("suffix"), text)[1]?.join("")).toBe("pingüino</w>");
    expect(byWord(load("wordpiece"), text)[2]?.at(-1)).toBe(".");
  });

  test("gives an unknown word its own unknown tokens", () => {
    for (const name of ["metaspace", "wordpiece", "unigram", "suffix"] as const) {
      const { ids, words, wordTexts } = load(name).encode("the ☃☃ cat");
      expect(wordTexts).toEqual(["the", "☃☃", "cat"]);
      expect(words.filter((_, i) => ids[i] === 1).every((word) => word === 1)).toBe(true);
      expect(words).toContain(2);
    }
  });

  test("keeps words apart where normalizing changes the number of spaces", () => {
    // U+FDFA becomes eighteen letters with three spaces.
    const { words, wordTexts, tokens } = load("metaspace-split").encode("the ﷺ cat");
    expect(wordTexts).toEqual(["the", "ﷺ", "cat"]);
    expect(tokens.filter((_, i) => words[i] === 2).join("")).toBe("▁cat");
  });

  test("gives white space alone no word", () => {
    expect(
      load("byte-level")
        .encode(" \n ")
        .words.every((word) => word === -1),
    ).toBe(true);
    expect(load("byte-level").encode(" a  ").words).toEqual([0, 0, 0]);
    expect(load("metaspace").encode("").ids).toEqual([]);
  });
});
