import { describe, expect, test } from "vitest";
import {
  DARK,
  INKS,
  LEVELS,
  LIGHT,
  levelOf,
  percent,
  STEPS,
  stepOf,
  topOf,
} from "../../src/inspect/scale.js";

const withMost = (most: number): number =>
  topOf({ kind: "self", queries: ["a"], keys: ["a"], weights: [[[Float32Array.of(most)]]] });

describe("topOf()", () => {
  test.each([
    [0, 1],
    [1, 1],
    [1.0000001, 1],
    [0.51, 1],
    [0.5, 0.5],
    [0.21, 0.3],
    [0.2, 0.2],
    [0.11, 0.2],
    [0.0421, 0.05],
    [0.001, 0.001],
    [1.12, 2],
    [4000, 5000],
    [3e38, 3e38],
    [1e-40, 1e-9],
  ])("of %d is %d", (most, top) => {
    expect(withMost(most)).toBe(top);
  });
});

describe("stepOf()", () => {
  test("keeps a weight to 0.1 % of the top", () => {
    for (const top of [1, 0.05])
      for (let i = 0; i <= 1000; i++) {
        const weight = (i / 1000) * top;
        const again = top * (stepOf(weight, top) / STEPS) ** 2;
        expect(Math.abs(again - weight)).toBeLessThanOrEqual(0.0003 * top);
      }
  });

  test("stays in its range above the top", () => {
    expect([0, 1, 1.0001, 7].map((weight) => stepOf(weight, 1))).toEqual([0, STEPS, STEPS, STEPS]);
    expect([0, STEPS / 2, STEPS].map(levelOf)).toEqual([0, LEVELS / 2, LEVELS]);
  });
});

test("percent() has one decimal, and does not call a little nothing", () => {
  expect([0, 1e-9, 0.0005, 0.0421, 0.831, 1, 1.25].map(percent)).toEqual([
    "0 %",
    "< 0.1 %",
    "0.1 %",
    "4.2 %",
    "83.1 %",
    "100.0 %",
    "125.0 %",
  ]);
});

describe.each([
  ["light", LIGHT, INKS.light, "#ffffff"],
  ["dark", DARK, INKS.dark, "#131519"],
] as const)("the %s colours", (_, colours, inks, paper) => {
  test("have one step of lightness from each level to the next", () => {
    expect(colours).toHaveLength(LEVELS + 1);
    const lightness = colours.map(oklabLightness);
    const step = ((lightness[LEVELS] as number) - (lightness[0] as number)) / LEVELS;
    expect(Math.abs(step)).toBeGreaterThan(0.04);
    // Colours have 8 bits a channel.
    for (let level = 1; level <= LEVELS; level++)
      expect((lightness[level] as number) - (lightness[level - 1] as number)).toBeCloseTo(step, 2);
  });

  test("bear text on every level, by WCAG's contrast of 4.5", () => {
    colours.forEach((colour, level) => {
      const ink = level < inks.from ? inks.below : inks.above;
      expect(contrast(colour, ink)).toBeGreaterThan(4.5);
    });
  });

  test("begin near the paper and end far from it", () => {
    expect(contrast(colours[0] as string, paper)).toBeLessThan(1.2);
    expect(contrast(colours[LEVELS] as string, paper)).toBeGreaterThan(10);
  });
});

function linear(colour: string): [number, number, number] {
  return [1, 3, 5].map((at) => {
    const x = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
}

/** @source Ottosson 2020, "A perceptual color space for image processing" */
function oklabLightness(colour: string): number {
  const [r, g, b] = linear(colour);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s;
}

/** @source WCAG 2.2, contrast ratio */
function contrast(a: string, b: string): number {
  const luminance = (colour: string): number => {
    const [r, g, b] = linear(colour);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}
