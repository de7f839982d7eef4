import { describe, expect, test } from "vitest";
import { type Candidate, chooseSentences } from "../../src/tasks/summary.js";

/** Sentences with their attention. */
function candidates(...rows: readonly [text: string, attention: number][]): Candidate[] {
  return rows.map(([text, attention], index) => ({
    ...{ text, start: index, end: index + 1, paragraph: 0, attention },
  }));
}

const keptOf = (rows: Candidate[], most: number): string[] =>
  chooseSentences(rows, most)
    .filter(({ kept }) => kept)
    .map(({ text }) => text);

describe("chooseSentences()", () => {
  test("keeps those that got the most attention, in the order of the document", () => {
    const rows = candidates(["a", 0.2], ["b", 0.1], ["c", 0.5]);
    expect(keptOf(rows, 2)).toEqual(["a", "c"]);
    expect(keptOf(rows, 9)).toEqual(["a", "b", "c"]);
    expect(keptOf(rows, 0)).toEqual([]);
  });

  test("takes the first among equals", () => {
    const rows = candidates(["a", 0], ["b", 0]);
    expect(keptOf(rows, 1)).toEqual(["a"]);
  });

  test("counts a sentence with a figure or a date half as much again", () => {
    const rows = candidates(["It was founded long ago.", 0.3], ["It was founded in 1850.", 0.21]);
    expect(keptOf(rows, 1)).toEqual(["It was founded in 1850."]);
    expect(chooseSentences(rows, 1).map(({ score }) => score)).toEqual([0.3, 0.21 * 1.5]);
    const less = candidates(["It was founded long ago.", 0.33], ["In 1850.", 0.21]);
    expect(keptOf(less, 1)).toEqual(["It was founded long ago."]);
  });

  test("drops what a sentence of a higher score says already", () => {
    const rows = candidates(
      ["The old bridge is a stone bridge over the river Ash.", 0.4],
      ["The OLD bridge is a stone bridge, over the river Ash", 0.3],
      ["It is a bridge of stone.", 0.1],
      ["The stone bridge is old.", 0.05],
    );
    expect(chooseSentences(rows, 4)).toMatchObject([
      { kept: true, repeats: false },
      { kept: false, repeats: true },
      { kept: true, repeats: false },
      { kept: false, repeats: true },
    ]);
  });

  test("keeps a sentence that has a new figure, and drops one that has the same", () => {
    const rows = candidates(
      ["In 1742 a flood came over the town.", 0.4],
      ["In 1822 a flood came over the town.", 0.3],
      ["A flood came over the town in 1742.", 0.2],
    );
    expect(keptOf(rows, 3)).toEqual(rows.slice(0, 2).map(({ text }) => text));
  });

  test("has no quarrel with sentences without a word", () => {
    expect(keptOf(candidates(["…", 0.4], ["A cat.", 0.3], ["?!", 0.2]), 3)).toContain("A cat.");
  });

  test("gives plain data", () => {
    const [sentence] = chooseSentences(candidates(["a", 0.5]), 1);
    expect(sentence).toEqual({
      ...{ text: "a", start: 0, end: 1, paragraph: 0 },
      ...{ attention: 0.5, score: 0.5, repeats: false, kept: true },
    });
  });
});
