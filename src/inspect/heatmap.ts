/** The parts of a heat map that SVG files and HTML reports share; lengths are pixels. */
import { LEVELS, levelOf, MARKS, mostOf, percent, stepOf } from "./scale.js";
import { escapeMarkup, visible } from "./visible.js";

/** Characters of a label; the token's whole text stands in titles and in the readout. */
const MOST_LABEL = 18;
/** Labels are this far from the cells. */
export const GAP = 7;

// Characters by their width.
const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;
const NARROW = /[ijl.,:;'|!]/;
const BROAD = /[MWmw@%…]/;
const NO_WIDTH = /[\p{M}\u200c\u200d]/u;

export interface Axes {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly cellWidth: number;
  readonly cellHeight: number;
  readonly font: number;
  /** Every how many rows and columns there is a label. */
  readonly rowEvery: number;
  readonly columnEvery: number;
  readonly slanted: boolean;
  /** Room that the labels take. */
  readonly left: number;
  readonly top: number;
  readonly right: number;
}

/**
 * How large the cells are, and which labels fit beside them.
 *
 * @param room   pixels that the longer side may take …
 * @param least  … unless cells would be smaller than this
 */
export function axesOf(
  queries: readonly string[],
  keys: readonly string[],
  room: number,
  least: number,
): Axes {
  const rows = queries.map((text) => visible(text, MOST_LABEL));
  const columns = keys.map((text) => visible(text, MOST_LABEL));
  const tokens = Math.max(rows.length, columns.length, 1);
  const side = clamp(Math.floor((2 * room) / tokens) / 2, least, 36);
  const font = clamp(0.56 * side, 9.5, 13);
  const widths = columns.map((label) => widthOf(label, font));
  const widest = mostOf(widths);
  // Few short words stand upright, over cells as wide as they are.
  const upright = Math.max(side, Math.ceil(widest + 10));
  const slanted = side < 28 || upright > 2.2 * side || columns.length * upright > room;
  const cellWidth = slanted ? side : upright;
  const columnEvery = slanted ? Math.ceil((1.55 * font) / cellWidth) : 1;
  const shown = widths.flatMap((width, column) =>
    column % columnEvery === 0
      ? [{ width, behind: (columns.length - column - 0.5) * cellWidth }]
      : [],
  );
  return {
    rows,
    columns,
    cellWidth,
    cellHeight: side,
    font,
    rowEvery: Math.ceil((1.25 * font) / side),
    columnEvery,
    slanted,
    left: Math.ceil(mostOf(rows.map((label) => widthOf(label, font)))) + GAP,
    top: Math.ceil(slanted ? widest * Math.SQRT1_2 + font : font) + GAP,
    right: slanted
      ? Math.ceil(mostOf(shown.map(({ width, behind }) => width * Math.SQRT1_2 + font - behind)))
      : 0,
  };
}

/** Labels of the rows, right-aligned before (0, 0) … */
export function rowLabels(axes: Axes): string {
  const { rows, rowEvery, cellHeight } = axes;
  return rows
    .map((label, row) =>
      row % rowEvery === 0
        ? `<text x="${-GAP}" y="${round((row + 0.5) * cellHeight)}" dy=".35em">${escapeMarkup(label)}</text>${
            rowEvery > 1 ? tick(-4, (row + 0.5) * cellHeight, "h3") : ""
          }`
        : "",
    )
    .join("");
}

/** … and of the columns, above it. */
export function columnLabels(axes: Axes): string {
  const { columns, columnEvery, cellWidth } = axes;
  return columns
    .map((label, column) =>
      column % columnEvery === 0
        ? `<text ${columnPlace(axes, column)}>${escapeMarkup(label)}</text>${
            columnEvery > 1 ? tick((column + 0.5) * cellWidth, -4, "v3") : ""
          }`
        : "",
    )
    .join("");
}

/** Attributes that put a column's label in its place. */
function columnPlace({ slanted, cellWidth }: Axes, column: number): string {
  const x = round((column + 0.5) * cellWidth);
  return slanted
    ? `transform="translate(${x} ${-GAP}) rotate(-45)"`
    : `x="${x}" y="${-GAP}" text-anchor="middle"`;
}

/**
 * All cells of a shade as one path, each one by one unit, those side by side in one piece.
 *
 * @returns the paths' data by level; that of the background is empty
 */
export function levelPaths(rows: readonly ArrayLike<number>[]): string[] {
  const paths = Array.from({ length: LEVELS + 1 }, () => "");
  rows.forEach((levels, y) => {
    for (let x = 0; x < levels.length; ) {
      const level = levels[x] as number;
      const from = x;
      while (x < levels.length && levels[x] === level) x++;
      if (level > 0) paths[level] += `M${from} ${y}h${x - from}v1H${from}z`;
    }
  });
  return paths;
}

/** Lines between cells that are large enough. */
export function gridLines({ rows, columns, cellWidth, cellHeight }: Axes): string {
  if (cellHeight < 10) return "";
  const [width, height] = [columns.length * cellWidth, rows.length * cellHeight].map(round);
  const across = rows.slice(1).map((_, row) => `M0 ${round((row + 1) * cellHeight)}h${width}`);
  const down = columns
    .slice(1)
    .map((_, column) => `M${round((column + 1) * cellWidth)} 0v${height}`);
  return `<path class="rules" d="${across.join("")}${down.join("")}"/>`;
}

/** A row of weights as levels. */
export function levelsOf(row: Float32Array, top: number): number[] {
  return Array.from(row, (weight) => levelOf(stepOf(weight, top)));
}

/** The scale with its marks, 200 by 24 pixels from (0, 0). */
export function legend(top: number): string {
  const step = 200 / LEVELS;
  const shades = Array.from(
    { length: LEVELS },
    (_, i) => `<path class="l${i + 1}" d="M${round(i * step)} 0h${step}v9h-${step}z"/>`,
  );
  const marks = MARKS.map((part) => {
    const x = round(200 * Math.sqrt(part));
    const text = percent(part * top).replace(/\.0 %$/, " %");
    // The first begins where the scale does: in a page that is the margin.
    const anchor = part === 0 ? "start" : "middle";
    return `${tick(x, 9, "v3")}<text x="${x}" y="23" text-anchor="${anchor}">${escapeMarkup(text)}</text>`;
  });
  return `<g class="legend">${shades.join("")}${marks.join("")}</g>`;
}

/** One rule a shade: not every viewer of SVG knows custom properties. */
export function shadeRules(colours: readonly string[]): string {
  return colours.map((colour, level) => `.heed .l${level}{fill:${colour}}`).join("");
}

/** How wide a text is at most: system fonts differ. */
export function widthOf(text: string, font: number): number {
  let width = 0;
  for (const character of text) width += advanceOf(character);
  return width * font;
}

function advanceOf(character: string): number {
  if (NO_WIDTH.test(character)) return 0;
  if (WIDE.test(character)) return 1.1;
  if (NARROW.test(character)) return 0.38;
  return BROAD.test(character) ? 1 : /\p{Lu}/u.test(character) ? 0.75 : 0.64;
}

/** Two decimals at most. */
export function round(length: number): number {
  return Math.round(100 * length) / 100;
}

function tick(x: number, y: number, stroke: string): string {
  return `<path class="tick" d="M${round(x)} ${round(y)}${stroke}"/>`;
}

function clamp(x: number, least: number, most: number): number {
  return Math.min(Math.max(x, least), most);
}
