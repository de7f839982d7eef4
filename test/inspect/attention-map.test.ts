import { describe, expect, test } from "vitest";
import { DTypeError, ShapeError } from "../../src/errors.js";
import {
  type AttentionMap,
  alignmentMap,
  attentionMap,
  checkMap,
  meanOfHeads,
} from "../../src/inspect/attention-map.js";
import { attentionHtml } from "../../src/inspect/html.js";
import { attentionSvg } from "../../src/inspect/svg.js";
import { attentionText } from "../../src/inspect/text.js";
import { tensor, zeros } from "../../src/tensor/create.js";
import { withRuntime } from "../support/runtime.js";

const row = (...weights: number[]): Float32Array => Float32Array.from(weights);

describe("attentionMap()", () => {
  test("takes one sequence of [B, heads, Lq, Lk]", async () => {
    await withRuntime({}, (runtime) => {
      const weights = tensor(
        runtime,
        Float32Array.from({ length: 2 * 2 * 2 * 3 }, (_, index) => index),
        [2, 2, 2, 3],
      );
      expect(
        attentionMap(weights, { queries: ["a", "b"], keys: ["x", "y", "z"], row: 1, title: "t" }),
      ).toEqual({
        title: "t",
        kind: "cross",
        queries: ["a", "b"],
        keys: ["x", "y", "z"],
        weights: [
          [
            [row(12, 13, 14), row(15, 16, 17)],
            [row(18, 19, 20), row(21, 22, 23)],
          ],
        ],
      });
    });
  });

  test("takes weights without heads, without a batch, and layers one by one", async () => {
    await withRuntime({}, (runtime) => {
      const one = tensor(runtime, [1, 0, 0.5, 0.5], [1, 2, 2]);
      const two = tensor(runtime, [1, 0, 0.25, 0.75], [2, 2]);
      const map = attentionMap([one, two], { queries: ["a", "b"] });
      expect(map.kind).toBe("self");
      expect(map.keys).toEqual(["a", "b"]);
      expect(map.weights).toEqual([[[row(1, 0), row(0.5, 0.5)]], [[row(1, 0), row(0.25, 0.75)]]]);
      expect(attentionMap(one, { queries: ["a", "b"], kind: "additive" }).kind).toBe("additive");
    });
  });

  test("leaves padding away", async () => {
    await withRuntime({}, (runtime) => {
      const weights = tensor(runtime, [0.5, 0.5, 0, 1, 0, 0, 1, 0, 0], [1, 3, 3]);
      expect(attentionMap(weights, { queries: ["a", "b"] }).weights).toEqual([
        [[row(0.5, 0.5), row(1, 0)]],
      ]);
    });
  });

  test("is a copy: it outlives the tensor", async () => {
    await withRuntime({}, (runtime) => {
      const weights = tensor(runtime, [1], [1, 1]);
      const map = attentionMap(weights, { queries: ["a"] });
      weights.write([0]);
      weights.dispose();
      expect(map.weights).toEqual([[[row(1)]]]);
    });
  });

  test("refuses what does not fit", async () => {
    await withRuntime({}, (runtime) => {
      const weights = tensor(runtime, [0.5, 0.5, 1, 0], [1, 2, 2]);
      const queries = ["a", "b"];
      expect(() => attentionMap(weights, { queries: ["a", "b", "c"] })).toThrow(
        new ShapeError(
          "attentionMap: weights must have a row a query and a column a key, got [1, 2, 2] for 3 queries and 3 keys",
        ),
      );
      expect(() => attentionMap(weights, { queries: ["a"] })).toThrow(
        /keys that are left away must have weight 0, got \[1, 2, 2\] for 1 keys, and query 0 looks behind them\. Mask the padding/,
      );
      expect(() => attentionMap(weights, { queries, row: 1 })).toThrow(
        new RangeError("attentionMap: row must lie in 0 … 0, got 1"),
      );
      expect(() => attentionMap(zeros(runtime, [2, 2], "i32"), { queries })).toThrow(DTypeError);
      expect(() => attentionMap(zeros(runtime, [4]), { queries })).toThrow(ShapeError);
      expect(() => attentionMap([], { queries })).toThrow(/at least one layer, got none/);
      const nan = tensor(runtime, [NaN, 0, 0, 0], [2, 2]);
      expect(() => attentionMap(nan, { queries })).toThrow(RangeError);
      expect(() => attentionMap({} as never, { queries })).toThrow(TypeError);
    });
  });
});

