import type { Tokenizer } from "../io/tokenizer.js";

/** A word of a text and where it stands: [start, end) in UTF-16 units. */
export interface PlacedWord {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The words around a word, as a model takes them. */
export interface WordContext {
  readonly ids: readonly number[];
  /** For each id, the index of its word. */
  readonly wordOf: readonly number[];
  readonly words: readonly PlacedWord[];
}

/** Words whose ids are kept at most; then all are forgotten. */
const MOST_KEPT = 2 ** 17;

/** Runs of letters, marks and digits: signs part words, apostrophes too. */
export function wordsIn(text: string): PlacedWord[] {
  return [...text.matchAll(/[\p{L}\p{M}\p{N}]+/gu)].map(({ 0: word, index }) => ({
    text: word,
    start: index,
    end: index + word.length,
  }));
}

/** Reads the context of words: up to `window` words on each side, each as its ids. */
export class ContextReader {
  readonly window: number;
  readonly #tokenizer: Tokenizer;
  readonly #unknown: number | undefined;
  readonly #ids = new Map<string, readonly number[]>();

  /**
   * @param unknown  the token of what the vocabulary does not hold; it says nothing and is left out
   */
  constructor(tokenizer: Tokenizer, window: number, unknown = "<unk>") {
    this.#tokenizer = tokenizer;
    this.#unknown = tokenizer.idOf(unknown);
    this.window = window;
  }

  /** The ids of one word; none where the vocabulary does not hold it. */
  idsOf(word: string): readonly number[] {
    const known = this.#ids.get(word);
    if (known) return known;
    const ids = this.#tokenizer.ids(word).filter((id) => id !== this.#unknown);
    if (this.#ids.size >= MOST_KEPT) this.#ids.clear();
    this.#ids.set(word, ids);
    return ids;
  }

  /** The context of word number `at`, which is no part of it. */
  around(words: readonly PlacedWord[], at: number): WordContext {
    const { window } = this;
    const near = [
      ...words.slice(Math.max(0, at - window), at),
      ...words.slice(at + 1, at + 1 + window),
    ];
    const parts = near.map(({ text }) => this.idsOf(text));
    return {
      words: near,
      ids: parts.flat(),
      wordOf: parts.flatMap((ids, word) => ids.map(() => word)),
    };
  }
}
