import { describe, expect, test } from "vitest";
import {
  expectClose,
  expectCloseNorm,
  expectSameBits,
  sameBits,
  worstDifference,
} from "./compare.js";

describe("worstDifference()", () => {
  test("is null for equal arrays, NaN and infinities among them", () => {
    const x = [1, Number.NaN, Infinity, -Infinity, 0];
    expect(worstDifference(x, [...x])).toBeNull();
  });

  test("finds the worst index and both values", () => {
    expect(worstDifference([1, 2.5, 3], [1, 2, 3.25])).toEqual({
      index: 1,
      actual: 2.5,
      expected: 2,
      error: 0.5 / 3.25,
    });
  });

  test("counts small numbers against 1, large ones against the largest", () => {
    expect(worstDifference([1e-3], [0])?.error).toBe(1e-3);
    expect(worstDifference([1000, 1], [1000, 0])?.error).toBe(1e-3);
  });

  test.each([
    ["a NaN for a number", Number.NaN, 1],
    ["a number for NaN", 1, Number.NaN],
    ["an infinity for a number", Infinity, 1],
    ["a number for an infinity", 1, -Infinity],
    ["the other infinity", Infinity, -Infinity],
    ["NaN for an infinity", Number.NaN, Infinity],
  ])("is infinite for %s", (_, actual, expected) => {
    expect(worstDifference([0, actual, 5], [0, expected, 4])).toMatchObject({
      index: 1,
      error: Infinity,
    });
  });

  test("does not let an infinity hide an error beside it", () => {
    expect(worstDifference([Infinity, 1], [Infinity, 2])).toMatchObject({ index: 1, error: 0.5 });
  });
});

describe("expectClose()", () => {
  test("returns the error it met", () => {
    expect(expectClose([1, 2.25], [1, 2], 0.2)).toBe(0.125);
    expect(expectClose([], [], 0)).toBe(0);
  });

  test("names the context, the index and both values", () => {
    expect(() => expectClose([1, 2.5], [1, 2], 1e-3, "softmax (seed 7)")).toThrow(
      "softmax (seed 7): [1] must be 2, got 2.5: off by 2.50e-1, allowed 1.00e-3",
    );
  });

  test("refuses another length", () => {
    expect(() => expectClose([1], [1, 2], 1)).toThrow("there must be 2 numbers, got 1");
  });

  test("refuses a NaN whatever the tolerance", () => {
    expect(() => expectClose([Number.NaN], [0], 1e30)).toThrow("[0] must be 0, got NaN");
  });
});

describe("expectCloseNorm()", () => {
  test("judges the whole array", () => {
    expect(expectCloseNorm([3, 4.05], [3, 4], 0.02)).toBeCloseTo(0.01);
    expect(() => expectCloseNorm([3, 4.5], [3, 4], 0.05)).toThrow("[1] is 4.5 for 4");
  });

  test("judges what should be zeros against the floor", () => {
    expect(() => expectCloseNorm([1e-5], [0], 1e-3)).toThrow("got 1.00e-2");
    expect(expectCloseNorm([1e-7], [0], 1e-3)).toBeCloseTo(1e-4);
  });

  test("refuses NaN", () => {
    expect(() => expectCloseNorm([Number.NaN], [1], 1e9)).toThrow("got NaN");
  });
});

describe("sameBits()", () => {
  test("tells −0 from 0 and one bit from none", () => {
    expect(sameBits([1, Number.NaN], [1, Number.NaN])).toBe(true);
    expect(sameBits([0], [-0])).toBe(false);
    expect(sameBits([1], [1 + 2 ** -23])).toBe(false);
    expect(sameBits([1], [1, 2])).toBe(false);
  });

  test("expectSameBits() says where and which", () => {
    expect(() => expectSameBits([1, -0], [1, 0], "y")).toThrow(
      "y: [1] must be the bits of 0 (0x00000000), got -0 (0x80000000)",
    );
  });
});
