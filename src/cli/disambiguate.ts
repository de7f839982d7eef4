import { init } from "../node.js";
import {
  type Disambiguation,
  type Disambiguator,
  type RatedSense,
  senseAttention,
} from "../tasks/disambiguate.js";
import { digits } from "./digits.js";
import { Album, type DrawingOptions } from "./drawing.js";
import { readLines } from "./input.js";
import { printable } from "./printable.js";
import { modelFolder } from "./shipped-model.js";

export interface DisambiguateCommandOptions extends DrawingOptions {
  readonly word: string;
  readonly file?: string;
  readonly model?: string;
  readonly nearest: number;
  readonly threads: number;
  readonly json?: boolean;
}

/** Lines worked on together. */
const LOT = 128;
/** Words of the context that are named, those looked at most. */
const NAMED = 3;
/** Characters of a labelled sentence that are shown on each side of its word. */
const AROUND = 36;

/** `heed disambiguate`: sentences from arguments, a file or standard input. */
export async function disambiguateCommand(
  sentences: readonly string[],
  options: DisambiguateCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const { word, file, nearest, threads } = options;
  const album = await Album.open(options);
  const heed = await init({ threads });
  try {
    const model = modelFolder(options.model, "disambiguate-en");
    const disambiguator = await heed.load(model, "disambiguate");
    const asked = { nearest, signal };
    if (sentences.length > 0) {
      // Each of these was typed: one without the word is a mistake, told before anything is shown.
      const found: Disambiguation[][] = [];
      for (const sentence of sentences)
        found.push(await disambiguator.disambiguate(word, sentence, asked));
      await show(sentences, found, options, album);
    } else {
      const prompt = `type sentences with "${printable(word)}"`;
      for await (const lines of readLines({ who: "disambiguate", file, prompt }, signal))
        await answerLines(disambiguator, lines, options, album, signal);
    }
    await album.write(`Senses of "${word}"`);
  } finally {
    heed.dispose();
  }
}

async function answerLines(
  disambiguator: Disambiguator,
  lines: readonly string[],
  options: DisambiguateCommandOptions,
  album: Album,
  signal: AbortSignal,
): Promise<void> {
  for (let from = 0; from < lines.length; from += LOT) {
    const lot = lines.slice(from, from + LOT);
    const asked = { nearest: options.nearest, signal };
    const found = await disambiguator.disambiguateAll(options.word, lot, asked);
    await show(lot, found, options, album);
  }
}

async function show(
  sentences: readonly string[],
  found: readonly (readonly Disambiguation[])[],
  options: DisambiguateCommandOptions,
  album: Album,
): Promise<void> {
  for (const [index, uses] of found.entries()) {
    const sentence = sentences[index] as string;
    process.stdout.write(`${options.json ? toJson(sentence, uses) : toText(sentence, uses)}\n`);
    for (const use of uses) await album.add(senseAttention(use));
  }
}

/** The sentence, and below it each use of the word: its senses, where it looked, what is like it. */
function toText(sentence: string, uses: readonly Disambiguation[]): string {
  const lines = uses.flatMap((use) => {
    const asWritten = sentence.slice(use.start, use.end);
    const looked = mostLookedAt(use);
    return [
      `  ${asWritten}: ${use.senses.map(rated).join(", ")}`,
      ...(use.familiar ? [] : ["  like no labelled sentence: perhaps another sense than these"]),
      ...(looked.length > 0 ? [`  looked at: ${looked.join(", ")}`] : []),
      ...use.nearest.map(
        ({ sense, similarity, sentence, start, end }) =>
          `  like (${sense}, ${similarity.toFixed(2)}): ${excerpt(sentence, start, end)}`,
      ),
    ];
  });
  return [sentence, ...lines].map((line) => printable(line)).join("\n");
}

function rated({ sense, probability }: RatedSense): string {
  return `${sense} ${probability.toFixed(2)}`;
}

function mostLookedAt({ context, weights }: Disambiguation): string[] {
  return context
    .map((word, index) => ({ word, weight: weights[index] as number }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, NAMED)
    .flatMap(({ word, weight }) => (weight > 0 ? [`${word} ${weight.toFixed(2)}`] : []));
}

/** The part of a sentence around a word, cut between words. */
function excerpt(sentence: string, start: number, end: number): string {
  const before = sentence.slice(0, start);
  const after = sentence.slice(end);
  const left =
    before.length > AROUND ? `… ${before.slice(-AROUND).replace(/^\S*\s+/u, "")}` : before;
  const right =
    after.length > AROUND ? `${after.slice(0, AROUND).replace(/\s+\S*$/u, "")} …` : after;
  return `${left}${sentence.slice(start, end)}${right}`;
}

function toJson(sentence: string, uses: readonly Disambiguation[]): string {
  const occurrences = uses.map(({ sentence: _, weights, embedding, ...use }) => ({
    ...use,
    weights: Array.from(weights, digits),
    embedding: Array.from(embedding, digits),
  }));
  return printable(JSON.stringify({ sentence, occurrences }));
}
