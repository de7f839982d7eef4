import { describe, expect, test } from "vitest";
import { type Candidate, chooseSentences, cosine } from "../../src/tasks/summary.js";

/** Sentences with their attention; the vectors have one number for each of a few topics. */
function candidates(...rows: readonly [text: string, attention: number, vector: number[]][]) {
  return rows.map(
    ([text, attention, vector], index): Candidate => ({
      ...{ text, start: index, end: index + 1, paragraph: 0, attention },
      vector: Float64Array.from(vector),
    }),
  );
}

const keptOf = (rows: Candidate[], most: number): string[] =>
  chooseSentences(rows, most)
    .filter(({ kept }) => kept)
    .map(({ text }) => text);

describe("chooseSentences()", () => {
  test("keeps those that got the most attention, in the order of the document", () => {
    const rows = candidates(["a", 0.2, [1, 0, 0]], ["b", 0.1, [0, 1, 0]], ["c", 0.5, [0, 0, 1]]);
    expect(keptOf(rows, 2)).toEqual(["a", "c"]);
    expect(keptOf(rows, 9)).toEqual(["a", "b", "c"]);
    expect(keptOf(rows, 0)).toEqual([]);
  });

  test("takes the first among equals", () => {
    const rows = candidates(["a", 0, [1, 0]], ["b", 0, [0, 1]]);
    expect(keptOf(rows, 1)).toEqual(["a"]);
  });

  test("counts a sentence with a figure or a date half as much again", () => {
    const rows = candidates(
      ["It was founded long ago.", 0.3, [1, 0]],
      ["It was founded in 1850.", 0.21, [0, 1]],
    );
    expect(keptOf(rows, 1)).toEqual(["It was founded in 1850."]);
    expect(chooseSentences(rows, 1).map(({ score }) => score)).toEqual([0.3, 0.21 * 1.5]);
    const less = candidates(["It was founded long ago.", 0.33, [1, 0]], ["In 1850.", 0.21, [0, 1]]);
    expect(keptOf(less, 1)).toEqual(["It was founded long ago."]);
  });

  test("drops what a sentence of a higher score says already", () => {
    const rows = candidates(
      ["a", 0.4, [1, 0.02]],
      ["again", 0.3, [2, 0.01]],
      ["b", 0.1, [0, 1]],
      ["again too", 0.05, [3, 0]],
    );
    expect(chooseSentences(rows, 3)).toMatchObject([
      { text: "a", kept: true, repeats: false },
      { text: "again", kept: false, repeats: true },
      { text: "b", kept: true, repeats: false },
      { text: "again too", kept: false, repeats: true },
    ]);
  });

  test("gives plain data without the vectors", () => {
    const [sentence] = chooseSentences(candidates(["a", 0.5, [1]]), 1);
    expect(sentence).toEqual({
      ...{ text: "a", start: 0, end: 1, paragraph: 0 },
      ...{ attention: 0.5, score: 0.5, repeats: false, kept: true },
    });
  });
});

describe("cosine()", () => {
  test.each([
    [[1, 0], [2, 0], 1],
    [[1, 0], [0, 3], 0],
    [[1, 1], [-2, -2], -1],
    [[3, 4], [4, 3], 24 / 25],
    [[0, 0], [1, 0], 0],
  ])("of %j and %j is %d", (a, b, expected) => {
    // sqrt and product round once each
    expect(cosine(Float64Array.from(a), Float64Array.from(b))).toBeCloseTo(expected, 14);
  });
});
