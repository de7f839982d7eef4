import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  parseSafetensors,
  type SafetensorsFile,
  serializeSafetensors,
  type TensorData,
} from "../../src/io/safetensors.js";
import { seeded } from "../support/random.js";
import { stFile, T } from "./build-file.js";
import { cpuTime } from "./cpu-time.js";
import { formatError } from "./format-error.js";

const FIXTURES = new URL("../fixtures/", import.meta.url);
const reference = (): Uint8Array => readFileSync(new URL("io/dtypes.safetensors", FIXTURES));

/** Every range lies in the file, is disjoint from the others, and is as long as its shape says. */
function expectInvariant(file: Uint8Array, { tensors }: SafetensorsFile): void {
  const sizes = { F32: 4, F16: 2, BF16: 2, I8: 1, U8: 1, I32: 4, I64: 8 };
  let total = 0;
  for (const { dtype, shape, data } of tensors.values()) {
    expect(data.length).toBe(shape.reduce((n, d) => n * d, sizes[dtype]));
    expect(data.byteOffset % sizes[dtype]).toBe(0);
    total += data.length;
  }
  const header = 8 + Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  expect(header + total).toBe(file.length);
}

describe("parseSafetensors()", () => {
  test("reads what the reference writes, every dtype", () => {
    const { metadata, tensors } = parseSafetensors(reference());
    expect([...metadata]).toEqual([["format", "pt"]]);
    expect(Object.fromEntries([...tensors].map(([name, t]) => [name, [t.dtype, t.shape]]))).toEqual(
      {
        i64: ["I64", [4]],
        empty: ["F32", [0, 4]],
        f32: ["F32", [3, 5]],
        "i8.scale": ["F32", [3]],
        scalar: ["F32", []],
        'ñ "quoted"\n': ["F32", [2]],
        i32: ["I32", [4]],
        bf16: ["BF16", [3, 5]],
        f16: ["F16", [3, 5]],
        i8: ["I8", [3, 5]],
        u8: ["U8", [3]],
      },
    );
    expect([...(tensors.get("u8")?.data ?? [])]).toEqual([1, 0, 255]);
  });

  test("gives views of the file, not copies, where the data is aligned", () => {
    const file = new Uint8Array(reference());
    const { tensors } = parseSafetensors(file);
    for (const { data } of tensors.values()) expect(data.buffer).toBe(file.buffer);
  });

  test("copies data that is not aligned", () => {
    // An odd number of bytes first, as some writers do; the reference takes it too.
    const header = `{"a":${T("U8", "[1]", "[0,1]")},"b":${T("F32", "[1]", "[1,5]")},"c":${T("F16", "[1]", "[5,7]")}}`;
    const data = Uint8Array.of(7, 0, 0, 0x80, 0x3f, 0, 0x3c);
    const file = stFile(header, data);
    const { tensors } = parseSafetensors(file);
    const b = tensors.get("b")?.data as Uint8Array;
    expect(new Float32Array(b.buffer, b.byteOffset, 1)[0]).toBe(1);
    expectInvariant(file, { metadata: new Map(), tensors });
  });

  test("reads a file at any place of a buffer, and in shared memory", () => {
    const whole = reference();
    const want = parseSafetensors(whole);
    for (let shift = 0; shift < 8; shift++)
      for (const buffer of [new ArrayBuffer(2048), new SharedArrayBuffer(2048)]) {
        const view = new Uint8Array(buffer, shift, whole.length);
        view.set(whole);
        const file = parseSafetensors(view);
        expectInvariant(view, file);
        for (const [name, { data }] of file.tensors)
          expect([...data]).toEqual([...(want.tensors.get(name)?.data ?? [])]);
      }
  });

  test("takes empty and scalar tensors, and a file without any", () => {
    expect(parseSafetensors(stFile("{}")).tensors.size).toBe(0);
    expect(parseSafetensors(stFile('{"__metadata__":{}}   ')).metadata.size).toBe(0);
    const header = `{"a":${T("F32", "[0,4]", "[0,0]")},"b":${T("F32", "[]", "[0,4]")},"c":${T("F32", "[0]", "[4,4]")}}`;
    expect(parseSafetensors(stFile(header, 4)).tensors.size).toBe(3);
  });

  test("takes offsets in any order, as long as they cover the data", () => {
    const header = `{"a":${T("F32", "[1]", "[4,8]")},"b":${T("F32", "[1]", "[0,4]")}}`;
    const { tensors } = parseSafetensors(stFile(header, Uint8Array.of(1, 0, 0, 0, 2, 0, 0, 0)));
    expect([...tensors.keys()]).toEqual(["b", "a"]);
    expect(tensors.get("a")?.data[0]).toBe(2);
  });

  test("takes limits exactly: 65,536 tensors, rank 8, a name of 512 bytes, a size of 2^48 − 1", () => {
    const names = Array.from({ length: 65_536 }, (_, i) => `"z${i}":${T("F32", "[0]", "[0,0]")}`);
    expect(parseSafetensors(stFile(`{${names}}`)).tensors.size).toBe(65_536);
    const one = (name: string, shape: string) =>
      parseSafetensors(stFile(`{"${name}":${T("U8", shape, "[0,0]")}}`)).tensors;
    expect(one("a", "[0,1,1,1,1,1,1,1]").size).toBe(1);
    expect(one("n".repeat(512), "[0]").size).toBe(1);
    expect(one("a", "[0,281474976710655]").size).toBe(1);
    const padded = `{}${" ".repeat(16 * 2 ** 20 - 2)}`;
    expect(parseSafetensors(stFile(padded)).tensors.size).toBe(0);
  });

  test("takes __proto__, constructor and hostile text for names like any other", () => {
    const names = [
      "__proto__",
      "constructor",
      "<img src=x onerror=alert(1)>",
      "\u001b]0;x\u0007",
      "",
    ];
    const tensors = new Map(names.map((name) => [name, f32(1)]));
    const file = parseSafetensors(serializeSafetensors(tensors));
    expect(new Set(file.tensors.keys())).toEqual(new Set(names));
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).dtype).toBeUndefined();
  });

  test("refuses every prefix of a file", () => {
    const file = reference();
    for (let end = 0; end < file.length; end++)
      formatError(() => parseSafetensors(file.subarray(0, end)));
  });

  test("gives an error or a sound file for every flipped bit of the header", () => {
    const file = new Uint8Array(reference());
    const headerEnd = 8 + Number(new DataView(file.buffer).getBigUint64(0, true));
    let accepted = 0;
    for (let bit = 0; bit < headerEnd * 8; bit++) {
      const flipped = file.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      try {
        expectInvariant(flipped, parseSafetensors(flipped));
        accepted++;
      } catch (error) {
        expect((error as Error).name, `bit ${bit}`).toBe("FormatError");
      }
    }
    // Bits of names and of metadata are free.
    expect(accepted).toBeGreaterThan(0);
  });

  test("takes linear time for 60,000 tensors", () => {
    const tensors = new Map<string, TensorData>();
    for (let i = 0; i < 60_000; i++) tensors.set(`model.layers.${i}.weight`, f32(1));
    const bytes = serializeSafetensors(tensors);
    // About 3 µs a tensor; comparing each with each would take ten seconds.
    expect(cpuTime(() => parseSafetensors(bytes))).toBeLessThan(1000);
  });
});

