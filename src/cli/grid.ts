import stringWidth from "string-width";
import type { Aligned } from "../tasks/translation.js";
import { printable } from "./printable.js";

/** Shades for weights from 0 to 1, a fifth each. */
const SHADES = [" ·", "░░", "▒▒", "▓▓", "██"] as const;
/** Longer words are cut in the grid: columns of the terminal. */
const MOST = 14;
/** The first 64 characters of a word: marks without a width could go on for ever. */
const START = /^.{0,64}/su;
const DEFAULT_WIDTH = 80;
const GAP = "  ";

/**
 * The alignment as text: a row a target word, a column a source word, darker where the decoder
 * looked more. A source wider than the terminal is shown in bands, one below the other, each with
 * the rows that look there.
 */
export function alignmentGrid(
  { source, target, alignment }: Pick<Aligned, "source" | "target" | "alignment">,
  width = DEFAULT_WIDTH,
): string {
  const sources = source.words.map(cut);
  const targets = target.words.map(cut);
  const margin = Math.max(0, ...targets.map((word) => stringWidth(word)));
  const widths = sources.map((word) => Math.max(2, stringWidth(word)));
  const bands = bandsOf(widths, width - margin);

  return bands
    .map(({ from, to }) => {
      const line = (label: string, cells: readonly string[]): string =>
        [pad(label, margin), ...cells].join(GAP).trimEnd();
      const rows = alignment.flatMap((weights, row) =>
        bands.length === 1 || looksAt(weights, from, to)
          ? [
              line(
                targets[row] as string,
                widths
                  .slice(from, to)
                  .map((cell, i) => centre(shade(weights[from + i] ?? 0), cell)),
              ),
            ]
          : [],
      );
      const header = sources
        .slice(from, to)
        .map((word, i) => pad(word, widths[from + i] as number));
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

/** Is there a shade among the columns [from, to), or the darkest of the row? */
function looksAt(weights: Float32Array, from: number, to: number): boolean {
  const most = Math.max(...weights.subarray(from, to));
  return most >= 1 / SHADES.length || most === Math.max(...weights);
}

function shade(weight: number): string {
  const level = Math.min(SHADES.length - 1, Math.floor(weight * SHADES.length));
  return SHADES[Math.max(0, level)] as string;
}

function cut(word: string): string {
  const [start = ""] = START.exec(word) ?? [];
  const safe = printable(start).replaceAll(/\s/g, " ");
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
