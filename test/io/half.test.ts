import { describe, expect, test } from "vitest";
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "../../src/io/half.js";
import { seeded } from "../support/random.js";

const ALL = Uint16Array.from({ length: 2 ** 16 }, (_, i) => i);

/** IEEE 754 binary16 by its definition. */
function valueOfF16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** bfloat16 by its definition. */
function valueOfBf16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 7) & 255;
  const fraction = half & 127;
  if (exponent === 255) return fraction ? Number.NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** -133;
  return sign * (1 + fraction / 128) * 2 ** (exponent - 127);
}

/** The nearest of all finite values, ties to the even pattern, by search. */
function nearest(x: number, exact: (half: number) => number, infinity: number): number {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  let low = 0;
  let high = infinity;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (exact(middle) <= size) low = middle;
    else high = middle;
  }
  // Above the largest value the next would be one step further; half of that rounds up.
  const above = high === infinity ? 2 * exact(infinity - 1) - exact(infinity - 2) : exact(high);
  const down = size - exact(low);
  const up = above - size;
  return sign | (down < up || (down === up && low % 2 === 0) ? low : high);
}

describe.each([
  { name: "f16", widen: f16ToF32, narrow: f32ToF16, exact: valueOfF16, infinity: 0x7c00 },
  { name: "bf16", widen: bf16ToF32, narrow: f32ToBf16, exact: valueOfBf16, infinity: 0x7f80 },
])("$name", ({ widen, narrow, exact, infinity }) => {
  test("widens all 65,536 patterns exactly", () => {
    const values = widen(ALL);
    for (const half of ALL) {
      const value = values[half];
      if (!Object.is(value, exact(half)))
        expect.fail(`pattern ${half}: expected ${exact(half)}, got ${value}`);
    }
  });

  test("narrows all 65,536 widened patterns back to the same bits, NaN payloads too", () => {
    expect(narrow(widen(ALL)).join()).toBe(ALL.join());
  });

  test("narrows to nearest, ties to even, around every pattern", () => {
    const finite = Array.from({ length: infinity }, (_, half) => exact(half));
    const values: number[] = [];
    finite.forEach((value, half) => {
      const next = finite[half + 1] ?? 2 * value - (finite[half - 1] ?? 0);
      const tie = (value + next) / 2;
      // A tie of bf16 subnormals may not be an f32; its neighbours are rounded to f32 all the same.
      for (const x of [value, tie, tie * (1 - 2 ** -23), tie * (1 + 2 ** -23)]) values.push(x, -x);
    });
    const source = Float32Array.from(values);
    const result = narrow(source);
    source.forEach((x, i) => {
      const want = nearest(x, exact, infinity);
      if (result[i] !== want) expect.fail(`${x}: expected ${want}, got ${result[i]}`);
    });
  });

  test("narrows 2^18 random f32 bit patterns to nearest", () => {
    const random = seeded(20260);
    const bits = Uint32Array.from({ length: 2 ** 18 }, () => random.integer(2 ** 32));
    const source = new Float32Array(bits.buffer);
    const result = narrow(source);
    source.forEach((x, i) => {
      const half = result[i] as number;
      if (Number.isNaN(x)) {
        if (!Number.isNaN(exact(half))) expect.fail(`NaN ${bits[i]} became ${half}`);
      } else if (half !== nearest(x, exact, infinity))
        expect.fail(`${x} (seed ${random.seed}): got ${half}`);
    });
  });

  test("keeps zeros, infinities and NaN", () => {
    const nan = new Float32Array(Uint32Array.of(0x7f800001, 0xff800001).buffer);
    const narrowed = narrow(nan);
    expect([...widen(narrowed)]).toEqual([Number.NaN, Number.NaN]);
    expect([...narrow(Float32Array.of(0, -0, Infinity, -Infinity))]).toEqual([
      0,
      0x8000,
      infinity,
      infinity | 0x8000,
    ]);
  });

  test("reads a view from the middle of a buffer", () => {
    const values = Float32Array.of(9, 1, 2, 9).subarray(1, 3);
    expect([...widen(narrow(values))]).toEqual([1, 2]);
    expect(narrow(new Float32Array())).toHaveLength(0);
  });
});
