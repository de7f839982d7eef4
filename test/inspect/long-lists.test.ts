/** More tokens, and more maps, than a call takes arguments. */
import { expect, test } from "vitest";
import type { AttentionMap } from "../../src/inspect/attention-map.js";
import { attentionHtml } from "../../src/inspect/html.js";
import { attentionSvg } from "../../src/inspect/svg.js";
import { attentionText } from "../../src/inspect/text.js";

const MANY = 130_000;
const tokens = Array.from({ length: MANY }, (_, index) => `t${index}`);
const wide: AttentionMap = {
  kind: "cross",
  queries: ["last"],
  keys: tokens,
  weights: [[[new Float32Array(MANY).fill(1 / MANY)]]],
};
const high: AttentionMap = {
  kind: "cross",
  queries: tokens,
  keys: ["only"],
  weights: [[Array.from({ length: MANY }, () => Float32Array.of(1))]],
};
const none: AttentionMap = { kind: "self", queries: [], keys: [], weights: [[[]]] };

test("attentionText() draws very many keys, in linear time", () => {
  expect(attentionText(wide)).toContain(`t${MANY - 1}`);
});

test.each([
  ["keys", wide, `t${MANY - 1}`],
  ["queries", high, "only"],
] as const)("attentionSvg() and attentionHtml() draw very many %s", (_, map, seen) => {
  expect(attentionSvg(map)).toContain("</svg>");
  expect(attentionHtml(map)).toContain(seen);
});

test("attentionSvg() and attentionHtml() draw very many maps", () => {
  const maps = new Array<AttentionMap>(MANY).fill(none);
  expect(attentionSvg(maps)).toContain("</svg>");
  expect(attentionHtml(maps)).toContain(`id="map-${MANY - 1}"`);
});
