import { type AttentionMap, checkMap, expectIndex, nameOf } from "./attention-map.js";
import {
  type Axes,
  axesOf,
  columnLabels,
  gridLines,
  legend,
  levelPaths,
  levelsOf,
  round,
  rowLabels,
  shadeRules,
  widthOf,
} from "./heatmap.js";
import { DARK, LIGHT, mostOf, percent, topOf } from "./scale.js";
import { escapeMarkup, visible } from "./visible.js";

export interface AttentionSvgOptions {
  /** Counted from 0; default the last. */
  readonly layer?: number | undefined;
  /** Counted from 0; default all, side by side. */
  readonly head?: number | undefined;
}

/** Cells that have a title of their own: the largest weights. More would make files of many megabytes. */
const MOST_TITLES = 10_000;
/** Characters of a token in a title. */
const MOST_TOKEN = 60;
const MOST_TITLE = 96;
const MARGIN = 20;
/** Width of the cells of one head alone, and of all heads together. */
const ROOM = 640;
const SHARED_ROOM = 1000;
/** Between heads. */
const GUTTER = 18;
const LEAST_WIDTH = 420;

/** A part of a picture that stands below the one before. */
interface Figure {
  readonly width: number;
  readonly height: number;
  readonly body: string;
}

/**
 * A heat map as an SVG file: rows look, columns are looked at, darker is more (in the dark: lighter).
 *
 * Heads stand side by side; several maps one below the other. Hovering over a cell tells its weight.
 * Many tokens have small cells, and not all of them a label.
 *
 * @throws {TypeError} {ShapeError} {RangeError} the map's parts do not fit, or there is no such layer or head
 * @example
 * await writeFile("attention.svg", attentionSvg(map, { layer: 0 }));
 */
export function attentionSvg(
  maps: AttentionMap | readonly AttentionMap[],
  options: AttentionSvgOptions = {},
): string {
  const figures = (Array.isArray(maps) ? maps : [maps]).map((map) => figureOf(map, options));
  const width = Math.max(LEAST_WIDTH, mostOf(figures.map((figure) => figure.width))) + 2 * MARGIN;
  let y = MARGIN;
  const placed = figures.map(({ height, body }) => {
    const part = `<g transform="translate(${MARGIN} ${round(y)})">${body}</g>\n`;
    y += height + 2 * MARGIN;
    return part;
  });
  const height = Math.max(y - MARGIN, 2 * MARGIN);
  const size = `${round(width)} ${round(height)}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" class="heed" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${size}" role="img">
<style>${STYLE}</style>
<path class="paper" d="M0 0h${round(width)}v${round(height)}H0z"/>
${placed.join("")}</svg>
`;
}

function figureOf(map: AttentionMap, options: AttentionSvgOptions): Figure {
  const sizes = checkMap("attentionSvg", map);
  const layer = expectIndex(
    "attentionSvg",
    "layer",
    options.layer ?? sizes.layers - 1,
    sizes.layers,
  );
  const one =
    options.head === undefined
      ? undefined
      : expectIndex("attentionSvg", "head", options.head, sizes.heads);
  const heads = map.weights[layer] as AttentionMap["weights"][number];
  const shown = one === undefined ? heads : [heads[one] as readonly Float32Array[]];
  const names = shown.map((_, head) => (shown.length > 1 ? `head ${head}` : ""));

  const about = [
    nameOf(map.kind),
    ...(sizes.layers > 1 ? [`layer ${layer}`] : []),
    ...(one !== undefined && sizes.heads > 1 ? [`head ${one}`] : []),
    ...(shown.length > 1 ? [`${shown.length} heads`] : []),
    `${sizes.queries} × ${sizes.keys} tokens`,
  ].join(" · ");
  const title = map.title === undefined ? "" : visible(map.title, MOST_TITLE);
  const heading = `${title && `<text class="title" y="14">${escapeMarkup(title)}</text>`}<text class="about" y="${title ? 33 : 12}">${escapeMarkup(about)}</text>`;
  const above = title ? 46 : 25;
  const headed = Math.max(widthOf(title, 15), widthOf(about, 12));
  if (sizes.queries === 0 || sizes.keys === 0)
    return {
      width: headed,
      height: above + 24,
      body: `${heading}<text class="about" y="${above + 16}">No tokens.</text>`,
    };
  const cells = panels(map, shown, names);
  const scale = `<g transform="translate(${cells.left} ${round(above + cells.height + 20)})">${legend(topOf(map))}<text class="about" x="226" y="9">a row looks at its columns</text></g>`;
  return {
    width: Math.max(headed, cells.width, cells.left + 400),
    height: above + cells.height + 20 + 26,
    body: `${heading}<g transform="translate(0 ${above})">${cells.body}</g>${scale}`,
  };
}

