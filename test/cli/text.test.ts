import { describe, expect, test } from "vitest";
import { linesOf } from "../../src/cli/lines.js";
import { printable } from "../../src/cli/printable.js";
import { FormatError } from "../../src/errors.js";

const utf8 = new TextEncoder();

async function* parts(...all: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of all) yield typeof part === "string" ? utf8.encode(part) : part;
}

async function lines(...all: (string | Uint8Array)[]): Promise<string[][]> {
  const found: string[][] = [];
  for await (const some of linesOf(parts(...all), "input")) found.push(some);
  return found;
}

describe("linesOf()", () => {
  test.each<[string, string[]]>([
    ["", []],
    ["a", ["a"]],
    ["a\n", ["a"]],
    ["\n", [""]],
    ["a\n\nb\n\n", ["a", "", "b", ""]],
    ["a\r\nb\r\n", ["a", "b"]],
    ["\ufeffa\u2028b\u0085c", ["a\u2028b\u0085c"]],
  ])("finds the lines of %j", async (text, want) => {
    expect((await lines(text)).flat()).toEqual(want);
  });

  test("gives lines as soon as they have come", async () => {
    expect(await lines("a\nb", "c\n", "d", "\r", "\ne\nf")).toEqual([
      ["a"],
      ["bc"],
      ["d", "e"],
      ["f"],
    ]);
  });

  test("joins characters that come in two parts", async () => {
    const bytes = utf8.encode("né😀\n");
    for (let cut = 0; cut <= bytes.length; cut++)
      expect((await lines(bytes.subarray(0, cut), bytes.subarray(cut))).flat()).toEqual(["né😀"]);
  });

  test.each([
    ["a stray byte", [Uint8Array.of(0x61, 0xff, 0x0a)]],
    ["a cut character at the end", [Uint8Array.of(0x61, 0xc3)]],
    ["a surrogate", [Uint8Array.of(0xed, 0xa0, 0x80)]],
  ])("refuses %s", async (_, bytes) => {
    const reading = lines(...bytes);
    await expect(reading).rejects.toThrow(FormatError);
    await expect(reading).rejects.toThrow("input: the text must be UTF-8, got other bytes");
  });

  test("refuses a line without an end, however much comes", async () => {
    const mebibyte = "x".repeat(2 ** 20);
    await expect(lines(mebibyte, "y")).rejects.toThrow(
      "input: a line must have at most 1048576 characters, got more",
    );
  });
});

describe("printable()", () => {
  test("shows what a terminal would obey", () => {
    expect(printable("a\u001b[31m\0\n\t\u007f\u009b\u202e\u2028é😀👩‍👧")).toBe(
      "a\\u001b[31m\\u0000\\u000a\\u0009\\u007f\\u009b\\u202e\\u2028é😀👩‍👧",
    );
  });

  test("keeps what it is told to", () => {
    expect(printable("a\n\tb", "\n")).toBe("a\n\\u0009b");
  });

  test("leaves JSON what it was", () => {
    const value = { text: '\u001b\u009b\u202e\u2028"\\' };
    expect(JSON.parse(printable(JSON.stringify(value)))).toEqual(value);
  });
});
