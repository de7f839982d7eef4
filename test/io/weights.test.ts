import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  parseSafetensors,
  serializeSafetensors,
  type TensorEntry,
} from "../../src/io/safetensors.js";
import {
  packWeights,
  quantizeRows,
  toFloat32,
  toInt32,
  unpackWeights,
  type WeightValues,
} from "../../src/io/weights.js";
import { seeded } from "../support/random.js";
import { formatError } from "./format-error.js";

const reference = parseSafetensors(
  readFileSync(new URL("../fixtures/io/dtypes.safetensors", import.meta.url)),
).tensors;
const entry = (name: string): TensorEntry => reference.get(name) as TensorEntry;

describe("toFloat32()", () => {
  test("widens what PyTorch wrote as F16 and BF16", () => {
    const exact = toFloat32(entry("f32"));
    // Half of the last of 11 and of 8 bits.
    for (const [name, step] of [
      ["f16", 2 ** -12],
      ["bf16", 2 ** -9],
    ] as const)
      toFloat32(entry(name)).forEach((x, i) => {
        const want = exact[i] as number;
        expect(Math.abs(x - want)).toBeLessThanOrEqual(2 * step * Math.abs(want));
      });
    expect([...toFloat32(entry("scalar"))]).toEqual([2.5]);
    expect(toFloat32(entry("empty"))).toHaveLength(0);
  });

  test("multiplies I8 by the scale of its row", () => {
    expect([...toFloat32(entry("i8"), entry("i8.scale"))]).toEqual([
      -3.5, -3, -2.5, -2, -1.5, -0.5, -0.25, 0, 0.25, 0.5, 6, 8, 10, 12, 14,
    ]);
  });

  test("refuses whole numbers, and I8 without a scale that fits", () => {
    expect(formatError(() => toFloat32(entry("i64"))).code).toBe("WEIGHT_DTYPE");
    expect(formatError(() => toFloat32(entry("u8"))).code).toBe("WEIGHT_DTYPE");
    const scale = entry("i8.scale");
    for (const wrong of [
      undefined,
      entry("i32"),
      { ...scale, shape: [1, 3] },
      { ...scale, shape: [2], data: scale.data.subarray(0, 8) },
    ])
      expect(formatError(() => toFloat32(entry("i8"), wrong)).code).toBe("WEIGHT_SCALE");
    const cube = { ...entry("i8"), shape: [3, 5, 1] };
    expect(formatError(() => toFloat32(cube, scale)).code).toBe("WEIGHT_SCALE");
  });
});

describe("toInt32()", () => {
  test("reads I32, I64, I8 and U8", () => {
    const edges = [-(2 ** 31), -1, 0, 2 ** 31 - 1];
    expect([...toInt32(entry("i32"))]).toEqual(edges);
    expect([...toInt32(entry("i64"))]).toEqual(edges);
    expect([...toInt32(entry("i8"))].slice(0, 3)).toEqual([-7, -6, -5]);
    expect([...toInt32(entry("u8"))]).toEqual([1, 0, 255]);
  });

  test.each([2n ** 31n, -(2n ** 31n) - 1n, 2n ** 32n, 2n ** 63n - 1n, -(2n ** 63n)])(
    "refuses the I64 value %s",
    (value) => {
      const data = new Uint8Array(BigInt64Array.of(0n, value).buffer);
      const call = () => toInt32({ dtype: "I64", shape: [2], data });
      expect(formatError(call).code).toBe("WEIGHT_RANGE");
    },
  );

  test("refuses floats", () => {
    expect(formatError(() => toInt32(entry("f32"))).code).toBe("WEIGHT_DTYPE");
  });
});

