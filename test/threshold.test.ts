import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bestThreshold } from "../scripts/threshold.js";

function accuracy(threshold: number, below: readonly number[], above: readonly number[]): number {
  const share = (values: readonly number[], fits: (value: number) => boolean): number =>
    values.filter(fits).length / values.length;
  return (share(below, (x) => x < threshold) + share(above, (x) => x >= threshold)) / 2;
}

describe("bestThreshold()", () => {
  test("stands between kinds that do not mix, at one half if it can", () => {
    expect(bestThreshold([0.1, 0.2], [0.8, 0.6])).toEqual({ threshold: 0.5, accuracy: 1 });
    expect(bestThreshold([0.1, 0.2], [0.4, 0.8])).toEqual({
      threshold: (0.2 + 0.4) / 2,
      accuracy: 1,
    });
  });

  test("counts both kinds the same, however many there are", () => {
    const { threshold, accuracy } = bestThreshold([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9], [0.8]);
    expect(threshold).toBe((0.7 + 0.8) / 2);
    expect(accuracy).toBeCloseTo((7 / 8 + 1) / 2, 12);
  });

  test("goes nearer to one half when that costs half a percent at most", () => {
    const below = Array.from({ length: 1000 }, (_, i) => i / 1e5);
    // 0.3 lies above where 0.5 puts it: one of 400 is a quarter of a percent, of half the weight.
    const above = [0.3, ...Array.from({ length: 399 }, (_, i) => 0.9 + i / 1e4)];
    expect(bestThreshold(below, above)).toMatchObject({ threshold: 0.5 });
    const costly = [0.3, 0.3, 0.3, ...Array.from({ length: 97 }, () => 0.9)];
    expect(bestThreshold(below, costly).threshold).toBeLessThan(0.3);
  });

  test("parts as well as any of the values does, but for half a percent", () => {
    const values = fc.array(
      fc.integer({ min: 0, max: 9 }).map((n) => n / 10),
      {
        minLength: 1,
        maxLength: 12,
      },
    );
    fc.assert(
      fc.property(values, values, (below, above) => {
        const found = bestThreshold(below, above);
        expect(found.accuracy).toBeCloseTo(accuracy(found.threshold, below, above), 12);
        for (let threshold = 0; threshold <= 1.05; threshold += 0.05)
          expect(found.accuracy).toBeGreaterThan(accuracy(threshold, below, above) - 0.005001);
      }),
    );
  });

  test("needs both kinds", () => {
    expect(() => bestThreshold([], [1])).toThrow("values of both kinds, got 0 and 1");
  });
});
