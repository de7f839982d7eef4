import { describe, expect, test } from "vitest";
import { linePlotSvg } from "../../src/inspect/line-plot.js";

const PLOT = {
  title: "Found again",
  xLabel: "distance",
  yLabel: "share",
  series: [
    { name: "attention", points: [5, 50, 500].map((x) => ({ x, y: 1 })) },
    { name: "LSTM", points: [5, 50, 500].map((x, i) => ({ x, y: 1 - i / 4 })) },
  ],
};

/** The points of each line, in pixels. */
function linesOf(svg: string): [number, number][][] {
  return [...svg.matchAll(/<path class="line" d="(M[^"]*L[^"]*)"/g)].map(([, path]) =>
    [...(path as string).matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [
      Number(x),
      Number(y),
    ]),
  );
}

describe("linePlotSvg()", () => {
  test("draws each line over a logarithmic axis, higher for more", () => {
    const [flat, falling] = linesOf(linePlotSvg(PLOT)) as [[number, number][], [number, number][]];
    const xs = flat.map(([x]) => x);
    expect(xs).toEqual(falling.map(([x]) => x));
    expect((xs[1] as number) - (xs[0] as number)).toBeCloseTo(
      (xs[2] as number) - (xs[1] as number),
      1,
    );
    expect(new Set(flat.map(([, y]) => y)).size).toBe(1);
    const heights = falling.map(([, y]) => y);
    expect(heights).toEqual(heights.toSorted((a, b) => a - b));
  });

  test("names axes, lines and the numbers of every point", () => {
    const svg = linePlotSvg(PLOT);
    for (const text of ["Found again", "distance", "share", "attention", "LSTM", "500: 0.500"])
      expect(svg).toContain(`>${text}<`);
    expect(svg).toContain("prefers-color-scheme:dark");
  });

  test("gives a page that shows it alone its own background, in the dark too", () => {
    const [light, dark] = linePlotSvg(PLOT).split("@media(prefers-color-scheme:dark)");
    for (const [style, colour] of [
      [light, "#fff"],
      [dark, "#16181d"],
    ])
      for (const rule of [".heed .paper{fill:", "background:"])
        expect(style).toContain(`${rule}${colour}`);
    expect(light).toContain("color-scheme:light dark");
  });

  test("draws one point, and none", () => {
    const series = [{ name: "a", points: [{ x: 7, y: 0.5 }] }];
    expect(linePlotSvg({ ...PLOT, series })).not.toMatch(/NaN|Infinity/);
    expect(linePlotSvg({ ...PLOT, series: [] })).not.toMatch(/NaN|Infinity/);
  });

  test("leaves labels out where they would overlap", () => {
    const points = Array.from({ length: 400 }, (_, i) => ({ x: i + 100, y: 0 }));
    const svg = linePlotSvg({ ...PLOT, series: [{ name: "a", points }] });
    expect([...svg.matchAll(/class="middle">\d/g)].length).toBeLessThan(20);
  });

  test("writes text as text", () => {
    const svg = linePlotSvg({ ...PLOT, title: "<script>&\u202e" });
    expect(svg).toContain("&lt;script&gt;&amp;");
    expect(svg).not.toMatch(/<script|\u202e/);
  });

  test("refuses numbers out of range", () => {
    const one = (x: number, y: number) => ({
      ...PLOT,
      series: [{ name: "a", points: [{ x, y }] }],
    });
    expect(() => linePlotSvg(one(0, 1))).toThrow("x must be a number above 0, got 0");
    expect(() => linePlotSvg(one(1, 1.5))).toThrow('y of "a" must lie in 0 … 1, got 1.5');
    expect(() => linePlotSvg(one(1, Number.NaN))).toThrow(RangeError);
    const many = { ...PLOT, series: Array(5).fill(PLOT.series[0]) };
    expect(() => linePlotSvg(many)).toThrow("at most 4 lines, got 5");
  });
});
