import { describe, expect, test } from "vitest";
import {
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  readFields,
  real,
  text,
} from "../../src/io/fields.js";
import { type JsonValue, parseJson } from "../../src/io/strict-json.js";
import { formatError } from "./format-error.js";

const FIELDS = {
  hidden: integer(1, 16_384),
  layers: optional(integer(1, 1024), 1),
  dropout: optional(real(0, 1), 0.1),
  eps: real(1e-12, 1),
  bidirectional: optional(flag(), false),
  kind: oneOf("seq2seq", "summarize"),
  title: text(1, 20),
  bridge: nullable(oneOf("sum", "linear")),
  source: object(),
  pieces: list(3),
};

const GOOD: Record<string, string> = {
  hidden: "256",
  layers: "2",
  dropout: "0.5",
  eps: "1e-5",
  bidirectional: "true",
  kind: '"seq2seq"',
  title: '"a title"',
  bridge: "null",
  source: "{}",
  pieces: "[1]",
};

function json(fields: Record<string, string>): JsonValue {
  const members = Object.entries(fields).map(([name, value]) => `"${name}":${value}`);
  return parseJson(new TextEncoder().encode(`{${members}}`), { who: "config.json" });
}

describe("readFields()", () => {
  test("gives the values of the fields, and nothing else", () => {
    expect(readFields(json({ ...GOOD, other: "[[]]" }), FIELDS, "config.json")).toEqual({
      hidden: 256,
      layers: 2,
      dropout: 0.5,
      eps: 1e-5,
      bidirectional: true,
      kind: "seq2seq",
      title: "a title",
      bridge: null,
      source: new Map(),
      pieces: [1],
    });
  });

  test("takes a whole number for a real one, and 1.0 too", () => {
    for (const dropout of ["0", "1", "1.0", "0e0"])
      expect(readFields(json({ ...GOOD, dropout }), FIELDS, "c").dropout).toBe(Number(dropout));
  });

  test("gives missing fields their defaults", () => {
    const { layers, dropout, bidirectional, bridge, ...needed } = GOOD;
    const read = readFields(json(needed), FIELDS, "config.json");
    expect([read.layers, read.dropout, read.bidirectional, read.bridge]).toEqual([
      1,
      0.1,
      false,
      null,
    ]);
  });

  const WRONG: Record<keyof typeof FIELDS, string[]> = {
    hidden: [
      "0",
      "-1",
      "1e999",
      '"NaN"',
      "9007199254740992",
      '"256"',
      "null",
      "2.0",
      "16385",
      "[]",
    ],
    layers: ["0", "-1", "1e999", '"NaN"', "9007199254740992", "true", "null", "1.5", "1000000000"],
    dropout: ["-1", "1e999", "-1e999", '"NaN"', "9007199254740992", '"0.1"', "null", "1.0000001"],
    eps: ["0", "-1", "1e999", '"NaN"', "9007199254740992", "{}", "null", "-0", "1e-400"],
    bidirectional: ["0", "-1", "1e999", '"NaN"', "9007199254740992", '"true"', "null", "1"],
    kind: ["0", "-1", "1e999", '"NaN"', "9007199254740992", '"Seq2Seq"', "null", '"__proto__"'],
    title: ["0", "-1", "1e999", "[]", "9007199254740992", '""', "null", `"${"x".repeat(21)}"`],
    bridge: ["0", "-1", "1e999", '"NaN"', "9007199254740992", "false", '"toString"'],
    source: ["0", "-1", "1e999", '"NaN"', "9007199254740992", "[]", "null"],
    pieces: ["0", "-1", "1e999", '"NaN"', "9007199254740992", "{}", "null", "[1,2,3,4]"],
  };

  for (const [name, values] of Object.entries(WRONG))
    test.each(values)(`refuses %s for "${name}", naming both`, (value) => {
      const error = formatError(() =>
        readFields(json({ ...GOOD, [name]: value }), FIELDS, "config.json"),
      );
      expect(error.code).toBe("CONFIG_FIELD");
      expect(error.message).toMatch(new RegExp(`^config\\.json: "${name}" must be .+, got `));
      const shown = /^[[{]/.test(value) ? "an " : value.slice(0, 20);
      expect(error.message.split(", got ")[1]).toContain(shown);
    });

  for (const name of ["hidden", "eps", "kind", "title", "source", "pieces"])
    test(`refuses a config without "${name}"`, () => {
      const { [name]: _, ...rest } = GOOD;
      expect(formatError(() => readFields(json(rest), FIELDS, "config.json")).message).toMatch(
        new RegExp(`^config\\.json: "${name}" must be .+, got nothing$`),
      );
    });

  test("refuses what is no object", () => {
    for (const value of [null, 1, "x", [], true])
      expect(formatError(() => readFields(value, FIELDS, "config.json")).code).toBe("CONFIG_FIELD");
  });

  test("lets __proto__ in a config change no default", () => {
    const read = readFields(
      json({ ...GOOD, layers: "2", ["__proto__"]: '{"dropout":0.9,"hidden":1}' }),
      { dropout: FIELDS.dropout, hidden: FIELDS.hidden },
      "config.json",
    );
    expect(read).toEqual({ dropout: 0.5, hidden: 256 });
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  });

  test("reports under the code it is given", () => {
    const call = () => readFields(json({}), { a: flag() }, "x", "OTHER");
    expect(formatError(call).code).toBe("OTHER");
  });
});
