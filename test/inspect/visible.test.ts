import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeMarkup, visible } from "../../src/inspect/visible.js";
import { HOSTILE, UNSEEN } from "./maps.js";

describe("visible()", () => {
  test.each([
    ["cat", "cat"],
    ["", "∅"],
    [" ", "␣"],
    ["\u3000\u00a0", "␣␣"],
    [" cat ", " cat "],
    ["\u202eabc", "\\u202eabc"],
    ["\0\u001b[31m\u009b", "\\u0000\\u001b[31m\\u009b"],
    ["a\tb\n", "a\\u0009b\\u000a"],
    ["\ud800x", "\\ud800x"],
    ["\ufffe\u{1ffff}", "\\ufffe\\u{1ffff}"],
    ["\u200b\ufeff\u00ad", "\\u200b\\ufeff\\u00ad"],
    ["\u{e0041}", "\\u{e0041}"],
    ["\u0301", "◌\u0301"],
    ["e\u0301", "e\u0301"],
    [`a${"\u0301".repeat(50)}b`, `a${"\u0301".repeat(6)}…b`],
    ["👩‍👩‍👧 ❤️ שלום 日本語 ▁the Ġthe", "👩‍👩‍👧 ❤️ שלום 日本語 ▁the Ġthe"],
  ])("shows %j as %j", (text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  test("cuts between characters", () => {
    expect(visible("abcd", 4)).toBe("abcd");
    expect(visible("abcde", 4)).toBe("abc…");
    expect(visible("😀😀😀", 3)).toBe("😀😀😀");
    expect(visible("😀😀😀😀", 3)).toBe("😀😀…");
  });

  test("leaves nothing that a page or terminal would obey", () => {
    for (const text of HOSTILE) expect(visible(text)).not.toMatch(UNSEEN);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 30 }), (text, most) => {
        const shown = visible(text, most);
        expect(shown).not.toMatch(UNSEEN);
        expect(shown).not.toBe("");
      }),
    );
  });
});

test("escapeMarkup() leaves no markup", () => {
  expect(escapeMarkup(`<a href="x" title='y'>&amp;`)).toBe(
    "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;",
  );
});
