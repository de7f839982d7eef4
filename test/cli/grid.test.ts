import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { alignmentGrid } from "../../src/cli/grid.js";
import type { TokenizedText } from "../../src/tasks/translation.js";
import { cpuTime } from "../io/cpu-time.js";

type Grid = Parameters<typeof alignmentGrid>[0];

function text(words: readonly string[]): TokenizedText {
  return { tokens: words, words, wordOf: words.map((_, index) => index) };
}

/** Each target word looks at one source word. */
function crossed(
  source: readonly string[],
  target: readonly string[],
  at: readonly number[],
): Grid {
  return {
    source: text(source),
    target: text(target),
    alignment: at.map((index) =>
      Float32Array.from(source, (_, column) => (column === index ? 0.9 : 0.01)),
    ),
  };
}

describe("alignmentGrid()", () => {
  test("shows rows of target words under columns of source words", () => {
    const grid = crossed(
      ["The", "black", "cat", "sleeps", "."],
      ["El", "gato", "negro", "duerme", "."],
      [0, 2, 1, 3, 4],
    );
    expect(alignmentGrid(grid)).toBe(
      [
        "        The  black  cat  sleeps  .",
        "El      ██     ·     ·      ·     ·",
        "gato     ·     ·    ██      ·     ·",
        "negro    ·    ██     ·      ·     ·",
        "duerme   ·     ·     ·     ██     ·",
        ".        ·     ·     ·      ·    ██",
      ].join("\n"),
    );
  });

  test("shades a fifth each", () => {
    const weights = [0, 0.19, 0.2, 0.4, 0.6, 0.8, 1, 1.0001];
    const grid = {
      ...crossed(["a"], [..."abcdefgh"], []),
      alignment: weights.map((w) => Float32Array.of(w)),
    };
    const shades = alignmentGrid(grid)
      .split("\n")
      .slice(1)
      .map((line) => line.slice(3));
    expect(shades).toEqual([" ·", " ·", "░░", "▒▒", "▓▓", "██", "██", "██"]);
  });

  test("shows a long sentence in bands of 80 columns, each with the rows that look there", () => {
    const words = Array.from({ length: 40 }, (_, i) => `word${i}`);
    const grid = crossed(
      words,
      words,
      words.map((_, i) => i),
    );
    const bands = alignmentGrid(grid).split("\n\n");
    expect(bands).toHaveLength(5);
    const shown = bands.map((band) =>
      band
        .split("\n")
        .slice(1)
        .map((line) => line.split(" ")[0]),
    );
    expect(shown.flat()).toEqual(words);
    for (const line of bands.join("\n").split("\n"))
      expect(stringWidth(line)).toBeLessThanOrEqual(80);
  });

  test("shows every row, even one that looks nowhere much", () => {
    const words = Array.from({ length: 40 }, (_, i) => `word${i}`);
    const even = Float32Array.from(words, (_, i) => (i === 33 ? 0.03 : 0.02));
    const grid = { ...crossed(words, ["x"], []), alignment: [even] };
    const bands = alignmentGrid(grid).split("\n\n");
    const withRow = bands.filter((band) => band.split("\n").length === 2);
    expect(withRow).toHaveLength(1);
    expect(withRow[0]).toContain("word33");
  });

  test("keeps columns straight under wide characters", () => {
    const source = ["黒い", "猫", "👩‍👩‍👧", "é", "e\u0301", "ﷺ"];
    const grid = crossed(source, ["ネコ", "x", "😀😀"], [1, 2, 5]);
    const [header, ...rows] = alignmentGrid(grid).split("\n") as [string, ...string[]];
    const columnOf = (line: string, part: string): number =>
      stringWidth(line.slice(0, line.indexOf(part)));
    const edges = source.map((word) => columnOf(header, word));
    [1, 2, 5].forEach((at, row) => {
      const column = columnOf(rows[row] as string, "██");
      expect(column).toBeGreaterThanOrEqual(edges[at] as number);
      expect(column).toBeLessThan(edges[at + 1] ?? Infinity);
    });
  });

  test("cuts long words, and fits where the terminal is narrow", () => {
    const grid = crossed(["x".repeat(5000), "b"], ["猫".repeat(50), "c"], [0, 1]);
    for (const width of [1, 20, 80])
      for (const line of alignmentGrid(grid, width).split("\n"))
        expect(stringWidth(line)).toBeLessThanOrEqual(Math.max(width, 32));
    expect(alignmentGrid(grid)).toContain("xxxxxxxxxxxxx…");
  });

  test("cuts a word of endless marks", () => {
    const grid = crossed([`a${"\u0301".repeat(1e5)}`, "😀".repeat(40)], ["b"], [0]);
    expect(cpuTime(() => alignmentGrid(grid))).toBeLessThan(1000);
    expect(alignmentGrid(grid).length).toBeLessThan(200);
    expect(alignmentGrid(grid)).not.toMatch(/\p{Surrogate}/u);
  });

  test("shows control characters and does not obey them", () => {
    const grid = crossed(["a\u001b[2J", "\u009b31m", "\u202eb", "c\td\ne"], ["\0"], [0]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come
    expect(alignmentGrid(grid)).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(alignmentGrid(grid)).toContain("a\\u001b[2J");
  });

  test("of nothing is empty", () => {
    expect(alignmentGrid(crossed([], [], []))).toBe("");
    expect(alignmentGrid(crossed(["a"], [], []))).toBe("  a");
  });
});
