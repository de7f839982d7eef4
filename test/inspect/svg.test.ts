import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { percent } from "../../src/inspect/scale.js";
import { attentionSvg } from "../../src/inspect/svg.js";
import { visible } from "../../src/inspect/visible.js";
import { drawnMap, HOSTILE, numbered, UNSEEN } from "./maps.js";
import { all, type Element, parseXml, textOf, withClass } from "./markup.js";

const row = (...weights: number[]): Float32Array => Float32Array.from(weights);
const map = {
  title: "El gato",
  kind: "additive" as const,
  queries: ["El", "gato"],
  keys: ["The", "black", "cat"],
  weights: [[[row(0.9, 0.1, 0), row(0, 0.25, 0.75)]]],
};
/** Titles of cells. */
const titles = (svg: Element): string[] => all(svg, "title").map(textOf);
const size = (svg: Element): [number, number] =>
  ["width", "height"].map((name) => Number(svg.attributes.get(name))) as [number, number];

describe("attentionSvg()", () => {
  test("names rows, columns, and the weight of every cell", () => {
    const svg = parseXml(attentionSvg(map));
    expect(svg.name).toBe("svg");
    expect(svg.attributes.get("xmlns")).toBe("http://www.w3.org/2000/svg");
    const texts = all(svg, "text").map(textOf);
    for (const text of [
      "El gato",
      "additive attention · 2 × 3 tokens",
      ...map.queries,
      ...map.keys,
    ])
      expect(texts).toContain(text);
    expect(titles(svg)).toEqual([
      "El → The  90.0 %",
      "El → black  10.0 %",
      "El → cat  0 %",
      "gato → The  0 %",
      "gato → black  25.0 %",
      "gato → cat  75.0 %",
    ]);
  });

  test("shades cells by the square root of their weight, on a scale with marks", () => {
    const svg = parseXml(attentionSvg(map));
    const levels = all(svg, "path")
      .filter((path) => path.children.length > 0)
      .map((path) => path.attributes.get("class"));
    expect(levels).toEqual(["l15", "l5", "l0", "l0", "l8", "l14"]);
    const [legend] = withClass(svg, "legend");
    expect(all(legend as Element, "text").map(textOf)).toEqual([
      "0 %",
      "10 %",
      "25 %",
      "50 %",
      "100 %",
    ]);
    const style = textOf(all(svg, "style")[0] as Element);
    expect(style).toMatch(/@media\(prefers-color-scheme:dark\)\{.*\.l16\{fill:#/);
  });

  test("ends its scale where the weights end", () => {
    const small = { ...map, weights: [[[row(0.02, 0, 0), row(0.035, 0.01, 0)]]] };
    const [legend] = withClass(parseXml(attentionSvg(small)), "legend");
    expect(all(legend as Element, "text").map(textOf)).toEqual([
      "0 %",
      "0.5 %",
      "1.3 %",
      "2.5 %",
      "5 %",
    ]);
  });

  test("shows heads side by side, of the last layer or the one asked for", () => {
    const many = drawnMap({ queries: numbered(3), layers: 2, heads: 6 });
    const svg = parseXml(attentionSvg(many));
    const texts = all(svg, "text").map(textOf);
    expect(texts.filter((text) => text.startsWith("head"))).toEqual(
      [0, 1, 2, 3, 4, 5].map((head) => `head ${head}`),
    );
    expect(texts).toContain("self-attention · layer 1 · 6 heads · 3 × 3 tokens");
    expect(titles(svg)).toHaveLength(6 * 9);
    const one = parseXml(attentionSvg(many, { layer: 0, head: 4 }));
    expect(all(one, "text").map(textOf)).toContain(
      "self-attention · layer 0 · head 4 · 3 × 3 tokens",
    );
    const weight = many.weights[0]?.[4]?.[0]?.[0] as number;
    expect(titles(one)[0]).toBe(`token0 → token0  ${percent(weight)}`);
  });

  test("shows several maps one below the other", () => {
    const svg = parseXml(attentionSvg([map, { ...map, title: "Otro" }]));
    expect(withClass(svg, "title").map(textOf)).toEqual(["El gato", "Otro"]);
    expect(size(svg)[1]).toBeGreaterThan(1.8 * size(parseXml(attentionSvg(map)))[1]);
    expect(all(parseXml(attentionSvg([])), "text")).toEqual([]);
  });

  test.each([
    [{ layer: 1 }, "attentionSvg: layer must lie in 0 … 0, got 1"],
    [{ head: 1 }, "attentionSvg: head must lie in 0 … 0, got 1"],
    [{ head: NaN }, "attentionSvg: head must lie in 0 … 0, got NaN"],
  ])("refuses %j", (options, message) => {
    expect(() => attentionSvg(map, options)).toThrow(new RangeError(message));
  });

  test.each([0, 1, 5, 30, 200])("has labels that do not touch at %i tokens", (count) => {
    const svg = parseXml(attentionSvg(drawnMap({ queries: numbered(count) })));
    const ends = all(svg, "g").filter((group) => group.attributes.get("text-anchor") === "end");
    const labels = ends.flatMap((group) => all(group, "text"));
    const heights = labels.map((label) => Number(label.attributes.get("y")));
    const font = Number(ends[0]?.attributes.get("font-size") ?? 0);
    expect(labels.length > 0).toBe(count > 0);
    if (count <= 30) expect(labels).toHaveLength(count);
    for (const [index, y] of heights.slice(1).entries())
      expect(y - (heights[index] as number)).toBeGreaterThan(font);
    if (count > 0) expect(font).toBeGreaterThanOrEqual(9.5);
    const [width, height] = size(svg);
    expect(Math.max(width, height)).toBeLessThan(1400);
  });

  test("tells the largest 10 000 weights of many, and draws all", () => {
    const many = drawnMap({ queries: numbered(120) });
    const svg = parseXml(attentionSvg(many));
    const told = titles(svg).map((text) => Number(/([\d.]+) %$/.exec(text)?.[1]));
    expect(told).toHaveLength(10_000);
    const weights = many.weights
      .flat(2)
      .flatMap((weights) => [...weights])
      .sort((a, b) => b - a);
    expect(Math.min(...told)).toBeCloseTo(100 * (weights[9_999] as number), 1);
    const drawn = all(svg, "path")
      .filter(
        (path) => path.children.length === 0 && /^l\d/.test(path.attributes.get("class") ?? ""),
      )
      .flatMap((path) => [...(path.attributes.get("d") ?? "").matchAll(/h(\d+)v1H/g)])
      .reduce((cells, [, run]) => cells + Number(run), 0);
    const seen = weights.slice(10_000).filter((weight) => Math.sqrt(weight / 0.1) >= 1 / 32);
    expect(Math.abs(drawn - seen.length)).toBeLessThan(20);
    const equal = {
      ...many,
      weights: [[many.queries.map(() => new Float32Array(120).fill(1 / 120))]],
    };
    expect(titles(parseXml(attentionSvg(equal)))).toHaveLength(10_000);
  });

  test("shows hostile tokens as text", () => {
    const svg = attentionSvg(drawnMap({ queries: HOSTILE, title: HOSTILE.join("") }));
    expect(svg.replaceAll("\n", "")).not.toMatch(UNSEEN);
    const root = parseXml(svg);
    expect(new Set(names(root))).toEqual(new Set(["svg", "style", "g", "path", "text", "title"]));
    const texts = all(root, "text").map(textOf);
    for (const text of HOSTILE) expect(texts).toContain(visible(text, 18));
    expect(svg.length).toBeLessThan(250_000);
  });

  test("is well-formed whatever the tokens", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" }), { maxLength: 6 }),
        fc.array(fc.string({ unit: "binary" }), { maxLength: 6 }),
        fc.string({ unit: "binary" }),
        (queries, keys, title) => {
          const svg = attentionSvg(drawnMap({ queries, keys, title, heads: 2 }));
          expect(svg.replaceAll("\n", "")).not.toMatch(UNSEEN);
          const root = parseXml(svg);
          expect(titles(root)).toHaveLength(2 * queries.length * keys.length);
        },
      ),
      { numRuns: 100 },
    );
  });
});

function names(element: Element): string[] {
  return [
    element.name,
    ...element.children.flatMap((child) => (typeof child === "string" ? [] : names(child))),
  ];
}
