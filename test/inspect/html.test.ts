import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { attentionHtml } from "../../src/inspect/html.js";
import { ALPHABET, SCRIPT, SCRIPT_HASH } from "../../src/inspect/report-script.js";
import { STYLE, STYLE_HASH } from "../../src/inspect/report-style.js";
import { visible } from "../../src/inspect/visible.js";
import { drawnMap, HOSTILE, numbered, UNSEEN } from "./maps.js";
import { all, type Element, parseHtml, textOf, withClass } from "./markup.js";

const hash = (text: string): string =>
  `sha256-${createHash("sha256").update(text).digest("base64")}`;
const first = (element: Element, name: string): Element => all(element, name)[0] as Element;
const buttons = (page: Element): string[] => all(page, "button").map(textOf);

describe("attentionHtml()", () => {
  test("lets its own style and script through, and nothing else", () => {
    const page = parseHtml(attentionHtml(drawnMap({ queries: ["a"] })));
    const policy = all(page, "meta").find(
      (meta) => meta.attributes.get("http-equiv") === "Content-Security-Policy",
    );
    expect(policy?.attributes.get("content")).toBe(
      `default-src 'none'; style-src '${hash(STYLE)}'; script-src '${hash(SCRIPT)}'; base-uri 'none'; form-action 'none'`,
    );
    expect([STYLE_HASH, SCRIPT_HASH]).toEqual([hash(STYLE), hash(SCRIPT)]);
    expect(all(page, "style").map(textOf)).toEqual([STYLE]);
    expect(all(page, "script").map(textOf)).toEqual([SCRIPT]);
  });

  test("names no address and makes no markup of text", () => {
    const addresses = /https?:[^"]*|url\(|@import|\bsrc=/g;
    const page = attentionHtml(drawnMap({ queries: ["a"] }));
    expect(new Set(page.match(addresses))).toEqual(new Set(["http://www.w3.org/2000/svg"]));
    expect(SCRIPT).not.toMatch(
      /innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(/,
    );
    expect(SCRIPT + STYLE).not.toContain("</");
  });

  test("shows tokens that look at each other once, and others apart", () => {
    const self = parseHtml(attentionHtml(drawnMap({ queries: ["the", "cat"] })));
    expect(buttons(self)).toEqual(["the", "cat"]);
    expect(withClass(self, "keys")).toEqual(withClass(self, "queries"));
    const cross = parseHtml(
      attentionHtml(drawnMap({ queries: ["el", "gato"], keys: ["the", "cat"], kind: "cross" })),
    );
    expect(buttons(cross)).toEqual(["el", "gato"]);
    expect(
      withClass(cross, "keys")
        .flatMap((keys) => all(keys, "span"))
        .map(textOf),
    ).toEqual(["the", "cat"]);
  });

  test("holds the weights to 12 bits of their square root", () => {
    const map = drawnMap({ queries: numbered(3), keys: numbered(4), layers: 2, heads: 2 });
    const section = first(parseHtml(attentionHtml(map)), "section");
    const data = (name: string): string => section.attributes.get(`data-${name}`) as string;
    expect(["layers", "heads", "rows", "columns"].map(data)).toEqual(["2", "2", "3", "4"]);
    const text = data("weights");
    const weights = map.weights.flat(2).flatMap((row) => [...row]);
    expect(text).toHaveLength(2 * weights.length);
    weights.forEach((weight, index) => {
      const [high, low] = [...text.slice(2 * index, 2 * index + 2)].map((c) => ALPHABET.indexOf(c));
      const step = 64 * (high as number) + (low as number);
      expect(Number(data("top")) * (step / 4095) ** 2).toBeCloseTo(weight, 3);
    });
  });

  test("shows the last layer without scripts, the mean of its heads", () => {
    const map = {
      ...drawnMap({ queries: ["a", "b"], layers: 2, heads: 2 }),
      weights: [
        [0, 1].map(() => [Float32Array.of(0, 0), Float32Array.of(0, 0)]),
        [
          [Float32Array.of(1, 0), Float32Array.of(0, 0)],
          [Float32Array.of(0, 0), Float32Array.of(0, 1)],
        ],
      ],
    };
    const page = parseHtml(attentionHtml(map));
    const [cells] = withClass(page, "cells");
    const drawn = all(cells as Element, "path").filter((path) => path.attributes.get("d"));
    // √0.5 of 16 levels
    expect(drawn.map((path) => [path.attributes.get("class"), path.attributes.get("d")])).toEqual([
      ["l11", "M0 0h1v1H0zM1 1h1v1H1z"],
    ]);
    expect(textOf(first(page, "noscript"))).toMatch(/layer 1, the mean of its heads/);
    expect(all(parseHtml(attentionHtml(drawnMap({ queries: ["a"] }))), "noscript")).toEqual([]);
  });

  test("has a title for the page and for each of several maps", () => {
    const maps = ["One", "Two"].map((title) => drawnMap({ queries: ["a"], title }));
    const page = parseHtml(attentionHtml(maps, { title: "Both" }));
    expect(textOf(first(page, "title"))).toBe("Both");
    expect(textOf(first(page, "h1"))).toBe("Both");
    expect(all(page, "h2").map(textOf)).toEqual(["One", "Two"]);
    const links = all(page, "a").map((link) => [link.attributes.get("href"), textOf(link)]);
    expect(links).toEqual([
      ["#map-0", "One"],
      ["#map-1", "Two"],
    ]);
    expect(all(page, "section").map((section) => section.attributes.get("id"))).toEqual([
      "map-0",
      "map-1",
    ]);
  });

  test("has one heading for one map, and a name for one without a title", () => {
    const [titled] = [parseHtml(attentionHtml(drawnMap({ queries: ["a"], title: "One" })))];
    expect([all(titled, "h1").map(textOf), all(titled, "h2")]).toEqual([["One"], []]);
    const plain = parseHtml(
      attentionHtml(drawnMap({ queries: ["a"], kind: "cross", keys: ["b"] })),
    );
    expect([all(plain, "h1").map(textOf), all(plain, "h2").map(textOf)]).toEqual([
      ["Attention"],
      ["cross-attention"],
    ]);
  });

  test.each([0, 1, 5, 200])("shows %i tokens", (count) => {
    const page = parseHtml(attentionHtml(drawnMap({ queries: numbered(count) })));
    expect(buttons(page)).toEqual(numbered(count));
    expect(textOf(first(page, "main"))).toContain(count === 0 ? "No tokens." : "token0");
  });

  test("shows nothing for no maps", () => {
    expect(textOf(first(parseHtml(attentionHtml([])), "main"))).toContain(
      "There is nothing to show.",
    );
  });

  test("has less than 2 MB for 8 heads of 200 × 200", () => {
    const page = attentionHtml(drawnMap({ queries: numbered(200), heads: 8 }));
    expect(Buffer.byteLength(page)).toBeLessThan(1_200_000);
  });

  test("shows hostile tokens and titles as text", () => {
    const maps = HOSTILE.map((title) =>
      drawnMap({ queries: HOSTILE, keys: [...HOSTILE].reverse(), title }),
    );
    const html = attentionHtml(maps, { title: HOSTILE.join("") });
    expect(html.replaceAll("\n", "")).not.toMatch(UNSEEN);
    const page = parseHtml(html);
    expect(all(page, "script")).toHaveLength(1);
    expect(all(page, "img")).toEqual([]);
    for (const name of names(page)) expect(name).not.toMatch(/^on/);
    expect(buttons(page)).toEqual(
      maps.flatMap(({ queries }) => queries.map((text) => visible(text, 80))),
    );
    expect(all(page, "h2").map(textOf)).toEqual(HOSTILE.map((title) => visible(title, 300)));
  });

  test("is well-formed whatever the tokens", () => {
    const texts = fc.array(fc.string({ unit: "binary" }), { maxLength: 6 });
    fc.assert(
      fc.property(texts, texts, fc.string({ unit: "binary" }), (queries, keys, title) => {
        const html = attentionHtml(drawnMap({ queries, keys, title, heads: 2 }));
        expect(html.replaceAll("\n", "")).not.toMatch(UNSEEN);
        const page = parseHtml(html);
        expect(buttons(page)).toHaveLength(keys.length === 0 ? 0 : queries.length);
      }),
      { numRuns: 100 },
    );
  });
});

/** Names of all attributes. */
function names(element: Element): string[] {
  return [
    ...element.attributes.keys(),
    ...element.children.flatMap((child) => (typeof child === "string" ? [] : names(child))),
  ];
}
