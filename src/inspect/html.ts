import {
  type AttentionMap,
  checkMap,
  type MapSizes,
  meanOfHeads,
  nameOf,
} from "./attention-map.js";
import {
  axesOf,
  columnLabels,
  gridLines,
  legend,
  levelPaths,
  levelsOf,
  round,
  rowLabels,
} from "./heatmap.js";
import { ALPHABET, SCRIPT, SCRIPT_HASH } from "./report-script.js";
import { STYLE, STYLE_HASH } from "./report-style.js";
import { stepOf, topOf } from "./scale.js";
import { escapeMarkup, visible } from "./visible.js";

export interface AttentionHtmlOptions {
  /** Of the page; default that of a single map, else "Attention". */
  readonly title?: string | undefined;
}

/** Characters that are shown of a token, and of a title. */
const MOST_TOKEN = 80;
const MOST_TITLE = 300;
/** Nothing may be fetched, and of styles and scripts only those of this page run. */
const POLICY = `default-src 'none'; style-src '${STYLE_HASH}'; script-src '${SCRIPT_HASH}'; base-uri 'none'; form-action 'none'`;

/**
 * A report as one HTML file that needs no network: each map as text whose words show what they look
 * at, and as a heat map. Layers and heads can be chosen. Without scripts it shows the last layer,
 * averaged over its heads.
 *
 * Weights are kept to 12 bits of their square root: what is shown is right to 0.1 %.
 *
 * @throws {TypeError} {ShapeError} {RangeError} a map's parts do not fit
 * @example
 * await writeFile("report.html", attentionHtml([first, second], { title: "Two sentences" }));
 */
