import { describe, expect, test } from "vitest";
import { parseSafetensors } from "../../src/io/safetensors.js";
import { bytes, concat, stFile, T, u64 } from "./build-file.js";
import { cpuTime } from "./cpu-time.js";
import { formatError } from "./format-error.js";

const F2 = T("F32", "[2]", "[0,8]");
const MiB = 2 ** 20;

/** One tensor "a" whose description is given. */
const a = (description: string, data = 8) => stFile(`{"a":${description}}`, data);
const many = (count: number) =>
  stFile(`{${Array.from({ length: count }, (_, i) => `"z${i}":${T("F32", "[0]", "[0,0]")}`)}}`);

const MALFORMED: [name: string, code: string, file: () => Uint8Array][] = [
  // the header's extent
  ["an empty file", "ST_TRUNCATED", () => bytes()],
  ["seven bytes", "ST_TRUNCATED", () => bytes(2, 0, 0, 0, 0, 0, 0)],
  ["a length and nothing after it", "ST_TRUNCATED", () => u64(2)],
  ["a header longer than the file", "ST_TRUNCATED", () => concat(u64(3), bytes("{}"))],
  ["a header of 16 MiB in a short file", "ST_TRUNCATED", () => concat(u64(16 * MiB), bytes("{}"))],
  ["a header of 16 MiB + 1", "ST_HEADER_SIZE", () => concat(u64(16 * MiB + 1), bytes("{}"))],
  ["a header of 2^31", "ST_HEADER_SIZE", () => concat(u64(2 ** 31), bytes("{}"))],
  ["a header of 2^32 + 2", "ST_HEADER_SIZE", () => concat(u64(2 ** 32 + 2), bytes("{}"))],
  ["a header of 2^53 + 2", "ST_HEADER_SIZE", () => concat(u64(2n ** 53n + 2n), bytes("{}"))],
  ["a header of 2^63", "ST_HEADER_SIZE", () => concat(u64(2n ** 63n), bytes("{}"))],
  ["a header of 2^64 − 1", "ST_HEADER_SIZE", () => concat(u64(2n ** 64n - 1n), bytes("{}"))],
  ["a header of no length", "ST_HEADER", () => u64(0)],
  ["no header before data", "ST_HEADER", () => concat(u64(0), bytes("{}"))],

  // its syntax
  ["a byte order mark", "ST_HEADER", () => concat(u64(5), bytes(0xef, 0xbb, 0xbf, "{}"))],
  ["a space before the brace", "ST_HEADER", () => stFile(" {}")],
  ["an array for a header", "ST_HEADER", () => stFile("[]")],
  ["text for a header", "ST_HEADER", () => stFile('"{}"')],
  ["a zip file", "ST_HEADER_SIZE", () => bytes("PK", 3, 4, 20, 0, 0, 0, 8, 0, "model")],
  ["a page of HTML", "ST_HEADER_SIZE", () => bytes("<!DOCTYPE html><html></html>")],
  ["a byte that is not UTF-8", "JSON_UTF8", () => stFile(bytes('{"', 0xff, '":1}'))],
  ["an overlong character", "JSON_UTF8", () => stFile(bytes('{"', 0xc0, 0xaf, '":1}'))],
  ["a surrogate in UTF-8", "JSON_UTF8", () => stFile(bytes('{"', 0xed, 0xa0, 0x80, '":1}'))],
  ["a lone surrogate escape in a name", "JSON_SYNTAX", () => stFile(`{"\\ud800":${F2}}`, 8)],
  ["a header padded with zeros", "JSON_SYNTAX", () => stFile("{}\0\0\0\0\0\0")],
  ["two headers", "JSON_SYNTAX", () => stFile("{}{}")],
  ["a comma before the end", "JSON_SYNTAX", () => stFile(`{"a":${F2},}`, 8)],
  ["an open header", "JSON_SYNTAX", () => stFile('{"a":')],
  [
    "arrays nested 200,000 deep",
    "JSON_DEPTH",
    () => stFile(`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`),
  ],
  ["objects nested 200,000 deep", "JSON_DEPTH", () => stFile('{"a":'.repeat(200_000))],
  [
    "metadata nested deep",
    "JSON_DEPTH",
    () => stFile(`{"__metadata__":{"a":${"[".repeat(100)}${"]".repeat(100)}}}`),
  ],
  [
    "a shape with a million sizes",
    "ST_RANK",
    () => a(T("U8", `[${"1,".repeat(1_000_000)}1]`, "[0,1]"), 1),
  ],
  [
    "more values than any header needs",
    "JSON_SIZE",
    () => a(T("U8", `[${"1,".repeat(1_100_000)}1]`, "[0,1]"), 1),
  ],

  // names
  [
    "a name given twice",
    "ST_DUPLICATE",
    () => stFile(`{"a":${F2},"a":${T("I32", "[2]", "[0,8]")}}`, 8),
  ],
  [
    "a name given twice, once by an escape",
    "ST_DUPLICATE",
    () => stFile(`{"a":${F2},"\\u0061":${F2}}`, 8),
  ],
  [
    "a name given twice at other offsets",
    "ST_DUPLICATE",
    () => stFile(`{"a":${F2},"a":${T("F32", "[2]", "[8,16]")}}`, 16),
  ],
  [
    "a field given twice",
    "ST_DUPLICATE",
    () => a('{"dtype":"F32","dtype":"I32","shape":[2],"data_offsets":[0,8]}'),
  ],
  ["metadata given twice", "ST_DUPLICATE", () => stFile('{"__metadata__":{},"__metadata__":{}}')],
  [
    "a key of the metadata given twice",
    "ST_DUPLICATE",
    () => stFile('{"__metadata__":{"x":"1","x":"2"}}'),
  ],
  ["a name of 513 bytes", "ST_NAME", () => stFile(`{"${"n".repeat(513)}":${F2}}`, 8)],
  [
    "a name of 513 bytes in 171 letters",
    "ST_NAME",
    () => stFile(`{"${"€".repeat(171)}":${F2}}`, 8),
  ],
  ["65,537 tensors", "ST_COUNT", () => many(65_537)],
  ["100,000 empty tensors at one offset", "ST_COUNT", () => many(100_000)],

  // metadata
  ["metadata that is text", "ST_METADATA", () => stFile('{"__metadata__":"x"}')],
  ["metadata that is an array", "ST_METADATA", () => stFile('{"__metadata__":[]}')],
  ["metadata that is null", "ST_METADATA", () => stFile('{"__metadata__":null}')],
  ["metadata with a number", "ST_METADATA", () => stFile('{"__metadata__":{"x":1}}')],
  ["metadata with an object", "ST_METADATA", () => stFile('{"__metadata__":{"x":{}}}')],
  ["metadata that describes a tensor", "ST_METADATA", () => stFile(`{"__metadata__":${F2}}`, 8)],

  // fields
  ["a tensor that is a number", "ST_FIELD", () => a("1")],
  ["a tensor that is an array", "ST_FIELD", () => a("[]")],
  ["a tensor that is null", "ST_FIELD", () => a("null")],
  [
    "an unknown field",
    "ST_FIELD",
    () => a('{"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1}'),
  ],
  [
    "__proto__ as a field",
    "ST_FIELD",
    () => a('{"__proto__":{"dtype":"F32"},"shape":[2],"data_offsets":[0,8]}'),
  ],
  ["no dtype", "ST_DTYPE", () => a('{"shape":[2],"data_offsets":[0,8]}')],
  ["no shape", "ST_SHAPE", () => a('{"dtype":"F32","data_offsets":[0,8]}')],
  ["no offsets", "ST_OFFSETS", () => a('{"dtype":"F32","shape":[2]}')],
  ["an empty description", "ST_DTYPE", () => a("{}")],
  ["dtype F64", "ST_DTYPE", () => a(T("F64", "[1]", "[0,8]"))],
  ["dtype BOOL", "ST_DTYPE", () => a(T("BOOL", "[8]", "[0,8]"))],
  ["dtype F8_E4M3", "ST_DTYPE", () => a(T("F8_E4M3", "[8]", "[0,8]"))],
  ["dtype in small letters", "ST_DTYPE", () => a(T("f32", "[2]", "[0,8]"))],
  ["an empty dtype", "ST_DTYPE", () => a(T("", "[2]", "[0,8]"))],
  ["dtype constructor", "ST_DTYPE", () => a(T("constructor", "[2]", "[0,8]"))],
  [
    "a dtype that is a number",
    "ST_DTYPE",
    () => a('{"dtype":32,"shape":[2],"data_offsets":[0,8]}'),
  ],
  ["a shape that is a number", "ST_SHAPE", () => a(T("F32", "2", "[0,8]"))],
  ["a shape that is null", "ST_SHAPE", () => a(T("F32", "null", "[0,8]"))],
  ["nine dimensions", "ST_RANK", () => a(T("F32", "[1,1,1,1,1,1,1,1,2]", "[0,8]"))],
  ["a negative size", "ST_DIM", () => a(T("F32", "[-2]", "[0,8]"))],
  ["two negative sizes", "ST_DIM", () => a(T("F32", "[-2,-1]", "[0,8]"))],
  ["a size of −0", "ST_DIM", () => a(T("F32", "[-0]", "[0,0]"), 0)],
  ["a size of 2.0", "ST_DIM", () => a(T("F32", "[2.0]", "[0,8]"))],
  ["a size of 2e0", "ST_DIM", () => a(T("F32", "[2e0]", "[0,8]"))],
  ["a size of 1e999", "ST_DIM", () => a(T("F32", "[1e999]", "[0,8]"))],
  ["a size in quotes", "ST_DIM", () => a(T("F32", '["2"]', "[0,8]"))],
  ["a size of null", "ST_DIM", () => a(T("F32", "[null]", "[0,8]"))],
  ["a size of true", "ST_DIM", () => a(T("F32", "[true,2]", "[0,8]"))],
  ["a shape within a shape", "ST_DIM", () => a(T("F32", "[[2]]", "[0,8]"))],
  ["a size of 2^48", "ST_DIM", () => a(T("F32", "[281474976710656]", "[0,8]"))],
  ["a size of 2^53 + 1", "ST_DIM", () => a(T("F32", "[9007199254740993]", "[0,8]"))],
  ["a size of 2^64", "ST_DIM", () => a(T("F32", "[18446744073709551616]", "[0,8]"))],
  [
    "0 × 2^62 × 2^62",
    "ST_DIM",
    () => a(T("F32", "[0,4611686018427387904,4611686018427387904]", "[0,0]"), 0),
  ],
  ["2^32 × 2^32", "ST_OVERFLOW", () => a(T("F32", "[4294967296,4294967296]", "[0,8]"))],
  [
    "2^48 − 1 three times",
    "ST_OVERFLOW",
    () => a(T("F32", "[281474976710655,281474976710655,281474976710655]", "[0,8]")),
  ],
  ["2^51 elements of 8 bytes", "ST_OVERFLOW", () => a(T("I64", "[2048,1099511627776]", "[0,8]"))],
  [
    "0 × 2^40 × 2^40",
    "ST_OVERFLOW",
    () => a(T("F32", "[0,1099511627776,1099511627776]", "[0,0]"), 0),
  ],
  [
    "2^40 × 2^40 × 0",
    "ST_OVERFLOW",
    () => a(T("F32", "[1099511627776,1099511627776,0]", "[0,0]"), 0),
  ],

  // offsets
  ["offsets that are a number", "ST_OFFSETS", () => a(T("F32", "[2]", "8"))],
  ["one offset", "ST_OFFSETS", () => a(T("F32", "[2]", "[8]"))],
  ["three offsets", "ST_OFFSETS", () => a(T("F32", "[2]", "[0,8,8]"))],
  ["no offsets in the array", "ST_OFFSETS", () => a(T("F32", "[2]", "[]"))],
  ["an offset in quotes", "ST_OFFSETS", () => a(T("F32", "[2]", '["0",8]'))],
  ["an offset of 8.0", "ST_OFFSETS", () => a(T("F32", "[2]", "[0,8.0]"))],
  ["a negative offset", "ST_OFFSETS", () => a(T("F32", "[2]", "[-8,0]"))],
  ["an offset of −0", "ST_OFFSETS", () => a(T("F32", "[2]", "[-0,8]"))],
  ["an offset of null", "ST_OFFSETS", () => a(T("F32", "[2]", "[null,8]"))],
  ["offsets the wrong way round", "ST_OFFSETS", () => a(T("F32", "[2]", "[8,0]"))],
  ["an end outside the file", "ST_OFFSETS", () => a(T("F32", "[2]", "[0,8]"), 7)],
  ["an end of 2^31", "ST_OFFSETS", () => a(T("F32", "[2]", "[0,2147483648]"))],
  ["an end of 2^32 + 8", "ST_OFFSETS", () => a(T("F32", "[2]", "[0,4294967304]"))],
  ["an end of 2^53 + 1", "ST_OFFSETS", () => a(T("F32", "[2]", "[0,9007199254740993]"))],
  [
    "an end of 2^64 − 8 over a wrapped start",
    "ST_OFFSETS",
    () => a(T("F32", "[2]", "[18446744073709551608,18446744073709551616]")),
  ],
  ["fewer bytes than the shape", "ST_SIZE", () => a(T("F32", "[2]", "[0,7]"))],
  ["more bytes than the shape", "ST_SIZE", () => a(T("F32", "[2]", "[0,9]"), 9)],
  ["bytes of another dtype", "ST_SIZE", () => a(T("F16", "[2]", "[0,8]"))],
  ["bytes for an empty tensor", "ST_SIZE", () => a(T("F32", "[0]", "[0,4]"), 4)],
  ["no bytes for a scalar", "ST_SIZE", () => a(T("F32", "[]", "[0,0]"), 0)],

  // coverage
  [
    "two tensors that overlap by half",
    "ST_OVERLAP",
    () => stFile(`{"a":${F2},"b":${T("F32", "[2]", "[4,12]")}}`, 12),
  ],
  ["two tensors at one place", "ST_OVERLAP", () => stFile(`{"a":${F2},"b":${F2}}`, 8)],
  [
    "a tensor within another",
    "ST_OVERLAP",
    () => stFile(`{"a":${T("F32", "[4]", "[0,16]")},"b":${F2}}`, 16),
  ],
  [
    "an empty tensor within another",
    "ST_OVERLAP",
    () => stFile(`{"a":${F2},"b":${T("F32", "[0]", "[4,4]")}}`, 8),
  ],
  [
    "a hole between two tensors",
    "ST_HOLE",
    () => stFile(`{"a":${F2},"b":${T("F32", "[2]", "[12,20]")}}`, 20),
  ],
  ["a hole before the first", "ST_HOLE", () => a(T("F32", "[2]", "[4,12]"), 12)],
  [
    "an empty tensor after a hole",
    "ST_HOLE",
    () => stFile(`{"a":${F2},"b":${T("F32", "[0]", "[9,9]")}}`, 9),
  ],
  ["a byte after the last tensor", "ST_TRAILING", () => a(F2, 9)],
  ["data without tensors", "ST_TRAILING", () => stFile("{}", 1)],
  ["a second file after the first", "ST_TRAILING", () => concat(a(F2), a(F2))],
];