/** Heads side by side; the first of a line has labels before it, those of the first line above. */
function panels(
  { queries, keys, ...map }: AttentionMap,
  heads: readonly (readonly Float32Array[])[],
  names: readonly string[],
): Figure & { readonly left: number } {
  const across = Math.min(4, heads.length);
  const alone = heads.length === 1;
  const axes = alone
    ? axesOf(queries, keys, ROOM, 5)
    : axesOf(queries, keys, SHARED_ROOM / across, 1.25);
  const width = keys.length * axes.cellWidth;
  const height = queries.length * axes.cellHeight;
  const below = alone ? 0 : 20;
  const titled = largest(heads, MOST_TITLES);
  const top = topOf({ queries, keys, ...map });
  const parts = heads.map((rows, head) => {
    const [line, place] = [Math.floor(head / across), head % across];
    const x = axes.left + place * (width + GUTTER);
    const y = axes.top + line * (height + below + GUTTER);
    return [
      `<g transform="translate(${round(x)} ${round(y)})">`,
      `<path class="l0" d="M0 0h${round(width)}v${round(height)}H0z"/>`,
      cells(axes, rows, { queries, keys }, top, titled),
      gridLines(axes),
      place === 0 ? `<g text-anchor="end" font-size="${axes.font}">${rowLabels(axes)}</g>` : "",
      line === 0 ? `<g font-size="${axes.font}">${columnLabels(axes)}</g>` : "",
      alone ? "" : `<text class="about" y="${round(height + 14)}">${names[head]}</text>`,
      "</g>\n",
    ].join("");
  });
  const lines = Math.ceil(heads.length / across);
  return {
    left: axes.left,
    width: axes.left + across * (width + GUTTER) - GUTTER + axes.right,
    height: axes.top + lines * (height + below + GUTTER) - GUTTER,
    body: parts.join(""),
  };
}

/** The cells of a head: those with a title one by one, the others by shade. */
function cells(
  { cellWidth, cellHeight }: Axes,
  rows: readonly Float32Array[],
  { queries, keys }: Pick<AttentionMap, "queries" | "keys">,
  top: number,
  titled: (weight: number) => boolean,
): string {
  const size = `h${round(cellWidth)}v${round(cellHeight)}h${-round(cellWidth)}z`;
  const names = keys.map((key) => visible(key, MOST_TOKEN));
  const single: string[] = [];
  const others = rows.map((row, y) => {
    const query = visible(queries[y] as string, MOST_TOKEN);
    const levels = levelsOf(row, top);
    row.forEach((weight, x) => {
      if (!titled(weight)) return;
      const text = `${query} → ${names[x]}  ${percent(weight)}`;
      const place = `M${round(x * cellWidth)} ${round(y * cellHeight)}`;
      single.push(
        `<path class="l${levels[x]}" d="${place}${size}"><title>${escapeMarkup(text)}</title></path>`,
      );
      levels[x] = 0;
    });
    return levels;
  });
  const merged = levelPaths(others).map((d, level) => d && `<path class="l${level}" d="${d}"/>`);
  return `<g transform="scale(${cellWidth} ${cellHeight})">${merged.join("")}</g><g>${single.join("")}</g>`;
}

/** Tells whether a weight is among the largest; asked once for each. */
function largest(
  heads: readonly (readonly Float32Array[])[],
  most: number,
): (weight: number) => boolean {
  const all = heads.flatMap((rows) => rows.flatMap((row) => Array.from(row)));
  if (all.length <= most) return () => true;
  const sorted = Float32Array.from(all).sort();
  const least = sorted[all.length - most] as number;
  let equals = most - all.filter((weight) => weight > least).length;
  return (weight) => weight > least || (weight === least && equals-- > 0);
}

const STYLE = `.heed{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;color-scheme:light dark;background:#fff}.heed text{fill:#16181d;white-space:pre}.heed .title{font-size:15px;font-weight:600}.heed .about,.heed .legend text{fill:#5c6370}.heed .legend text{font-size:10px}.heed .tick{stroke:#aab0ba;fill:none}.heed .paper{fill:#fff}.heed .rules{stroke:#fff;fill:none;pointer-events:none}.heed path{shape-rendering:crispEdges}${shadeRules(LIGHT)}@media(prefers-color-scheme:dark){.heed{background:#131519}.heed text{fill:#e6e8ec}.heed .about,.heed .legend text{fill:#9aa1ad}.heed .tick{stroke:#565d69}.heed .paper{fill:#131519}.heed .rules{stroke:#131519}${shadeRules(DARK)}}`;