export function attentionHtml(
  maps: AttentionMap | readonly AttentionMap[],
  options: AttentionHtmlOptions = {},
): string {
  const all: readonly AttentionMap[] = Array.isArray(maps) ? maps : [maps];
  const sizes = all.map((map) => checkMap("attentionHtml", map));
  if (options.title !== undefined && typeof options.title !== "string")
    throw new TypeError(`attentionHtml: title must be a string, got ${typeof options.title}`);
  // One map without another title needs no heading of its own.
  const only = all.length === 1 && options.title === undefined ? all[0]?.title : undefined;
  const title = escapeMarkup(visible(only ?? options.title ?? "Attention", MOST_TITLE));
  const sections = all.map((map, index) =>
    sectionOf(map, sizes[index] as MapSizes, index, only === undefined),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main class="heed">
<header>
<h1>${title}</h1>
<p>${sections.length === 0 ? "There is nothing to show." : "The stronger its colour, the more a token is looked at."}</p>
${all.length > 1 ? contents(all) : ""}</header>
${sections.join("\n")}
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;
}

function contents(maps: readonly AttentionMap[]): string {
  const links = maps.map((map, index) => `<li><a href="#map-${index}">${titleOf(map)}</a></li>`);
  return `<nav aria-label="Maps"><ol>${links.join("")}</ol></nav>\n`;
}

function sectionOf(
  map: AttentionMap,
  { layers, heads, queries, keys }: MapSizes,
  index: number,
  headed: boolean,
): string {
  const about = [
    nameOf(map.kind),
    ...(layers > 1 ? [`${layers} layers`] : []),
    ...(heads > 1 ? [`${heads} heads`] : []),
    `${queries} × ${keys} tokens`,
  ].join(" · ");
  const heading = `${headed ? `<h2>${titleOf(map)}</h2>\n` : ""}<p class="about">${about}</p>`;
  if (queries === 0 || keys === 0)
    return `<section id="map-${index}">\n${heading}\n<p>No tokens.</p>\n</section>`;
  const top = topOf(map);
  const shown =
    layers * heads > 1
      ? `\n<noscript><p class="about">Shown is layer ${layers - 1}, the mean of its heads. To choose others, allow scripts.</p></noscript>`
      : "";
  const sizes = `data-layers="${layers}" data-heads="${heads}" data-rows="${queries}" data-columns="${keys}" data-top="${top}"`;
  return `<section id="map-${index}" ${sizes} data-weights="${written(map, top)}">
<div class="text">
${heading}
<div class="choices"></div>${shown}
${wordsOf(map)}
</div>
<aside class="readout" aria-live="polite"></aside>
<div class="picture">
<svg class="scale" width="221" height="27" viewBox="-1 -1 221 27" role="img" aria-label="Scale of weights">${legend(top)}</svg>
<div class="scroll">${heatOf(map, top)}</div>
</div>
</section>`;
}

/** The texts: queries are buttons that show what they look at. Tokens that look at each other stand there once. */
function wordsOf({ queries, keys }: AttentionMap): string {
  const words = (texts: readonly string[], open: string, close: string): string =>
    texts.map((text) => `${open}${escapeMarkup(visible(text, MOST_TOKEN))}${close}`).join(" ");
  const looking = words(queries, '<button type="button" class="t" tabindex="-1">', "</button>");
  const hint = "point at one, or walk with the arrow keys";
  if (queries.length === keys.length && queries.every((text, index) => text === keys[index]))
    return `<h3>Tokens <small>${hint}</small></h3>\n<p class="tokens queries keys" dir="auto">${looking}</p>`;
  const lookedAt = words(keys, '<span class="t">', "</span>");
  return `<h3>Queries <small>${hint}</small></h3>
<p class="tokens queries" dir="auto">${looking}</p>
<h3>Keys <small>what it looks at</small></h3>
<p class="tokens keys" dir="auto">${lookedAt}</p>`;
}

/** The heat map of the last layer, averaged over heads; the script draws the others in its place. */
function heatOf({ queries, keys, weights }: AttentionMap, top: number): string {
  const axes = axesOf(queries, keys, 640, 4);
  const [width, height] = [keys.length * axes.cellWidth, queries.length * axes.cellHeight];
  const rows = meanOfHeads(weights[weights.length - 1] as AttentionMap["weights"][number]);
  const cells = levelPaths(rows.map((row) => levelsOf(row, top)));
  const box = [
    -axes.left - 10,
    -axes.top,
    axes.left + 10 + width + axes.right + 4,
    axes.top + height + 4,
  ].map(round);
  return [
    `<svg class="heat" role="img" aria-label="Heat map: rows look at columns" width="${box[2]}" height="${box[3]}" viewBox="${box.join(" ")}"`,
    ` data-width="${axes.cellWidth}" data-height="${axes.cellHeight}" data-font="${axes.font}"${axes.slanted ? " data-slanted" : ""}>`,
    `<path class="l0" d="M0 0h${round(width)}v${round(height)}H0z"/>`,
    `<g class="cells" transform="scale(${axes.cellWidth} ${axes.cellHeight})">`,
    ...cells.slice(1).map((d, index) => `<path class="l${index + 1}" d="${d}"/>`),
    `</g>${gridLines(axes)}`,
    `<g class="rows" data-every="${axes.rowEvery}" text-anchor="end" font-size="${axes.font}">${rowLabels(axes)}</g>`,
    `<g class="columns" data-every="${axes.columnEvery}" font-size="${axes.font}">${columnLabels(axes)}</g>`,
    `<g class="cursor" font-size="${axes.font}"></g></svg>`,
  ].join("");
}

/** [layers][heads][queries][keys], row after row. */
function written({ weights }: AttentionMap, top: number): string {
  const rows = weights.flatMap((heads) =>
    heads.flatMap((head) =>
      head.map((row) => {
        let text = "";
        for (const weight of row) {
          const step = stepOf(weight, top);
          text += (ALPHABET[step >> 6] as string) + (ALPHABET[step & 63] as string);
        }
        return text;
      }),
    ),
  );
  return rows.join("");
}

function titleOf({ title, kind }: AttentionMap): string {
  return escapeMarkup(title === undefined ? nameOf(kind) : visible(title, MOST_TITLE));
}