describe("parseSafetensors()", () => {
  test.each(MALFORMED)("refuses %s with %s", (_, code, file) => {
    const error = formatError(() => parseSafetensors(file(), "weights.safetensors"));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^weights\.safetensors: /);
    expect(error.message.length).toBeLessThan(500);
  });

  test("refuses 100,000 tensors within 200 ms", () => {
    const file = many(100_000);
    // Half a second where the machine is slow or shared.
    expect(cpuTime(() => formatError(() => parseSafetensors(file)))).toBeLessThan(500);
  });

  test("shows no control character of a name in its errors", () => {
    const file = stFile(`{"\\u001b]0;x\\u0007<img src=x>":${T("F32", "[3]", "[0,8]")}}`, 8);
    expect(formatError(() => parseSafetensors(file)).message).toBe(
      'safetensors: tensor "\\u001b]0;x\\u0007<img src=x>" must have 12 bytes (F32 [3]), got offsets [0, 8]',
    );
  });

  test("names in its errors the file, the tensor, the rule and what came", () => {
    const file = stFile(`{"wte.weight":${T("F32", "[50257,768]", "[0,154389504]")}}`, 96);
    expect(formatError(() => parseSafetensors(file)).message).toBe(
      'safetensors: tensor "wte.weight" must end inside the 96-byte data section, got offsets [0, 154389504]. The file may be cut short',
    );
  });
});