describe("serializeSafetensors()", () => {
  test("writes the bytes the reference writes", () => {
    const { tensors, metadata } = parseSafetensors(reference());
    const shuffled = new Map([...tensors].reverse());
    expect(Buffer.from(serializeSafetensors(shuffled, metadata))).toEqual(Buffer.from(reference()));
  });

  test("writes the bytes of every file PyTorch made for the other tests", () => {
    const names = readdirSync(FIXTURES).filter((name) => name.endsWith(".safetensors"));
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const bytes = readFileSync(new URL(name, FIXTURES));
      const { tensors, metadata } = parseSafetensors(bytes, name);
      expect(Buffer.from(serializeSafetensors(tensors, metadata)).equals(bytes), name).toBe(true);
    }
  });

  test("gives back through parseSafetensors() what it was given", () => {
    const random = seeded(31);
    const dtypes = ["F32", "F16", "BF16", "I8", "U8", "I32", "I64"] as const;
    const sizes = { F32: 4, F16: 2, BF16: 2, I8: 1, U8: 1, I32: 4, I64: 8 };
    for (let round = 0; round < 300; round++) {
      const tensors = new Map<string, TensorData>();
      for (let i = random.integer(12); i > 0; i--) {
        const dtype = dtypes[random.integer(dtypes.length)] ?? "F32";
        const shape = Array.from({ length: random.integer(4) }, () => random.integer(5));
        const length = shape.reduce((n, d) => n * d, sizes[dtype]);
        const data = Uint8Array.from({ length }, () => random.integer(256));
        tensors.set(`${["n", "é", "€", "😀"][random.integer(4)]}${random.integer(1000)}`, {
          dtype,
          shape,
          data,
        });
      }
      const metadata = new Map([["k\u0000", `"\\\n${round}`]]);
      const bytes = serializeSafetensors(tensors, metadata);
      const back = parseSafetensors(bytes);
      expectInvariant(bytes, back);
      expect(new Map([...back.tensors].map(([n, t]) => [n, { ...t, data: [...t.data] }]))).toEqual(
        new Map([...tensors].map(([n, t]) => [n, { ...t, data: [...(t.data as Uint8Array)] }])),
      );
      expect(back.metadata).toEqual(metadata);
      expect(serializeSafetensors(back.tensors, back.metadata)).toEqual(bytes);
    }
  });

  test("writes the part of a buffer that a view shows", () => {
    const data = Float32Array.of(9, 1, 2, 9).subarray(1, 3);
    const bytes = serializeSafetensors(new Map([["x", { dtype: "F32", shape: [2], data }]]));
    const back = parseSafetensors(bytes).tensors.get("x")?.data as Uint8Array;
    expect([...new Float32Array(back.buffer, back.byteOffset, 2)]).toEqual([1, 2]);
  });

  test("aligns the data of each tensor within the file", () => {
    const bytes = serializeSafetensors(
      new Map<string, TensorData>([
        ["odd", { dtype: "U8", shape: [3], data: new Uint8Array(3) }],
        ["half", { dtype: "F16", shape: [3], data: new Uint16Array(3) }],
        ["long", { dtype: "I64", shape: [1], data: new BigInt64Array(1) }],
        ["float", f32(3)],
      ]),
    );
    const { tensors } = parseSafetensors(bytes);
    expect([...tensors.keys()]).toEqual(["long", "float", "half", "odd"]);
    for (const { data } of tensors.values()) expect(data.buffer).toBe(bytes.buffer);
  });

  test.each([
    ["data that does not fit the shape", "ST_SIZE", "a", { ...f32(2), shape: [3] }],
    ["a negative size", "ST_DIM", "a", { ...f32(0), shape: [-1] }],
    ["a fractional size", "ST_DIM", "a", { ...f32(0), shape: [0.5] }],
    ["NaN as a size", "ST_DIM", "a", { ...f32(0), shape: [Number.NaN] }],
    ["nine dimensions", "ST_RANK", "a", { ...f32(1), shape: [1, 1, 1, 1, 1, 1, 1, 1, 1] }],
    ["an unknown dtype", "ST_DTYPE", "a", { ...f32(1), dtype: "F64" as "F32" }],
    ["the name of the metadata", "ST_NAME", "__metadata__", f32(1)],
    ["a long name", "ST_NAME", "n".repeat(513), f32(1)],
    ["a name that is not Unicode", "ST_NAME", "\ud800", f32(1)],
  ])("refuses %s", (_, code, name, tensor) => {
    expect(formatError(() => serializeSafetensors(new Map([[name, tensor]]))).code).toBe(code);
  });

  test("refuses metadata that is not Unicode, and a header above 16 MiB", () => {
    const write = (text: string) => () => serializeSafetensors(new Map(), new Map([["k", text]]));
    expect(formatError(write("\udfff")).code).toBe("ST_NAME");
    expect(formatError(write("x".repeat(16 * 2 ** 20))).code).toBe("ST_HEADER_SIZE");
  });
});

function f32(length: number): TensorData {
  return { dtype: "F32", shape: [length], data: new Float32Array(length) };
}