describe("alignmentMap()", () => {
  const aligned = {
    text: "El gato",
    source: { tokens: ["<s>", "▁cat", "</s>"], words: ["cat"] },
    target: { tokens: ["▁El", "▁ga", "to"], words: ["El", "gato"] },
    attention: [row(0.2, 0.8, 0), row(0, 1, 0), row(0, 0.5, 0.5)],
    alignment: [row(0.8), row(0.75)],
  };

  test("shows target words looking at source words", () => {
    expect(alignmentMap(aligned)).toEqual({
      title: "El gato",
      kind: "additive",
      queries: ["El", "gato"],
      keys: ["cat"],
      weights: [[aligned.alignment]],
    });
  });

  test("shows pieces when asked", () => {
    expect(alignmentMap(aligned, "tokens")).toMatchObject({
      queries: aligned.target.tokens,
      keys: aligned.source.tokens,
      weights: [[aligned.attention]],
    });
  });
});

test("meanOfHeads() averages weights, and hands on a single head", () => {
  const one = [row(1, 0)];
  expect(meanOfHeads([one])).toBe(one);
  expect(meanOfHeads([one, [row(0.5, 0.5)]])).toEqual([row(0.75, 0.25)]);
});

describe("every picture", () => {
  const good: AttentionMap = {
    kind: "self",
    queries: ["a", "b"],
    keys: ["a", "b"],
    weights: [[[row(1, 0), row(0.5, 0.5)]]],
  };
  const pictures: [string, (map: AttentionMap) => string][] = [
    ["attentionText", attentionText],
    ["attentionSvg", attentionSvg],
    ["attentionHtml", attentionHtml],
  ];
  const bad: [string, unknown, new (message: string) => Error, string][] = [
    ["no map", null, TypeError, "the map must be an AttentionMap, got null"],
    [
      "an unknown kind",
      { ...good, kind: "own" },
      TypeError,
      "kind must be self, cross or additive",
    ],
    [
      "a title of another kind",
      { ...good, title: 1 },
      TypeError,
      "title must be a string, got number",
    ],
    ["no queries", { ...good, queries: undefined }, TypeError, "queries must be an array"],
    [
      "tokens that are no strings",
      { ...good, keys: ["a", 7] },
      TypeError,
      "keys must be strings, got number at 1",
    ],
    [
      "no layer",
      { ...good, weights: [] },
      ShapeError,
      "weights must have at least one layer, got none",
    ],
    [
      "no head",
      { ...good, weights: [[]] },
      ShapeError,
      "a layer must have at least one head, got none",
    ],
    [
      "layers of different heads",
      {
        ...good,
        weights: [good.weights[0], [...(good.weights[0] ?? []), ...(good.weights[0] ?? [])]],
      },
      ShapeError,
      "layer 1 must have 1 heads as the first, got 2",
    ],
    [
      "a missing row",
      { ...good, weights: [[[row(1, 0)]]] },
      ShapeError,
      "layer 0, head 0 must have a row for each of 2 queries, got 1",
    ],
    [
      "a ragged row",
      { ...good, weights: [[[row(1, 0), row(1)]]] },
      ShapeError,
      "layer 0, head 0, query 1 must have a weight for each of 2 keys, got 1",
    ],
    [
      "rows of another kind",
      { ...good, weights: [[[row(1, 0), [0.5, 0.5]]]] },
      TypeError,
      "layer 0, head 0, query 1 must be a Float32Array, got an array. Use Float32Array.from",
    ],
    ...[NaN, Infinity, -0.5].map((weight): [string, unknown, typeof RangeError, string] => [
      `a weight of ${weight}`,
      { ...good, weights: [[[row(1, 0), row(0, weight)]]] },
      RangeError,
      `weights must be numbers from 0 up, got ${weight} at layer 0, head 0, query 1, key 1`,
    ]),
  ];

  test.each(bad)("refuses %s", (_, map, kind, message) => {
    for (const [who, draw] of pictures) {
      const call = (): string => draw(map as AttentionMap);
      expect(call).toThrow(kind);
      expect(call).toThrow(`${who}: `);
      expect(call).toThrow(message);
    }
  });

  test("refuses more weights than can be drawn, before it reads them", () => {
    const tokens = Array.from({ length: 5000 }, () => "x");
    const map: AttentionMap = { kind: "self", queries: tokens, keys: tokens, weights: [[[]]] };
    for (const [who, draw] of pictures)
      expect(() => draw(map)).toThrow(
        `${who}: a map must have at most 16777216 weights, got [1, 1, 5000, 5000]. Draw fewer layers or tokens`,
      );
  });

  test("takes weights above 1, which dropout makes, and rows of zeros", () => {
    const map = { ...good, weights: [[[row(2.5, 0), row(0, 0)]]] };
    expect(checkMap("test", map)).toEqual({ layers: 1, heads: 1, queries: 2, keys: 2 });
    for (const [, draw] of pictures) expect(draw(map)).toContain("a");
  });
});
