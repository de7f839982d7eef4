import { type Command, Option } from "commander";
import { HeedError } from "../errors.js";
import type { AttentionMap } from "../inspect/attention-map.js";

/** What drawingOptions() adds to a command's options. */
export interface DrawingOptions {
  readonly grid?: boolean;
  readonly svg?: string;
  readonly html?: string;
}

/** Weights that the maps of one run may have together; a report takes two bytes for each. */
const MOST_WEIGHTS = 2 ** 24;

/** Options of every command whose task returns where it looked. */
export function drawingOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--grid", "the attention as text too, even when piped").conflicts([
        "plain",
        "json",
      ]),
    )
    .option("--svg <file>", "write the attention as a picture")
    .option("--html <file>", "write the attention as a report to explore in a browser");
}

/** Shows where a task looked in all the ways that were asked for. */
export class Album {
  readonly #options: DrawingOptions;
  readonly #maps: AttentionMap[] = [];
  #weights = 0;

  /** Use open(). */
  private constructor(options: DrawingOptions) {
    this.#options = options;
  }

  /**
   * Begins one before the work, and finds out whether its files can be written.
   *
   * @param others  further files of the command, by their options
   * @throws {FormatError} FILE_WRITE
   * @throws {HeedError} two are one file
   */
  static async open(
    options: DrawingOptions,
    others: Readonly<Record<string, string | undefined>> = {},
  ): Promise<Album> {
    const { svg, html } = options;
    const { expectWritable } = await import("../platform/node-files.js");
    const taken = new Map<string, string>();
    for (const [option, path] of Object.entries({ "--svg": svg, "--html": html, ...others })) {
      if (path === undefined) continue;
      const place = await expectWritable(path);
      const other = taken.get(place);
      if (other !== undefined)
        throw new HeedError(`draw: ${other} and ${option} must be two files, got ${path} twice`);
      taken.set(place, option);
    }
    return new Album(options);
  }

  /**
   * Prints a map with --grid, and keeps it for one picture of them all with --svg and --html.
   *
   * @throws {HeedError} a picture of them would be too large to open
   */
  async add(map: AttentionMap): Promise<void> {
    const { grid, svg, html } = this.#options;
    if (grid) await printGrid(map);
    if (svg === undefined && html === undefined) return;
    this.#weights += map.weights.flat().length * map.queries.length * map.keys.length;
    if (this.#weights > MOST_WEIGHTS)
      throw new HeedError(
        `draw: --svg and --html must have at most ${MOST_WEIGHTS} weights to show, got more. Give less text at a time`,
      );
    this.#maps.push(map);
  }

  /**
   * Writes the files of --svg and --html, each wholly or not at all.
   *
   * @param title  of a report of several maps
   */
  async write(title: string): Promise<void> {
    const { svg, html } = this.#options;
    const maps = this.#maps;
    if (svg !== undefined) {
      const { attentionSvg } = await import("../inspect/svg.js");
      await write(svg, attentionSvg(maps));
    }
    if (html !== undefined) {
      const { attentionHtml } = await import("../inspect/html.js");
      await write(html, attentionHtml(maps, { title: maps.length === 1 ? undefined : title }));
    }
  }
}

async function printGrid(map: AttentionMap): Promise<void> {
  const { attentionText } = await import("../inspect/text.js");
  const { topOf } = await import("../inspect/scale.js");
  const width = process.stdout.columns;
  process.stdout.write(`\n${attentionText(map, { width, top: topOf(map) })}\n`);
}

async function write(path: string, text: string): Promise<void> {
  const { replaceFile } = await import("../platform/node-files.js");
  await replaceFile(path, new TextEncoder().encode(text));
}
