import { escapeMarkup, visible } from "./visible.js";

/** One line of a plot. */
export interface PlotSeries {
  readonly name: string;
  /** Points from left to right; y lies in 0 … 1. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface LinePlot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** At most four. */
  readonly series: readonly PlotSeries[];
}

// Pixels.
const [WIDTH, HEIGHT] = [560, 354];
const [LEFT, TOP, RIGHT, BOTTOM] = [64, 66, 24, 58];
const MOST_NAME = 40;
const MOST_TITLE = 72;
/** Text that stands for a line's point. */
const SHAPES = ["circle", "square", "diamond", "ring"] as const;

/**
 * Shares between 0 and 1 over positive numbers, the latter on a logarithmic scale, as an SVG file.
 *
 * Every line has a colour, a shape for its points and its name in the legend; a point tells its
 * numbers when the mouse is over it. Light and dark, as the page is.
 *
 * @throws {RangeError} a number is out of range, or there are more than four lines
 */
export function linePlotSvg({ title, xLabel, yLabel, series }: LinePlot): string {
  const xs = [...new Set(series.flatMap(({ points }) => points.map(({ x }) => x)))].sort(
    (a, b) => a - b,
  );
  check(series, xs);
  const [least, most] = [xs[0] ?? 1, xs.at(-1) ?? 10];
  const span = Math.log(most / least) || 1;
  const px = (x: number): number =>
    round(
      least === most
        ? (LEFT + WIDTH - RIGHT) / 2
        : LEFT + (Math.log(x / least) / span) * (WIDTH - LEFT - RIGHT),
    );
  const py = (y: number): number => round(HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM));
  const text = (x: number, y: number, label: string, kind: string): string =>
    `<text x="${x}" y="${y}" class="${kind}">${escapeMarkup(visible(label, MOST_TITLE))}</text>`;

  const grid = [0, 0.25, 0.5, 0.75, 1]
    .map(
      (y) =>
        `<path class="grid" d="M${LEFT} ${py(y)}H${WIDTH - RIGHT}"/>${text(LEFT - 9, py(y) + 4, y.toFixed(2), "right")}`,
    )
    .join("");
  const marks = labelled(xs.map((x) => ({ x, at: px(x) })))
    .map(({ x, at }) => text(at, HEIGHT - BOTTOM + 20, String(x), "middle"))
    .join("");
  const lines = series
    .map(({ points }, index) => {
      const path = points.map(({ x, y }, i) => `${i === 0 ? "M" : "L"}${px(x)} ${py(y)}`).join("");
      const dots = points
        .map(({ x, y }) => `<g><title>${x}: ${y.toFixed(3)}</title>${dot(index, px(x), py(y))}</g>`)
        .join("");
      return `<g class="line${index}"><path class="line" d="${path}"/>${dots}</g>`;
    })
    .join("\n");
  let x = LEFT;
  const legend = series
    .map(({ name }, index) => {
      const shown = visible(name, MOST_NAME);
      const part = `<g class="line${index}"><path class="line" d="M${x} 38h22"/>${dot(index, x + 11, 38)}</g>${text(x + 29, 42, shown, "")}`;
      x += 29 + 7 * shown.length + 22;
      return part;
    })
    .join("");
  return `<svg xmlns="http://www.w3.org/2000/svg" class="heed" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">
<style>${STYLE}</style>
<path class="paper" d="M0 0h${WIDTH}v${HEIGHT}H0z"/>
${text(LEFT, 22, title, "title")}
${grid}${marks}
${text(round((LEFT + WIDTH - RIGHT) / 2), HEIGHT - 14, xLabel, "middle")}
<g transform="translate(18 ${round((TOP + HEIGHT - BOTTOM) / 2)}) rotate(-90)">${text(0, 0, yLabel, "middle")}</g>
${lines}
${legend}
</svg>
`;
}

/** A mark of a series at a place: told apart without colours too. */
function dot(series: number, x: number, y: number): string {
  switch (SHAPES[series]) {
    case "square":
      return `<path class="dot" d="M${x - 4} ${y - 4}h8v8h-8z"/>`;
    case "diamond":
      return `<path class="dot" d="M${x} ${y - 6}l6 6l-6 6l-6-6z"/>`;
    case "ring":
      return `<circle class="ring" cx="${x}" cy="${y}" r="4"/>`;
    default:
      return `<circle class="dot" cx="${x}" cy="${y}" r="4.5"/>`;
  }
}

/** Marks with room for their labels. */
function labelled<T extends { readonly at: number }>(marks: readonly T[]): T[] {
  const kept: T[] = [];
  for (const mark of marks) {
    const last = kept.at(-1);
    if (!last || mark.at - last.at >= 30) kept.push(mark);
  }
  return kept;
}

function check(series: readonly PlotSeries[], xs: readonly number[]): void {
  if (series.length > SHAPES.length)
    throw new RangeError(
      `linePlotSvg: there must be at most ${SHAPES.length} lines, got ${series.length}`,
    );
  const bad = xs.find((x) => !(x > 0 && x < Infinity));
  if (bad !== undefined)
    throw new RangeError(`linePlotSvg: x must be a number above 0, got ${bad}`);
  for (const { name, points } of series)
    for (const { y } of points)
      if (!(y >= 0 && y <= 1))
        throw new RangeError(`linePlotSvg: y of "${name}" must lie in 0 … 1, got ${y}`);
}

function round(x: number): number {
  return Math.round(100 * x) / 100;
}

// The first two are far apart for every kind of colour blindness.
const STYLE = `.heed{font:12px system-ui,sans-serif;color-scheme:light dark;background:#fff}.heed text{fill:#3d4350}.heed .title{font-size:14px;font-weight:600;fill:#111317}
.heed .paper{fill:#fff}.heed .grid{stroke:#e3e6eb;fill:none}.heed .right{text-anchor:end}.heed .middle{text-anchor:middle}
.heed .line{fill:none;stroke-width:2}.heed .ring{fill:none;stroke-width:2}
.heed .line0{stroke:#2b4f9e;fill:#2b4f9e}.heed .line1{stroke:#c2541b;fill:#c2541b}.heed .line2{stroke:#2f7d4f;fill:#2f7d4f}.heed .line3{stroke:#7a4fa3;fill:#7a4fa3}
@media(prefers-color-scheme:dark){.heed{background:#16181d}.heed text{fill:#b9c0cc}.heed .title{fill:#f4f6f9}.heed .paper{fill:#16181d}.heed .grid{stroke:#2c313a}
.heed .line0{stroke:#8fb6f5;fill:#8fb6f5}.heed .line1{stroke:#f0a070;fill:#f0a070}.heed .line2{stroke:#86cfa3;fill:#86cfa3}.heed .line3{stroke:#c3a3e6;fill:#c3a3e6}}`;
