import { describe, expect, test } from "vitest";
import {
  alignWords,
  joinSentences,
  type TokenizedText,
  type TranslatedSentence,
  Translation,
} from "../../src/tasks/translation.js";

const source: TokenizedText = {
  tokens: ["<s>", "▁a", "▁b", "c", "</s>"],
  words: ["a", "bc"],
  wordOf: [-1, 0, 1, 1, -1],
};
const target: TokenizedText = { tokens: ["▁x", "y", "▁z"], words: ["xy", "z"], wordOf: [0, 0, 1] };
const attention = [
  Float32Array.of(0, 0.5, 0.25, 0.25, 0),
  Float32Array.of(0.5, 0, 0.25, 0.25, 0),
  Float32Array.of(0, 0, 0, 0, 1),
];

function sentence(text: string, score = -1): TranslatedSentence {
  const alignment = alignWords(attention, source, target);
  return { text, score, source, target, attention, alignment };
}

describe("alignWords()", () => {
  test("sums over a source word's pieces and averages over a target word's", () => {
    expect(alignWords(attention, source, target).map((row) => [...row])).toEqual([
      [0.25, 0.5],
      [0, 0],
    ]);
  });

  test("gives no row without words", () => {
    expect(alignWords([], source, { tokens: [], words: [], wordOf: [] })).toEqual([]);
  });
});

describe("joinSentences()", () => {
  test("leaves no gap for a sentence that says nothing", () => {
    expect(joinSentences(["a", "", "b"])).toBe("a b");
    expect(joinSentences(["", ""])).toBe("");
  });
});

describe("Translation", () => {
  test("of one sentence is that sentence", () => {
    const only = sentence("x");
    const { text, score, source, target, attention, alignment } = new Translation([only]);
    expect({ text, score, source, target, attention, alignment }).toEqual(only);
  });

  test("joins its sentences, with zeros between them", () => {
    const joined = new Translation([sentence("x", -1), sentence("y", -2)]);
    expect(joined.text).toBe("x y");
    expect(joined.score).toBe(-1.5);
    expect(joined.source.words).toEqual(["a", "bc", "a", "bc"]);
    expect(joined.source.wordOf).toEqual([-1, 0, 1, 1, -1, -1, 2, 3, 3, -1]);
    expect(joined.target.tokens).toHaveLength(6);
    expect(joined.alignment.map((row) => [...row])).toEqual([
      [0.25, 0.5, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0.25, 0.5],
      [0, 0, 0, 0],
    ]);
    expect(joined.attention.map((row) => row.length)).toEqual(Array(6).fill(10));
    expect([...(joined.attention[3] as Float32Array)]).toEqual([
      0, 0, 0, 0, 0, 0, 0.5, 0.25, 0.25, 0,
    ]);
  });

  test("of nothing is empty", () => {
    const { text, score, source, attention, alignment } = new Translation([]);
    expect({ text, score, attention, alignment }).toEqual({
      text: "",
      score: 0,
      attention: [],
      alignment: [],
    });
    expect(source).toEqual({ tokens: [], words: [], wordOf: [] });
  });

  test("refuses to join weights that would fill the memory", () => {
    const large = new Translation(Array<TranslatedSentence>(6000).fill(sentence("x")));
    expect(large.text).toHaveLength(2 * 6000 - 1);
    expect(() => large.attention).toThrow(
      "translation: joined weights must be at most 67108864, got 18000 × 30000. Read them from its sentences",
    );
  });

  test("can be posted by its sentences", () => {
    const first = new Translation([sentence("x"), sentence("y")]);
    expect(new Translation(structuredClone(first.sentences))).toEqual(first);
  });
});
