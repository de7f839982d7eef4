import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bestThreshold } from "../../src/tasks/threshold.js";

function accuracy(threshold: number, below: readonly number[], above: readonly number[]): number {
  const share = (values: readonly number[], fits: (value: number) => boolean): number =>
    values.filter(fits).length / values.length;
  return (share(below, (x) => x < threshold) + share(above, (x) => x >= threshold)) / 2;
}

describe("bestThreshold()", () => {
  test("stands in the middle between kinds that do not mix", () => {
    expect(bestThreshold([0.1, 0.2], [0.8, 0.4])).toEqual({
      threshold: (0.2 + 0.4) / 2,
      accuracy: 1,
    });
  });

  test("counts both kinds the same, however many there are", () => {
    const { threshold, accuracy } = bestThreshold([1, 2, 3, 4, 5, 6, 7, 9], [8]);
    expect(threshold).toBe(7.5);
    expect(accuracy).toBeCloseTo((7 / 8 + 1) / 2, 12);
  });

  test("parts as well as any of the values does", () => {
    const values = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(values, values, (below, above) => {
        const found = bestThreshold(below, above);
        expect(found.accuracy).toBeCloseTo(accuracy(found.threshold, below, above), 12);
        for (let threshold = 0; threshold <= 10; threshold++)
          expect(found.accuracy).toBeGreaterThan(accuracy(threshold, below, above) - 1e-12);
      }),
    );
  });

  test("needs both kinds", () => {
    expect(() => bestThreshold([], [1])).toThrow("values of both kinds, got 0 and 1");
  });
});
