import stringWidth from "string-width";
import type { Translation } from "../tasks/translate.js";
import { printable } from "./printable.js";

/** Shades for weights from 0 to 1, a fifth each. */
const SHADES = [" ·", "░░", "▒▒", "▓▓", "██"] as const;
/** Longer words are cut in the grid: columns of the terminal. */
const MOST = 14;
const DEFAULT_WIDTH = 80;

/**
 * The alignment as text: a row a target word, a column a source word, darker where the decoder
 * looked more. Sources wider than the terminal are shown in bands, one below the other.
 */
export function alignmentGrid(
  { source, target, alignment }: Pick<Translation, "source" | "target" | "alignment">,
  stream: { readonly columns?: number },
): string {
  const width = stream.columns || DEFAULT_WIDTH;
  const sources = source.words.map(cut);
  const targets = target.words.map(cut);
  const margin = Math.max(0, ...targets.map((word) => stringWidth(word)));
  const widths = sources.map((word) => Math.max(2, stringWidth(word)));

  return bands(widths, width - margin)
    .map(([from, to]) => {
      const line = (label: string, cells: readonly string[]): string =>
        [pad(label, margin), ...cells].join("  ").trimEnd();
      const header = line(
        "",
        sources.slice(from, to).map((word, index) => pad(word, widths[from + index] as number)),
      );
      const rows = targets.map((word, row) =>
        line(
          word,
          widths
            .slice(from, to)
            .map((cell, index) => centre(shade(alignment[row]?.[from + index] ?? 0), cell)),
        ),
      );
      return [header, ...rows].join("\n");
    })
    .join("\n\n");
}

/** Columns [from, to) that fit side by side; at least one a band. */
function bands(widths: readonly number[], room: number): [from: number, to: number][] {
  const found: [number, number][] = [];
  for (let from = 0; from < widths.length; ) {
    let to = from + 1;
    let used = (widths[from] as number) + 2;
    for (; to < widths.length && used + (widths[to] as number) + 2 <= room; to++)
      used += (widths[to] as number) + 2;
    found.push([from, to]);
    from = to;
  }
  return found;
}

function shade(weight: number): string {
  const level = Math.min(SHADES.length - 1, Math.floor(weight * SHADES.length));
  return SHADES[Math.max(0, level)] as string;
}

function cut(word: string): string {
  const safe = printable(word).replaceAll(/\s/g, " ");
  if (stringWidth(safe) <= MOST) return safe;
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
