import stringWidth from "string-width";
import { type AttentionMap, checkMap, expectIndex, meanOfHeads } from "./attention-map.js";
import { mostOf, percent } from "./scale.js";
import { visible } from "./visible.js";

export interface AttentionTextOptions {
  /** Columns of the terminal; default 80. */
  readonly width?: number | undefined;
  /** Counted from 0; default the last. */
  readonly layer?: number | undefined;
  /** Counted from 0; default the mean over all. */
  readonly head?: number | undefined;
  /** The weight that is darkest, and so is all above; default 1. Another is told below the picture. */
  readonly top?: number | undefined;
}

/** Shades for weights from 0 to the top, a fifth each. */
const SHADES = [" ·", "░░", "▒▒", "▓▓", "██"] as const;
/** Longer words are cut. */
const MOST = 14;
/** The first 64 characters of a word: marks without a width could go on for ever. */
const START = /^.{0,64}/su;
const GAP = "  ";

/**
 * A picture for a terminal: a row a query, a column a key, darker where a query looked more.
 *
 * Keys wider than the terminal are shown in bands, one below the other, each with the rows that
 * look there.
 *
 * @throws {TypeError} {ShapeError} {RangeError} the map's parts do not fit, or there is no such layer or head
 * @example
 * console.log(attentionText(map, { width: process.stdout.columns }));
 */
export function attentionText(map: AttentionMap, options: AttentionTextOptions = {}): string {
  const { layers, heads } = checkMap("attentionText", map);
  const { width = 80, layer = layers - 1, head, top = 1 } = options;
  expectIndex("attentionText", "layer", layer, layers);
  if (head !== undefined) expectIndex("attentionText", "head", head, heads);
  if (!(top > 0 && top < Infinity))
    throw new RangeError(`attentionText: top must be a number above 0, got ${top}`);
  const all = map.weights[layer] as AttentionMap["weights"][number];
  const rows = head === undefined ? meanOfHeads(all) : (all[head] as readonly Float32Array[]);
  const text = bandsOfText(map.queries.map(cut), map.keys.map(cut), rows, width, top);
  return top === 1 ? text : `${text}\n\n${SHADES[SHADES.length - 1]} from ${percent(0.8 * top)}`;
}

function bandsOfText(
  queries: readonly string[],
  keys: readonly string[],
  weights: readonly Float32Array[],
  width: number,
  top: number,
): string {
  const margin = mostOf(queries.map((word) => stringWidth(word)));
  const widths = keys.map((word) => Math.max(2, stringWidth(word)));
  const bands = bandsOf(widths, width - margin);
  const darkest = weights.map(mostOf);
  return bands
    .map(({ from, to }) => {
      const line = (label: string, cells: readonly string[]): string =>
        [pad(label, margin), ...cells].join(GAP).trimEnd();
      const rows = weights.flatMap((row, query) => {
        const most = mostOf(row.subarray(from, to));
        // Those with a shade, or with the darkest of their row.
        if (bands.length > 1 && most < top / SHADES.length && most < (darkest[query] as number))
          return [];
        const cells = widths
          .slice(from, to)
          .map((cell, i) => centre(shade((row[from + i] as number) / top), cell));
        return [line(queries[query] as string, cells)];
      });
      const header = keys.slice(from, to).map((word, i) => pad(word, widths[from + i] as number));
      return [line("", header), ...rows].join("\n");
    })
    .join("\n\n");
}

/** Ranges of columns that fit side by side; at least one a band. */
function bandsOf(widths: readonly number[], room: number): { from: number; to: number }[] {
  const bands: { from: number; to: number }[] = [];
  let used = Infinity;
  widths.forEach((width, column) => {
    used += GAP.length + width;
    const last = bands.at(-1);
    if (last && used <= room) last.to = column + 1;
    else {
      bands.push({ from: column, to: column + 1 });
      used = GAP.length + width;
    }
  });
  return bands;
}

/** @param part  of the top */
function shade(part: number): string {
  const level = Math.min(SHADES.length - 1, Math.floor(part * SHADES.length));
  return SHADES[level] as string;
}

function cut(word: string): string {
  const [start = ""] = START.exec(word) ?? [];
  const safe = visible(start).replaceAll(/\s/g, " ");
  if (start === word && stringWidth(safe) <= MOST) return safe;
  let short = "";
  for (const character of safe) {
    if (stringWidth(short + character) >= MOST) break;
    short += character;
  }
  return `${short}…`;
}

function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - stringWidth(text)));
}

function centre(text: string, width: number): string {
  const left = Math.floor((width - 2) / 2);
  return " ".repeat(left) + text + " ".repeat(Math.max(0, width - left - 2));
}
