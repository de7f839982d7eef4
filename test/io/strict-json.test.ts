import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonReal, type JsonValue, parseJson, showJson } from "../../src/io/strict-json.js";
import { cpuTime } from "./cpu-time.js";
import { formatError } from "./format-error.js";

const parse = (text: string | Uint8Array): JsonValue =>
  parseJson(typeof text === "string" ? new TextEncoder().encode(text) : text, { who: "test" });

/** What JSON.parse would give. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonReal) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  const object = Object.create(null);
  for (const [key, inner] of value) object[key] = plain(inner);
  return object;
}

describe("parseJson()", () => {
  test("reads every kind of value", () => {
    expect(parse(' {"a":[1,-2,true,false,null,"x"],"b":{}} ')).toEqual(
      new Map<string, JsonValue>([
        ["a", [1, -2, true, false, null, "x"]],
        ["b", new Map()],
      ]),
    );
    expect(parse("[]")).toEqual([]);
    expect(parse('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"')).toBe('"\\/\b\f\n\r\té😀');
  });

  test("agrees with JSON.parse on what JSON.stringify writes", () => {
    const seed = Date.now();
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.stringify(plain(parse(text)))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { seed, numRuns: 2000 },
    );
  });

  test("takes what JSON.parse takes, and no more, on mutated text", () => {
    const seed = Date.now();
    const pieces = '{ } [ ] , : " \\ u0041 a 0 1 - . e E + true null \n \t \u0001 é'.split(" ");
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        let native: unknown;
        try {
          native = JSON.parse(text);
        } catch {
          formatError(() => parse(text));
          return;
        }
        // Keys given twice and surrogates cannot arise from these pieces within such lengths… but
        // "" can be a key twice.
        try {
          expect(JSON.stringify(plain(parse(text)))).toBe(JSON.stringify(native));
        } catch (error) {
          if ((error as { code?: string }).code !== "JSON_DUPLICATE") throw error;
        }
      }),
      { seed, numRuns: 5000 },
    );
  });

  test("keeps integers exact and other numbers as written", () => {
    expect(parse("9007199254740991")).toBe(9007199254740991);
    expect(parse("-9007199254740991")).toBe(-9007199254740991);
    for (const text of ["9007199254740992", "9007199254740993", "2.0", "1e3", "1e999", "-0", "0.1"])
      expect(parse(text)).toEqual(new JsonReal(text));
    expect((parse("0.1") as JsonReal).value).toBe(0.1);
    expect((parse("1e999") as JsonReal).value).toBe(Infinity);
    expect((parse(`1${"0".repeat(100_000)}`) as JsonReal).value).toBe(Infinity);
  });

  test("takes __proto__ and its like for ordinary keys", () => {
    const value = parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3}');
    expect([...(value as Map<string, JsonValue>).keys()]).toEqual([
      "__proto__",
      "constructor",
      "toString",
    ]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(value)).toBe(Map.prototype);
  });

  test.each([
    ["nothing", ""],
    ["white space alone", " \n"],
    ["a second value", "1 2"],
    ["a zero byte after the value", "1\0"],
    ["a leading zero", "01"],
    ["a plus sign", "+1"],
    ["a bare point", "1."],
    ["a leading point", ".5"],
    ["a bare exponent", "1e"],
    ["a hexadecimal number", "0x10"],
    ["NaN", "NaN"],
    ["Infinity", "-Infinity"],
    ["a word with another end", "nulL"],
    ["a capital word", "True"],
    ["a comma before the end of an array", "[1,]"],
    ["a comma before the end of an object", '{"a":1,}'],
    ["a missing comma", "[1 2]"],
    ["a missing colon", '{"a" 1}'],
    ["a key without quotes", "{a:1}"],
    ["single quotes", "{'a':1}"],
    ["the wrong bracket", "[1}"],
    ["an open array", "[1"],
    ["an open object", '{"a":1'],
    ["an open string", '"abc'],
    ["an open escape", '"\\'],
    ["an unknown escape", '"\\x41"'],
    ["a short \\u escape", '"\\u12"'],
    ["a \\u escape with a sign", '"\\u+123"'],
    ["a line break in a string", '"a\nb"'],
    ["a control character in a string", '"a\u0001b"'],
    ["a high surrogate alone", '"\\ud800"'],
    ["a low surrogate alone", '"\\udc00"'],
    ["two high surrogates", '"\\ud800\\ud800"'],
    ["a comment", "[1] // x"],
    ["white space of another kind", "\u00a01"],
    ["a byte order mark", "\ufeff1"],
  ])("refuses %s", (_, text) => {
    expect(formatError(() => parse(text)).code).toBe("JSON_SYNTAX");
  });

  test.each([
    ["a byte that never occurs", [0x22, 0xff, 0x22]],
    ["an overlong slash", [0x22, 0xc0, 0xaf, 0x22]],
    ["a surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a sequence cut short", [0x22, 0xe2, 0x82, 0x22]],
    ["a code point above U+10FFFF", [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
  ])("refuses %s in UTF-8", (_, values) => {
    expect(formatError(() => parse(Uint8Array.from(values))).code).toBe("JSON_UTF8");
  });

  test("refuses a key given twice, also when spelt by escapes", () => {
    expect(formatError(() => parse('{"a":1,"a":2}')).code).toBe("JSON_DUPLICATE");
    expect(formatError(() => parse('{"a":1,"\\u0061":2}')).code).toBe("JSON_DUPLICATE");
    expect(formatError(() => parse('[{"x":{"":1,"":2}}]')).code).toBe("JSON_DUPLICATE");
    expect(parse('{"a":1,"A":2}')).toHaveProperty("size", 2);
  });

  test("nests 64 deep and no deeper", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(parse(nested(64))).toHaveLength(1);
    expect(formatError(() => parse(nested(65))).code).toBe("JSON_DEPTH");
    expect(formatError(() => parse(nested(1_000_000))).code).toBe("JSON_DEPTH");
    expect(formatError(() => parse('{"a":'.repeat(100_000))).code).toBe("JSON_DEPTH");
  });

  test("keeps its limits of bytes and of values", () => {
    const bytes = new TextEncoder().encode("[1,2,3]");
    expect(parseJson(bytes, { who: "test", maxBytes: 7, maxValues: 4 })).toEqual([1, 2, 3]);
    for (const limits of [{ maxBytes: 6 }, { maxValues: 3 }])
      expect(formatError(() => parseJson(bytes, { who: "test", ...limits })).code).toBe(
        "JSON_SIZE",
      );
  });

  test("reads bytes out of shared memory and out of the middle of a buffer", () => {
    const shared = new Uint8Array(new SharedArrayBuffer(12), 4, 3);
    shared.set([0x5b, 0x31, 0x5d]);
    expect(parse(shared)).toEqual([1]);
  });

  test.each<[name: string, make: (n: number) => string]>([
    ["keys", (n) => `{${Array.from({ length: n / 8 }, (_, i) => `"k${i}":0`).join(",")}}`],
    ["digits", (n) => `[${"1".repeat(n)}]`],
    ["one string", (n) => `"${"x".repeat(n)}"`],
    ["escapes", (n) => `"${"\\u0041".repeat(n / 6)}"`],
    ["nested objects", (n) => `[${'{"a":[]},'.repeat(n / 9)}0]`],
    ["white space", (n) => `${" ".repeat(n)}1`],
  ])("takes linear time for %s", (_, make) => {
    const bytes = new TextEncoder().encode(make(1_000_000));
    // A few nanoseconds a byte; a quadratic reader would take minutes.
    expect(cpuTime(() => parse(bytes))).toBeLessThan(1000);
  });

  test("says in its errors where the fault is", () => {
    expect(formatError(() => parse('{"a":\n [1, {"b c": nope}]}')).message).toBe(
      'test: "a.1.b c" must be a JSON value, got "nope}]}" at line 2, column 14',
    );
    expect(formatError(() => parse('{"a":1')).message).toBe(
      'test: "a" must be followed by "," or "}", got its end at line 1, column 7',
    );
  });
});

test("showJson() gives short text that no terminal obeys", () => {
  expect(showJson(undefined)).toBe("nothing");
  expect(showJson([1, 2])).toBe("an array of 2");
  expect(showJson(new Map())).toBe("an object");
  expect(showJson(new JsonReal("1e999"))).toBe("1e999");
  expect(showJson("\u001b]0;x\u0007\u009b31m\u202e")).toBe('"\\u001b]0;x\\u0007\\u009b31m\\u202e"');
  expect(showJson("x".repeat(1000)).length).toBeLessThan(70);
});
