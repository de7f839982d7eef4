import { createReadStream } from "node:fs";
import { addAbortSignal } from "node:stream";
import { HeedError } from "../errors.js";
import { alignmentMap } from "../inspect/attention-map.js";
import { init } from "../node.js";
import type { Translator } from "../tasks/translate.js";
import type { TranslatedSentence, Translation } from "../tasks/translation.js";
import { Album, type DrawingOptions, wantsPictures, writePictures } from "./drawing.js";
import { linesOf } from "./lines.js";
import { printable } from "./printable.js";
import { shippedModel } from "./shipped-model.js";

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
  const heed = await init({ threads: options.threads });
  try {
    const translator = await heed.load(options.model ?? shippedModel("translate-en-es"));
    const print = await printer(options);
    const input = sentences.length > 0 ? [sentences] : readLines(options.file, signal);
    const album = wantsPictures(options) ? new Album() : null;
    for await (const lines of input)
      for await (const lot of translated(translator, lines, options.beam, signal)) {
        process.stdout.write(lot.map((translation) => `${print(translation)}\n`).join(""));
        album?.add(...lot.flatMap(({ sentences }) => sentences.map((one) => alignmentMap(one))));
      }
    if (album) await writePictures(album.maps, options, "Translations");
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

/** Weights as plain numbers with the nine digits that tell every f32 apart. */
function sentenceData({ attention, alignment, ...rest }: TranslatedSentence): object {
  const rows = (weights: readonly Float32Array[]): number[][] =>
    weights.map((row) => Array.from(row, (weight) => Number(weight.toPrecision(9))));
  return { ...rest, attention: rows(attention), alignment: rows(alignment) };
}

async function* readLines(file: string | undefined, signal: AbortSignal): AsyncGenerator<string[]> {
  if (file === undefined && process.stdin.isTTY)
    process.stderr.write("type English sentences, then Ctrl-D\n");
  const stream = addAbortSignal(
    signal,
    file === undefined ? process.stdin : createReadStream(file),
  );
  try {
    yield* linesOf(stream, file ?? "standard input");
  } catch (error) {
    // The stream has an error of its own for an abort.
    signal.throwIfAborted();
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new HeedError(`translate: the sentences must be readable, got ${error.message}`);
  }
}
