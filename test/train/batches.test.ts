import { describe, expect, test } from "vitest";
import { batchesByLength, padRows, shuffled } from "../../src/train/batches.js";
import { seeded } from "../support/random.js";

const random = seeded(11);
const lengths = Array.from({ length: 500 }, () => 1 + random.integer(40));

describe("batchesByLength()", () => {
  test("puts every item into one batch", () => {
    const batches = batchesByLength(lengths, 32, 1);
    expect(batches.flat().sort((a, b) => a - b)).toEqual(lengths.map((_, index) => index));
    expect(batches.map((batch) => batch.length).sort((a, b) => a - b)).toEqual([
      20,
      ...Array<number>(15).fill(32),
    ]);
  });

  test("keeps like lengths together", () => {
    const spread = batchesByLength(lengths, 32, 1).map((batch) => {
      const own = batch.map((index) => lengths[index] as number);
      return Math.max(...own) - Math.min(...own);
    });
    // 500 items over 40 lengths: 32 of them span four lengths or so.
    expect(Math.max(...spread)).toBeLessThanOrEqual(6);
  });

  test("depends on the seed and on nothing else", () => {
    expect(batchesByLength(lengths, 32, 7)).toEqual(batchesByLength(lengths, 32, 7));
    expect(batchesByLength(lengths, 32, 7)).not.toEqual(batchesByLength(lengths, 32, 8));
  });

  test("has literal batches, which resumed runs rely on", () => {
    expect(batchesByLength([3, 1, 2, 1, 3, 2, 9], 2, 5)).toEqual([[1, 3], [5, 2], [4, 0], [6]]);
  });

  test.each([0, -1, 1.5, Number.NaN])("refuses batches of %d", (size) => {
    expect(() => batchesByLength([1, 2], size, 1)).toThrow(
      `batchesByLength: size must be a whole number from 1 up, got ${size}`,
    );
  });

  test("gives none for no items", () => {
    expect(batchesByLength([], 4, 1)).toEqual([]);
  });
});

describe("shuffled()", () => {
  test("moves items and loses none", () => {
    const items = Array.from({ length: 100 }, (_, i) => i);
    const mixed = shuffled(items, 3);
    expect(mixed).not.toEqual(items);
    expect(mixed.toSorted((a, b) => a - b)).toEqual(items);
  });
});

describe("padRows()", () => {
  test("fills rows up to the longest", () => {
    expect(padRows([[5, 6, 7], [8], []], 9)).toEqual({
      values: Int32Array.of(5, 6, 7, 8, 9, 9, 9, 9, 9),
      lengths: Int32Array.of(3, 1, 0),
      longest: 3,
    });
  });

  test("gives nothing for no rows", () => {
    expect(padRows([], 0)).toEqual({
      values: new Int32Array(),
      lengths: new Int32Array(),
      longest: 0,
    });
  });
});
