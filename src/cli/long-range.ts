import stringWidth from "string-width";
import type { Heed } from "../heed.js";
import { init } from "../node.js";
import type { LongRange } from "../tasks/long-range.js";
import { connections, type Reading, seenFrom, wordAt } from "../tasks/reading.js";
import { digits } from "./digits.js";
import { Album, type DrawingOptions } from "./drawing.js";
import { readLines } from "./input.js";
import { printable } from "./printable.js";
import { Progress } from "./progress.js";
import { showRecall } from "./recall.js";
import { modelFolder } from "./shipped-model.js";
import { table } from "./table.js";

export interface LongRangeCommandOptions extends DrawingOptions {
  readonly from?: string;
  readonly to?: string;
  readonly model?: string;
  readonly perplexity?: string;
  readonly recall?: boolean;
  readonly recallModels?: string;
  readonly distances?: readonly number[];
  readonly count: number;
  readonly seed: number;
  readonly plot?: string;
  readonly threads: number;
  readonly json?: boolean;
}

/** The textbook's sentence: the cat stands nineteen words before its jump, commas counted. */
const SENTENCE =
  "The cat, which had been sleeping peacefully in the sunny spot by the window since early morning, suddenly jumped";
/** Words that are listed for each head. */
const MOST_SEEN = 4;

/** `heed long-range`: what a word of a sentence sees, the recall task, or a text's perplexity. */
export async function longRangeCommand(
  sentence: string | undefined,
  options: LongRangeCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const album = await Album.open(options, { "--plot": options.plot });
  const heed = await init({ threads: options.threads });
  try {
    if (options.perplexity !== undefined)
      return await showPerplexity(heed, options.perplexity, options, signal);
    if (!options.recall) await showSentence(heed, sentence, options, album, signal);
    if (sentence === undefined) await showRecall(heed, options, signal);
  } finally {
    heed.dispose();
  }
}

function loadModel(heed: Heed, { model }: LongRangeCommandOptions): Promise<LongRange> {
  return heed.load(modelFolder(model, "long-range-en"), "long-range");
}

async function showSentence(
  heed: Heed,
  given: string | undefined,
  options: LongRangeCommandOptions,
  album: Album,
  signal: AbortSignal,
): Promise<void> {
  const task = await loadModel(heed, options);
  const reading = await task.read(given ?? SENTENCE, { signal });
  const from =
    options.from === undefined ? lastWord(reading) : wordAt(reading, options.from, "last");
  const wanted = options.to ?? (given === undefined ? "cat" : undefined);
  const to = wanted === undefined ? null : wordAt(reading, wanted, "first");
  if (options.json) process.stdout.write(`${sentenceJson(reading, from, to)}\n`);
  else {
    const parts = [
      wrapped(printable(given ?? SENTENCE), process.stdout.columns ?? 80),
      ...(to === null ? [] : [connectionTable(reading, from, to)]),
      seenTable(reading, from),
    ];
    process.stdout.write(`${parts.join("\n\n")}\n`);
  }
  await album.add(reading.attention);
  await album.write("Attention");
  task.dispose();
}

/** A text in lines of at most so many columns, broken at spaces. */
function wrapped(text: string, width: number): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.pop() as string;
    const longer = last === "" ? word : `${last} ${word}`;
    if (last === "" || stringWidth(longer) <= width) lines.push(longer);
    else lines.push(last, word);
  }
  return lines.join("\n");
}

/** The last word that is not punctuation; the last of all where there is none. */
function lastWord({ text: { words } }: Reading): number {
  const index = words.findLastIndex((word) => /[\p{L}\p{N}]/u.test(word));
  return index < 0 ? words.length - 1 : index;
}

function connectionTable(reading: Reading, from: number, to: number): string {
  const found = connections(reading, from, to);
  const name = (word: number): string => wordOf(reading, word);
  const seen = seenFrom(reading, from)[0]?.length ?? 0;
  const best = found[0] as (typeof found)[0];
  const told =
    best.rank === 1
      ? `Head ${best.head} looks at ${name(to)} more than at anything else.`
      : `No head looks at ${name(to)} most of all; head ${best.head} comes nearest, in place ${best.rank}.`;
  return `${name(from)} looks at ${name(to)}, ${from - to} words back

${table(
  ["head", "weight", "mean of the others", "times", "place"],
  found.map(({ head, weight, others, rank }) => [
    String(head),
    weight.toFixed(3),
    others.toFixed(3),
    others > 0 ? `${(weight / others).toFixed(1)} ×` : "",
    `${rank} of ${seen}`,
  ]),
)}

${told}`;
}

function seenTable(reading: Reading, from: number): string {
  return table(
    ["head", `what ${wordOf(reading, from)} looks at most`],
    seenFrom(reading, from).map((seen, head) => [
      String(head),
      seen
        .slice(0, MOST_SEEN)
        .map(({ word, weight }) => `${wordOf(reading, word)} ${weight.toFixed(2)}`)
        .join("   "),
    ]),
    "left",
  );
}

function wordOf({ text }: Reading, word: number): string {
  return word < 0 ? "<s>" : printable(text.words[word] as string);
}

function sentenceJson(reading: Reading, from: number, to: number | null): string {
  const { attention, text } = reading;
  const plain = (row: Float32Array): number[] => Array.from(row, digits);
  return printable(
    JSON.stringify({
      text,
      from,
      to,
      connections: to === null ? null : connections(reading, from, to),
      seen: seenFrom(reading, from),
      attention: {
        ...attention,
        weights: attention.weights.map((layer) => layer.map((head) => head.map(plain))),
      },
    }),
  );
}

async function showPerplexity(
  heed: Heed,
  file: string,
  options: LongRangeCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const task = await loadModel(heed, options);
  const progress = new Progress(process.stderr);
  const texts: string[] = [];
  for await (const lines of readLines({ who: "long-range", file, prompt: "" }, signal))
    for (const line of lines) if (line.trim() !== "") texts.push(line);
  try {
    const { perplexity, nats, tokens } = await task.perplexity(texts, {
      signal,
      onProgress: (done, total) => progress.status(`${done} of ${total} groups of passages`),
    });
    progress.status("");
    process.stdout.write(
      options.json
        ? `${JSON.stringify({ perplexity, nats, tokens })}\n`
        : `perplexity ${perplexity.toFixed(2)} (${nats.toFixed(4)} nats a token, ${tokens.toLocaleString("en-US")} tokens)\n`,
    );
  } finally {
    progress.status("");
  }
}
