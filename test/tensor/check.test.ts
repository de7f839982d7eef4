import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DTypeError, ShapeError, StateError } from "../../src/errors.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import {
  asRows,
  broadcastShapes,
  expectDType,
  expectShape,
  normalAxis,
  sameRuntime,
  sameShape,
  showShape,
  sizeOf,
} from "../../src/tensor/check.js";
import { empty, ones } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

describe("check", () => {
  test("showShape() writes a shape as errors show it", () => {
    expect(showShape([2, 4, 8])).toBe("[2, 4, 8]");
    expect(showShape([])).toBe("[]");
  });

  test("sizeOf() multiplies; a scalar is 1", () => {
    expect(sizeOf([])).toBe(1);
    expect(sizeOf([2, 3, 4])).toBe(24);
    expect(sizeOf([2, 0, 4])).toBe(0);
  });

  test("asRows() splits off the last axis", () => {
    expect(asRows("f", empty(runtime, [2, 3, 5]))).toEqual([6, 5]);
    expect(asRows("f", empty(runtime, [4]))).toEqual([1, 4]);
    expect(asRows("f", empty(runtime, [0, 4]))).toEqual([0, 4]);
    expect(asRows("f", empty(runtime, [3, 0]))).toEqual([0, 0]);
    expect(() => asRows("f", empty(runtime, []))).toThrow("f: x must have at least one axis");
    expect(() => asRows("f", empty(runtime, [2], "i32"))).toThrow(DTypeError);
  });

  test("sameShape() shows both shapes", () => {
    sameShape("f", ones(runtime, [2, 3]), ones(runtime, [2, 3]));
    for (const shape of [[3, 2], [2], [2, 3, 1]])
      expect(() => sameShape("f", ones(runtime, [2, 3]), ones(runtime, shape))).toThrow(
        `f: a and b must have the same shape, got [2, 3] and ${showShape(shape)}`,
      );
  });

  test("expectDType() names the tensor", () => {
    expect(() => expectDType("f", ones(runtime, [2]), "i32", "ids")).toThrow(
      "f: ids must be i32, got f32[2]",
    );
  });

  test("expectShape() takes null for any length", () => {
    const x = ones(runtime, [2, 3]);
    expectShape("f", x, [null, 3], "x");
    expectShape("f", x, [2, 3], "x");
    expect(() => expectShape("f", x, [null, 4], "x")).toThrow("f: x must be [any, 4], got [2, 3]");
    expect(() => expectShape("f", x, [null], "x")).toThrow(ShapeError);
  });

  test("normalAxis() counts from the back when negative", () => {
    expect(normalAxis("f", 0, 3)).toBe(0);
    expect(normalAxis("f", -1, 3)).toBe(2);
    for (const axis of [3, -4, 0.5, Number.NaN])
      expect(() => normalAxis("f", axis, 3)).toThrow(`f: axis must lie in -3 … 2, got ${axis}`);
  });

  test.each([
    [
      [2, 3],
      [2, 3],
      [2, 3],
    ],
    [
      [2, 1, 4],
      [3, 1],
      [2, 3, 4],
    ],
    [[], [5], [5]],
    [[0, 3], [1], [0, 3]],
    [[1], [0], [0]],
  ])("broadcastShapes() of %j and %j is %j", (a, b, shape) => {
    expect(broadcastShapes("f", a, b)).toEqual(shape);
    expect(broadcastShapes("f", b, a)).toEqual(shape);
  });

  test("broadcastShapes() refuses what does not fit", () => {
    expect(() => broadcastShapes("add", [2, 3], [2])).toThrow(
      "add: shapes must broadcast (equal axes, or 1), got [2, 3] and [2]",
    );
    expect(() => broadcastShapes("add", [0], [2])).toThrow(ShapeError);
  });

  test("sameRuntime() refuses tensors of two runtimes", async () => {
    const other = await testRuntime();
    const mix = () => sameRuntime("add", ones(runtime, [1]), ones(other, [1]));
    expect(mix).toThrow(StateError);
    expect(mix).toThrow("add: all tensors must belong to one runtime, got two");
    other.dispose();
  });
});
