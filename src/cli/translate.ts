import { alignmentMap } from "../inspect/attention-map.js";
import { init } from "../node.js";
import type { Translator } from "../tasks/translate.js";
import type { TranslatedSentence, Translation } from "../tasks/translation.js";
import { digits } from "./digits.js";
import { Album, type DrawingOptions } from "./drawing.js";
import { readLines } from "./input.js";
import { printable } from "./printable.js";
import { modelFolder } from "./shipped-model.js";

export interface TranslateCommandOptions extends DrawingOptions {
  readonly file?: string;
  readonly model?: string;
  readonly beam: number;
  readonly threads: number;
  readonly plain?: boolean;
  readonly json?: boolean;
}

/** Lines translated together; their translations are printed when all are done. */
const LOT = 128;

/** `heed translate`: sentences from arguments, a file or standard input; one line of output each. */
export async function translateCommand(
  sentences: readonly string[],
  options: TranslateCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  // Its grids are of words, and come with the lines.
  const album = await Album.open({ ...options, grid: false });
  const heed = await init({ threads: options.threads });
  try {
    const translator = await heed.load(modelFolder(options.model, "translate-en-es"));
    const print = await printer(options);
    const typed = { who: "translate", file: options.file, prompt: "type English sentences" };
    const input = sentences.length > 0 ? [sentences] : readLines(typed, signal);
    for await (const lines of input)
      for await (const lot of translated(translator, lines, options.beam, signal)) {
        process.stdout.write(lot.map((translation) => `${print(translation)}\n`).join(""));
        for (const { sentences } of lot)
          for (const sentence of sentences) await album.add(alignmentMap(sentence));
      }
    await album.write("Translations");
  } finally {
    heed.dispose();
  }
}

async function* translated(
  translator: Translator,
  lines: readonly string[],
  beam: number,
  signal: AbortSignal,
): AsyncGenerator<Translation[]> {
  for (let from = 0; from < lines.length; from += LOT)
    yield await translator.translateAll(lines.slice(from, from + LOT), { beam, signal });
}

/** How a translation is written: as JSON, with its alignment, or as a line of text. */
async function printer({
  json,
  plain,
  grid,
}: TranslateCommandOptions): Promise<(translation: Translation) => string> {
  const { stdout } = process;
  if (json) return toJson;
  if (!grid && (plain || !stdout.isTTY)) return ({ text }) => printable(text);
  const { alignmentGrid } = await import("./grid.js");
  return ({ text, sentences }) =>
    [
      printable(text),
      ...sentences.map((sentence) => `\n${alignmentGrid(sentence, stdout.columns)}`),
      "",
    ].join("\n");
}

function toJson({ text, score, sentences }: Translation): string {
  return printable(JSON.stringify({ text, score, sentences: sentences.map(sentenceData) }));
}

function sentenceData({ attention, alignment, ...rest }: TranslatedSentence): object {
  const rows = (weights: readonly Float32Array[]): number[][] =>
    weights.map((row) => Array.from(row, digits));
  return { ...rest, attention: rows(attention), alignment: rows(alignment) };
}
