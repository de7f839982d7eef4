import { describe, expect, test } from "vitest";
import { exactExp, exactLog, exactPower, exactSinCos } from "../src/exact-math.js";
import { seeded } from "./support/random.js";

/** Relative for large results, absolute for small ones. */
const TOLERANCE = 1e-14; // about 45 ulp: series of 20 terms, a reduction in two parts, and Math's own error

function expectNear(actual: number, expected: number, what: string): void {
  const error = Math.abs(actual - expected) / Math.max(Math.abs(expected), 1);
  expect(error, `${what}: ${actual} for ${expected}`).toBeLessThanOrEqual(TOLERANCE);
}

describe("exactExp()", () => {
  test("is Math.exp to 1e-14 relative, from −700 to 709", () => {
    const random = seeded(1);
    for (let i = 0; i < 2000; i++) {
      const x = random.uniform() * 1409 - 700;
      expect(Math.abs(exactExp(x) / Math.exp(x) - 1), `x = ${x}`).toBeLessThanOrEqual(TOLERANCE);
    }
  });

  test.each([
    [0, 1],
    [-0, 1],
    [Infinity, Infinity],
    [-Infinity, 0],
    [1000, Infinity],
    [-1000, 0],
    [Number.NaN, Number.NaN],
  ])("of %d is %d", (x, y) => {
    expect(exactExp(x)).toBe(y);
  });
});

describe("exactLog()", () => {
  test("is Math.log to 1e-14, over all magnitudes", () => {
    const random = seeded(2);
    for (let i = 0; i < 2000; i++) {
      const x = 2 ** (random.uniform() * 2000 - 1000);
      expectNear(exactLog(x), Math.log(x), `x = ${x}`);
    }
    for (let i = 0; i < 500; i++) {
      const x = 0.5 + random.uniform();
      expectNear(exactLog(x), Math.log(x), `x = ${x}`);
    }
  });

  test.each([
    [1, 0],
    [0, -Infinity],
    [Infinity, Infinity],
    [-1, Number.NaN],
    [Number.NaN, Number.NaN],
  ])("of %d is %d", (x, y) => {
    expect(exactLog(x)).toBe(y);
  });
});

describe("exactPower()", () => {
  test("is Math.pow to 1e-13 relative for moderate exponents", () => {
    // The logarithm's relative error of 1e-15 is multiplied by |y·ln x| ≤ 35.
    const random = seeded(3);
    for (let i = 0; i < 1000; i++) {
      const x = random.uniform() * 30;
      const y = random.uniform() * 20 - 10;
      expect(Math.abs(exactPower(x, y) / x ** y - 1), `${x}^${y}`).toBeLessThanOrEqual(1e-13);
    }
  });

  test("knows the corners", () => {
    expect(exactPower(0, 0)).toBe(1);
    expect(exactPower(0, 2)).toBe(0);
    expect(exactPower(0, -2)).toBe(Infinity);
    expect(exactPower(5, 0)).toBe(1);
  });
});

describe("exactSinCos()", () => {
  test("is Math.sin and Math.cos to 1e-14, in every quarter", () => {
    const random = seeded(4);
    for (let i = 0; i < 2000; i++) {
      const x = random.uniform() * 20_000 - 10_000;
      const { sin, cos } = exactSinCos(x);
      expectNear(sin, Math.sin(x), `sin ${x}`);
      expectNear(cos, Math.cos(x), `cos ${x}`);
    }
  });

  test("of 0 is exact", () => {
    expect(exactSinCos(0)).toEqual({ sin: 0, cos: 1 });
  });
});
