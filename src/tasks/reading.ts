/** What a language model looked at as it read, as plain data: it can be posted from a worker to its page. */
import type { AttentionMap } from "../inspect/attention-map.js";
import type { TokenizedText } from "./translation.js";

/** A text and what each of its tokens looked at, as plain data. */
export interface Reading {
  /** Tokens with <s> before them; words are as people write them, punctuation by itself. */
  readonly text: TokenizedText;
  readonly attention: AttentionMap;
}

/** How strongly one head connects a word with one before it. */
export interface HeadConnection {
  /** Counted from 0. */
  readonly head: number;
  /** What the later word's last token gives to all tokens of the earlier word. */
  readonly weight: number;
  /** Mean of what it gives to each other word, <s> and itself among them. */
  readonly others: number;
  /** 1 when there is no word that it gives more to. */
  readonly rank: number;
}

/** A word that was looked at. */
export interface SeenWord {
  /** An index of the reading's words; −1 for <s>. */
  readonly word: number;
  readonly weight: number;
}

/**
 * A word of a reading by its text, in any case.
 *
 * @param which  of several: the first, or the last
 * @throws {RangeError} there is no such word
 */
export function wordAt({ text }: Reading, word: string, which: "first" | "last"): number {
  const wanted = word.toLowerCase();
  const fits = (other: string): boolean => other.toLowerCase() === wanted;
  const index = which === "first" ? text.words.findIndex(fits) : text.words.findLastIndex(fits);
  if (index < 0)
    throw new RangeError(
      `long-range: the word must be one of the text's, got "${word}". The words are ${text.words.join(" ")}`,
    );
  return index;
}

/** What each head gives to the words that a word sees, most first: [heads][words seen]. */
export function seenFrom({ text, attention }: Reading, from: number): SeenWord[][] {
  const query = text.wordOf.lastIndexOf(from);
  return (attention.weights[0] ?? []).map((head) => {
    const row = head[query] as Float32Array;
    const sums = new Map<number, number>();
    text.wordOf.forEach((word, key) => {
      if (key <= query) sums.set(word, (sums.get(word) ?? 0) + (row[key] as number));
    });
    return [...sums]
      .map(([word, weight]) => ({ word, weight }))
      .sort((a, b) => b.weight - a.weight || a.word - b.word);
  });
}

/**
 * How strongly each head connects a word with one before it, strongest first.
 *
 * @throws {RangeError} the word that is looked at does not stand before the other
 */
export function connections(reading: Reading, from: number, to: number): HeadConnection[] {
  if (to >= from)
    throw new RangeError(
      `long-range: the word that is looked at must stand before the other, got words ${to} and ${from}`,
    );
  return seenFrom(reading, from)
    .map((seen, head) => {
      const place = seen.findIndex(({ word }) => word === to);
      const { weight } = seen[place] as SeenWord;
      const all = seen.reduce((sum, one) => sum + one.weight, 0);
      return { head, weight, others: (all - weight) / (seen.length - 1), rank: place + 1 };
    })
    .sort((a, b) => b.weight - a.weight || a.head - b.head);
}
