import { describe, expect, test } from "vitest";
import { checkedPad, checkedProduct, checkedSum, isCount } from "../../src/io/checked.js";

const MAX = Number.MAX_SAFE_INTEGER;
const NOT_COUNTS = [-1, -0, 0.5, Number.NaN, Infinity, -Infinity, MAX + 1, 2 ** 64, undefined];

describe("checkedSum()", () => {
  test("adds counts", () => {
    expect(checkedSum()).toBe(0);
    expect(checkedSum(2 ** 31, 2 ** 31)).toBe(2 ** 32);
    expect(checkedSum(MAX, 0)).toBe(MAX);
  });

  test("refuses a sum above 2^53 − 1", () => {
    expect(checkedSum(MAX, 1)).toBeUndefined();
    expect(checkedSum(MAX, MAX)).toBeUndefined();
    expect(checkedSum(2 ** 52, 2 ** 52)).toBeUndefined();
  });

  test("refuses terms that are not counts", () => {
    for (const bad of NOT_COUNTS) expect(checkedSum(1, bad)).toBeUndefined();
  });
});

describe("checkedProduct()", () => {
  test("multiplies counts", () => {
    expect(checkedProduct([])).toBe(1);
    expect(checkedProduct([2 ** 31, 4])).toBe(2 ** 33);
    expect(checkedProduct([94906265, 94906265])).toBe(9007199136250225);
  });

  test("refuses a product above 2^53 − 1, exact or rounded", () => {
    expect(checkedProduct([2 ** 27 + 1, 2 ** 27 + 1])).toBeUndefined();
    expect(checkedProduct([94906266, 94906266])).toBeUndefined();
    expect(checkedProduct([2 ** 32, 2 ** 32])).toBeUndefined();
  });

  test("lets no zero hide a product that does not fit, in any order", () => {
    expect(checkedProduct([0, 2 ** 40, 2 ** 13])).toBeUndefined();
    expect(checkedProduct([2 ** 40, 2 ** 13, 0])).toBeUndefined();
    expect(checkedProduct([0, 2 ** 40, 2 ** 12])).toBe(0);
  });

  test("refuses factors that are not counts", () => {
    for (const bad of NOT_COUNTS) expect(checkedProduct([0, bad])).toBeUndefined();
  });

  test("agrees with exact arithmetic around 2^31, 2^32 and 2^53", () => {
    const edges = [1, 2, 3, 2 ** 21, 2 ** 26, 2 ** 31, 2 ** 32].flatMap((n) => [n - 1, n, n + 1]);
    for (const a of edges)
      for (const b of edges)
        for (const c of edges) {
          const exact = [a, b, c].reduce((p, n) => p * BigInt(n || 1), 1n);
          const zero = a * b * c === 0;
          const want = exact > BigInt(MAX) ? undefined : zero ? 0 : Number(exact);
          expect(checkedProduct([a, b, c]), `${a}·${b}·${c}`).toBe(want);
        }
  });
});

describe("checkedPad()", () => {
  test("gives the next multiple, past 32 bits too", () => {
    expect(checkedPad(0, 8)).toBe(0);
    expect(checkedPad(1, 8)).toBe(8);
    expect(checkedPad(8, 8)).toBe(8);
    expect(checkedPad(2 ** 31, 32)).toBe(2 ** 31);
    expect(checkedPad(2 ** 32 + 1, 32)).toBe(2 ** 32 + 32);
  });

  test("refuses what does not fit", () => {
    expect(checkedPad(MAX, 8)).toBeUndefined();
    expect(checkedPad(8, 0)).toBeUndefined();
    expect(checkedPad(-1, 8)).toBeUndefined();
  });
});

test("isCount() takes safe integers from 0 alone", () => {
  expect(isCount(0)).toBe(true);
  expect(isCount(MAX)).toBe(true);
  for (const bad of [...NOT_COUNTS, "1", 1n, null]) expect(isCount(bad)).toBe(false);
});
