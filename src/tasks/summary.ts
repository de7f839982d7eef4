/** What a summary is, as plain data, and how its sentences are chosen. */
import type { SentenceSpan } from "./document.js";
import type { Aligned } from "./translation.js";

export type SummaryMode = "abstractive" | "extractive";

/** A sentence of the document. */
export interface SummarySentence extends SentenceSpan {
  /** Share of the attention that the decoder gave to its tokens, 0 … 1. */
  readonly attention: number;
  /** What it is chosen by: its attention, and half as much again with a figure or a date in it. */
  readonly score: number;
  /** Whether it says again what a sentence of a higher score says. */
  readonly repeats: boolean;
  /** Whether it is in the extractive summary. */
  readonly kept: boolean;
}

/** A summary, what it was made from, and where the decoder looked: source is the whole document. */
export interface Summary extends Aligned {
  readonly mode: SummaryMode;
  /** What the mode asked for: what the model wrote, or the sentences that are kept. */
  readonly text: string;
  /** What the model wrote, in either mode. */
  readonly description: string;
  /** Log-probability of the description under the length penalty. */
  readonly score: number;
  /** All sentences of the document, in order. */
  readonly sentences: readonly SummarySentence[];
}

/** What is known of a sentence before it is chosen or not. */
export interface Candidate extends SentenceSpan {
  readonly attention: number;
}

/** A sentence with a figure counts for so much more. */
const FIGURE_BONUS = 0.5;
/** Of two sentences that share so many of the words of either, the second says nothing new. */
const SHARED = 0.8;
/** A word or a figure. */
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/**
 * Keeps the sentences with the highest scores that do not repeat one another.
 *
 * score = attention · (1.5 with a figure or a date in the sentence, else 1); among equals the first.
 *
 * @param most  sentences that are kept
 */
export function chooseSentences(candidates: readonly Candidate[], most: number): SummarySentence[] {
  const scored = candidates.map((candidate, index) => ({
    candidate,
    index,
    score: candidate.attention * (/\p{N}/u.test(candidate.text) ? 1 + FIGURE_BONUS : 1),
  }));
  const repeats = new Set<number>();
  const kept: number[] = [];
  const said: ReadonlySet<string>[] = [];
  for (const { candidate, index } of scored.toSorted(
    (a, b) => b.score - a.score || a.index - b.index,
  )) {
    if (kept.length === most) break;
    const words = wordsOf(candidate.text);
    if (said.some((others) => repeat(words, others))) repeats.add(index);
    else {
      kept.push(index);
      said.push(words);
    }
  }
  return scored.map(({ candidate, index, score }) => ({
    ...candidate,
    score,
    repeats: repeats.has(index),
    kept: kept.includes(index),
  }));
}

function wordsOf(sentence: string): Set<string> {
  return new Set(sentence.toLowerCase().match(WORD));
}

/** Does a sentence of these words say again what one of the others says? A new figure is new. */
function repeat(words: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  const fresh = [...words].filter((word) => !others.has(word));
  if (fresh.some((word) => /\p{N}/u.test(word))) return false;
  const shared = words.size - fresh.length;
  return shared > 0 && shared >= SHARED * Math.min(words.size, others.size);
}
