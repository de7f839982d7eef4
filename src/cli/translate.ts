import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { HeedError } from "../errors.js";
import { init } from "../node.js";
import type { Translation } from "../tasks/translate.js";
import { alignmentGrid } from "./grid.js";
import { printable } from "./printable.js";

export interface TranslateCommandOptions {
  readonly file?: string;
  readonly model?: string;
  readonly beam: number;
  readonly threads?: number;
  readonly plain?: boolean;
  readonly json?: boolean;
}

/** Sentences translated side by side; each batch is printed when it is done. */
const BATCH = 32;

/** `heed translate`: sentences from arguments, a file or standard input; one line of output each. */
export async function translateCommand(
  sentences: readonly string[],
  options: TranslateCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const texts = await readTexts(sentences, options.file);
  // One sentence is quickest on one thread: its products are too small to share.
  const heed = await init({ threads: options.threads ?? 1 });
  try {
    const translator = await heed.load(options.model ?? shippedModel());
    for (let from = 0; from < texts.length; from += BATCH) {
      const found = await translator.translateAll(texts.slice(from, from + BATCH), {
        beam: options.beam,
        signal,
      });
      for (const translation of found) print(translation, options);
    }
    translator.dispose();
  } finally {
    heed.dispose();
  }
}

function print(translation: Translation, options: TranslateCommandOptions): void {
  const { stdout } = process;
  if (options.json) {
    const { text, score, source, target, attention, alignment } = translation;
    const rows = (weights: readonly Float32Array[]): number[][] =>
      weights.map((row) => Array.from(row));
    stdout.write(
      `${JSON.stringify({ text, score, source, target, attention: rows(attention), alignment: rows(alignment) })}\n`,
    );
    return;
  }
  stdout.write(`${printable(translation.text)}\n`);
  if (!options.plain && stdout.isTTY) stdout.write(`\n${alignmentGrid(translation, stdout)}\n`);
}

async function readTexts(sentences: readonly string[], file?: string): Promise<string[]> {
  if (sentences.length > 0 && file !== undefined)
    throw new HeedError("translate: sentences come from arguments or from --file, got both");
  if (sentences.length > 0) return [...sentences];
  const bytes = file === undefined ? await readStandardInput() : await readFile(file);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HeedError(
      `translate: ${file ?? "standard input"} must be UTF-8 text, got bytes that are not. Convert it with iconv`,
    );
  }
  return text.replace(/\r?\n$/, "").split(/\r?\n/);
}

async function readStandardInput(): Promise<Uint8Array> {
  if (process.stdin.isTTY) process.stderr.write("type English sentences, then Ctrl-D\n");
  const parts: Uint8Array[] = [];
  for await (const part of process.stdin) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

/** The model in the package, seen from dist/. */
function shippedModel(): string {
  return fileURLToPath(new URL("../models/translate-en-es", import.meta.url));
}
