import type { AttentionMap } from "../../src/inspect/attention-map.js";
import { seeded } from "../support/random.js";

export interface MapShape {
  readonly queries: readonly string[];
  readonly keys?: readonly string[];
  readonly layers?: number;
  readonly heads?: number;
  readonly kind?: AttentionMap["kind"];
  readonly title?: string;
}

/** A map with drawn weights, whose rows sum to 1. */
export function drawnMap({
  queries,
  keys = queries,
  layers = 1,
  heads = 1,
  ...rest
}: MapShape): AttentionMap {
  const random = seeded(7).uniform;
  const row = (): Float32Array => {
    const scores = keys.map(() => Math.exp(6 * random()));
    const sum = scores.reduce((a, b) => a + b, 0);
    return Float32Array.from(scores, (score) => score / sum);
  };
  const repeat = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  return {
    kind: rest.kind ?? "self",
    ...(rest.title !== undefined && { title: rest.title }),
    queries,
    keys,
    weights: repeat(layers, () => repeat(heads, () => queries.map(row))),
  };
}

export function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `token${index}`);
}

/** Texts that break out of markup, hide, turn the reading direction, or never end. */
export const HOSTILE: readonly string[] = [
  "<script>alert(1)</script>",
  "</style><script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  '" onmouseover="alert(1)',
  "' autofocus onfocus='alert(1)",
  "&lt;b&gt; & &amp; &#x3c;",
  "]]><!-- --> <![CDATA[ <?xml ?>",
  "javascript:alert(1)",
  "\u202egpj.exe\u202c",
  "\u2066a\u2069\u200f\u061c",
  "\0\u0001\u001b[31m\u007f\u0085\u009b",
  "a\tb\nc\rd\u2028e\u2029f",
  "\ud800",
  "x\udc00y",
  "\ufffe\uffff\u{1ffff}",
  "\u200b\ufeff\u00ad\u2060",
  "\u{e0041}\u{e0042}",
  "",
  " ",
  "\u3000\u00a0",
  "\u0301",
  `a${"\u0301".repeat(5000)}`,
  "x".repeat(100_000),
  "👩‍👩‍👧❤️🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "שלום",
  "مرحبا",
  "日本語",
];

/** What no picture may hold: controls, marks of direction, lone surrogates and what shows nothing. */
export const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come
  /[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff\p{Cs}\p{Noncharacter_Code_Point}]/u;
