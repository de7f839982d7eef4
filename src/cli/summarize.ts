import { alignmentMap } from "../inspect/attention-map.js";
import { init } from "../node.js";
import type { Summary, SummaryMode } from "../tasks/summary.js";
import { digits } from "./digits.js";
import { Album, type DrawingOptions } from "./drawing.js";
import { readLines, readText } from "./input.js";
import { printable } from "./printable.js";
import { modelFolder } from "./shipped-model.js";

export interface SummarizeCommandOptions extends DrawingOptions {
  readonly file?: string;
  readonly model?: string;
  readonly mode: SummaryMode;
  readonly sentences: number;
  readonly beam: number;
  readonly threads: number;
  readonly lines?: boolean;
  readonly json?: boolean;
}

/** `heed summarize`: a document from an argument, a file or standard input; with --lines, many. */
export async function summarizeCommand(
  text: string | undefined,
  options: SummarizeCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const { mode, sentences, beam, threads } = options;
  const album = await Album.open(options);
  const heed = await init({ threads });
  try {
    const model = modelFolder(options.model, "summarize-en");
    const summarizer = await heed.load(model, "summarize");
    for await (const { document, name } of documents(text, options, signal)) {
      const asked = { mode, sentences, beam, signal };
      const summary = await summarizer.summarize(document, asked).catch((error: unknown) => {
        if (name === null || !(error instanceof RangeError)) throw error;
        throw new RangeError(`${name}: ${error.message}`, { cause: error });
      });
      process.stdout.write(`${options.json ? toJson(summary) : toText(summary, options)}\n`);
      await album.add(alignmentMap({ ...summary, text: summary.description }));
    }
    await album.write("Summaries");
  } finally {
    heed.dispose();
  }
}

/** Each with what errors call it, where it is one of many. */
async function* documents(
  text: string | undefined,
  { file, lines }: SummarizeCommandOptions,
  signal: AbortSignal,
): AsyncGenerator<{ document: string; name: string | null }> {
  const who = "summarize";
  if (!lines) {
    const input = { who, file, prompt: "type or paste a text" };
    yield { document: text ?? (await readText(input, signal)), name: null };
    return;
  }
  let number = 0;
  for await (const some of readLines({ who, file, prompt: "type texts, a line each" }, signal))
    for (const document of some)
      yield { document, name: `${file ?? "standard input"}, line ${++number}` };
}

/** What the model wrote, or the sentences that are kept: a line each, or one line a document. */
function toText({ mode, text, sentences }: Summary, { lines }: SummarizeCommandOptions): string {
  if (mode === "abstractive" || lines) return printable(text);
  return sentences
    .flatMap((sentence) => (sentence.kept ? [printable(sentence.text)] : []))
    .join("\n");
}

function toJson({ attention, alignment, ...rest }: Summary): string {
  const rows = (weights: readonly Float32Array[]): number[][] =>
    weights.map((row) => Array.from(row, digits));
  const sentences = rest.sentences.map((sentence) => ({
    ...sentence,
    attention: digits(sentence.attention),
    score: digits(sentence.score),
  }));
  return printable(
    JSON.stringify({
      ...rest,
      sentences,
      attention: rows(attention),
      alignment: rows(alignment),
    }),
  );
}