describe("quantizeRows()", () => {
  test("keeps each value within half a step of its row", () => {
    const random = seeded(5);
    const [rows, columns] = [37, 53];
    const values = random.array(rows * columns);
    const { data, scale } = quantizeRows(values, rows, columns);
    values.forEach((x, i) => {
      const step = scale[Math.floor(i / columns)] as number;
      // Half a step, and the rounding of step to f32.
      expect(Math.abs((data[i] as number) * step - x)).toBeLessThanOrEqual(0.5001 * step);
    });
  });

  test("gives the largest value of a row ±127, and a row of zeros scale 0", () => {
    const { data, scale } = quantizeRows(Float32Array.of(1, -2, 0, 0, 3e-45, 0), 3, 2);
    expect([...data]).toEqual([64, -127, 0, 0, 0, 0]);
    expect([...scale]).toEqual([Math.fround(2 / 127), 0, 0]);
  });

  test("stays within ±127 where the step is subnormal", () => {
    const { data, scale } = quantizeRows(Float32Array.of(2e-43, -2e-43), 1, 2);
    expect([...data]).toEqual([127, -127]);
    expect(scale[0]).toBeGreaterThan(0);
  });

  test("refuses values that are not finite", () => {
    for (const x of [Number.NaN, Infinity, -Infinity])
      expect(formatError(() => quantizeRows(Float32Array.of(x), 1, 1)).code).toBe("WEIGHT_RANGE");
  });
});

describe("packWeights() and unpackWeights()", () => {
  const random = seeded(6);
  const weights = new Map<string, WeightValues>([
    ["encoder.weight", { shape: [4, 6], values: random.array(24) }],
    ["encoder.bias", { shape: [4], values: random.array(4) }],
    ["encoder.scale", { shape: [4], values: random.array(4) }],
  ]);
  const through = (storage: Parameters<typeof packWeights>[1]) =>
    unpackWeights(parseSafetensors(serializeSafetensors(packWeights(weights, storage))).tensors);

  test("give the same bits back from f32", () => {
    expect([...through("f32")].sort()).toEqual([...weights].sort());
  });

  // Steps of one value: 2^-11 of it for f16, 2^-8 for bf16, a 127th of the row's largest for int8.
  test.each([
    ["f16", 2 ** -11],
    ["bf16", 2 ** -8],
    ["int8", 1 / 127],
  ] as const)("give near values back from %s", (storage, step) => {
    const back = through(storage);
    expect([...back.keys()].sort()).toEqual([...weights.keys()].sort());
    for (const [name, { shape, values }] of weights) {
      expect(back.get(name)?.shape).toEqual(shape);
      const largest = Math.max(...values.map(Math.abs));
      values.forEach((x, i) => {
        const got = back.get(name)?.values[i] as number;
        expect(Math.abs(got - x)).toBeLessThanOrEqual(step * largest);
      });
    }
  });

  test("write int8 matrices with their scales and leave the rest f32", () => {
    const packed = packWeights(weights, "int8");
    expect([...packed].map(([name, { dtype, shape }]) => [name, dtype, shape])).toEqual([
      ["encoder.weight", "I8", [4, 6]],
      ["encoder.weight.scale", "F32", [4]],
      ["encoder.bias", "F32", [4]],
      ["encoder.scale", "F32", [4]],
    ]);
  });

  test("refuse finite weights that would become infinite", () => {
    const large = new Map([["w", { shape: [2], values: Float32Array.of(1, 65520) }]]);
    expect(formatError(() => packWeights(large, "f16")).message).toBe(
      'packWeights: "w" must fit F16, got 65520. Store it as f32',
    );
    expect(packWeights(large, "bf16").size).toBe(1);
    const infinite = new Map([["w", { shape: [1], values: Float32Array.of(Infinity) }]]);
    expect(packWeights(infinite, "f16").size).toBe(1);
  });

  test("refuse a weight that has the name of another's scale", () => {
    const clash = new Map(weights).set("encoder.weight.scale", {
      shape: [1],
      values: new Float32Array(1),
    });
    expect(formatError(() => packWeights(clash, "int8")).code).toBe("WEIGHT_NAME");
  });

  test("name the file and the tensor in errors", () => {
    const tensors = new Map([["ids", entry("i32")]]);
    expect(formatError(() => unpackWeights(tensors, "model.safetensors")).message).toBe(
      'model.safetensors: "ids": the tensor must be F32, F16, BF16 or I8 with a scale, got I32',
    );
  });
});
