import fc from "fast-check";
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { attentionText } from "../../src/inspect/text.js";
import { drawnMap, HOSTILE, numbered, UNSEEN } from "./maps.js";

const row = (...weights: number[]): Float32Array => Float32Array.from(weights);
const words = ["one", "two"];
const two = {
  kind: "self" as const,
  queries: words,
  keys: words,
  weights: [[[row(1, 0), row(0, 1)]], [[row(0.9, 0.1), row(0.1, 0.9)]]],
};

describe("attentionText()", () => {
  test("shows the last layer, a row a query and a column a key", () => {
    expect(attentionText(two)).toBe(["     one  two", "one  ██    ·", "two   ·   ██"].join("\n"));
  });

  test("shows the layer and the head that are asked for, else the mean of heads", () => {
    const heads = [
      [row(1, 0), row(1, 0)],
      [row(0, 1), row(0, 1)],
    ];
    const map = { ...two, weights: [heads, heads] };
    expect(attentionText(map, { layer: 0 })).toContain("one  ▒▒   ▒▒");
    expect(attentionText(map, { head: 0 })).toContain("one  ██    ·");
    expect(attentionText(map, { head: 1 })).toContain("two   ·   ██");
  });

  test("shows small weights under a lower top, and says so", () => {
    const map = { ...two, weights: [[[row(0.045, 0.015), row(0.025, 0)]]] };
    expect(attentionText(map)).toContain("one   ·    ·");
    expect(attentionText(map, { top: 0.05 })).toBe(
      ["     one  two", "one  ██   ░░", "two  ▒▒    ·", "", "██ from 4.0 %"].join("\n"),
    );
  });

  test("shows a row in every band where it looks", () => {
    const keys = numbered(40);
    const at = (weights: Record<number, number>): Float32Array =>
      Float32Array.from(keys, (_, key) => weights[key] ?? 0);
    const map = {
      kind: "cross" as const,
      queries: ["both", "one"],
      keys,
      weights: [[[at({ 2: 0.05, 38: 0.03 }), at({ 20: 0.05, 38: 0.005 })]]],
    };
    const shown = (top: number): string[] =>
      attentionText(map, { top })
        .split("\n\n")
        .map((band) => (band.match(/^(both|one)/gm) ?? []).join());
    expect(shown(0.05)).toEqual(["both", "", "one", "", "both", ""]);
    // Under a scale that shows neither, a row stands where it looks most.
    expect(shown(1)).toEqual(["both", "", "one", "", ""]);
  });

  test.each([
    [{ layer: 2 }, "attentionText: layer must lie in 0 … 1, got 2"],
    [{ head: -1 }, "attentionText: head must lie in 0 … 0, got -1"],
    [{ head: 0.5 }, "attentionText: head must lie in 0 … 0, got 0.5"],
    [{ top: 0 }, "attentionText: top must be a number above 0, got 0"],
    [{ top: NaN }, "attentionText: top must be a number above 0, got NaN"],
  ])("refuses %j", (options, message) => {
    expect(() => attentionText(two, options)).toThrow(new RangeError(message));
  });

  test.each([0, 1, 5, 200])("keeps %i tokens within the terminal", (count) => {
    for (const width of [40, 80, 200])
      for (const line of attentionText(drawnMap({ queries: numbered(count) }), { width }).split(
        "\n",
      ))
        expect(stringWidth(line)).toBeLessThanOrEqual(width);
  });

  test("shows any token as text in straight columns", () => {
    const map = drawnMap({ queries: HOSTILE, kind: "cross" });
    for (const line of attentionText(map).split("\n")) {
      expect(line).not.toMatch(UNSEEN);
      expect(stringWidth(line)).toBeLessThanOrEqual(80);
    }
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 8 }), (queries) => {
        expect(attentionText(drawnMap({ queries })).replaceAll("\n", "")).not.toMatch(UNSEEN);
      }),
      { numRuns: 50 },
    );
  });
});
