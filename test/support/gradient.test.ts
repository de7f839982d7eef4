import { describe, expect, test } from "vitest";
import { directionalDifference, finiteDifferences } from "./gradient.js";

const f = (x: Float64Array): number => {
  const [a, b, c] = x as unknown as [number, number, number];
  return a ** 3 * b + Math.sin(c);
};
const x = Float64Array.of(2, 5, 0.5);
const exact = [3 * 4 * 5, 8, Math.cos(0.5)];

describe("finiteDifferences()", () => {
  test("is the gradient, at the indices asked for", () => {
    const all = finiteDifferences(f, x, [0, 1, 2]);
    all.forEach((value, index) => {
      expect(Math.abs(value - (exact[index] as number))).toBeLessThan(1e-8);
    });
    expect(finiteDifferences(f, x, [1])[0]).toBeCloseTo(8, 8);
  });

  test("leaves x as it was", () => {
    finiteDifferences(f, x, [0, 1, 2]);
    expect([...x]).toEqual([2, 5, 0.5]);
  });
});

describe("directionalDifference()", () => {
  test("is gradient · direction", () => {
    const direction = [1, -2, 0.5];
    const expected = exact.reduce((sum, g, i) => sum + g * (direction[i] as number), 0);
    expect(Math.abs(directionalDifference(f, x, direction) - expected)).toBeLessThan(1e-8);
  });
});
