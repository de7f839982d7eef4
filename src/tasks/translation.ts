/** What a translation is, as plain data: it can be posted from a worker to its page. */

/** One side of a translation, as pieces and as words. */
export interface TokenizedText {
  /** Pieces as the tokenizer cut them ("▁" stands for a space before); the source's with <s> and </s>. */
  readonly tokens: readonly string[];
  /** Runs without white space; punctuation before and after them is a word of its own. */
  readonly words: readonly string[];
  /** For each piece, the index of its word; −1 for <s> and </s>. */
  readonly wordOf: readonly number[];
}

/** What the decoder looked at as it wrote. */
export interface Aligned {
  readonly source: TokenizedText;
  readonly target: TokenizedText;
  /** [target pieces][source pieces]; rows sum to 1. */
  readonly attention: readonly Float32Array[];
  /** [target words][source words]: summed over a source word's pieces, averaged over a target word's. */
  readonly alignment: readonly Float32Array[];
}

/** One sentence, or a part of a long one. */
export interface TranslatedSentence extends Aligned {
  readonly text: string;
  /** Log-probability under the length penalty. */
  readonly score: number;
}

/** Weights of a joined matrix: 256 MiB. */
const MOST_WEIGHTS = 2 ** 26;

/** The translation of a text: its sentences, and views of them as one. */
export class Translation implements Aligned {
  readonly sentences: readonly TranslatedSentence[];

  constructor(sentences: readonly TranslatedSentence[]) {
    this.sentences = sentences;
  }

  get text(): string {
    return joinSentences(this.sentences.map(({ text }) => text));
  }

  /** Mean over sentences; 0 without one. */
  get score(): number {
    const { length } = this.sentences;
    return this.sentences.reduce((sum, { score }) => sum + score / length, 0);
  }

  get source(): TokenizedText {
    return joinTokens(this.sentences.map(({ source }) => source));
  }

  get target(): TokenizedText {
    return joinTokens(this.sentences.map(({ target }) => target));
  }

  /** Zero between sentences. @throws {RangeError} too large to be joined: read `sentences` */
  get attention(): readonly Float32Array[] {
    return joinBlocks(
      this.sentences.map(({ attention, source }) => ({
        rows: attention,
        width: source.tokens.length,
      })),
    );
  }

  /** Zero between sentences. @throws {RangeError} too large to be joined: read `sentences` */
  get alignment(): readonly Float32Array[] {
    return joinBlocks(
      this.sentences.map(({ alignment, source }) => ({
        rows: alignment,
        width: source.words.length,
      })),
    );
  }
}

/** Sentences on one line; those that say nothing leave no gap. */
export function joinSentences(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(" ");
}

/** Weights by words: summed over a source word's pieces, averaged over a target word's. */
export function alignWords(
  attention: readonly Float32Array[],
  source: TokenizedText,
  target: TokenizedText,
): Float32Array[] {
  const rows = target.words.map(() => new Float32Array(source.words.length));
  const pieces = target.words.map(() => 0);
  for (const word of target.wordOf) if (word >= 0) pieces[word] = (pieces[word] ?? 0) + 1;
  attention.forEach((weights, piece) => {
    const word = target.wordOf[piece] ?? -1;
    const row = rows[word];
    if (!row) return;
    source.wordOf.forEach((at, column) => {
      if (at < 0) return;
      row[at] = (row[at] as number) + (weights[column] as number) / (pieces[word] as number);
    });
  });
  return rows;
}

export function joinTokens(texts: readonly TokenizedText[]): TokenizedText {
  let before = 0;
  return {
    tokens: texts.flatMap(({ tokens }) => tokens),
    words: texts.flatMap(({ words }) => words),
    wordOf: texts.flatMap(({ words, wordOf }) => {
      const first = before;
      before += words.length;
      return wordOf.map((word) => (word < 0 ? -1 : first + word));
    }),
  };
}

/** Blocks along the diagonal of one matrix. */
function joinBlocks(
  blocks: readonly { readonly rows: readonly Float32Array[]; readonly width: number }[],
): readonly Float32Array[] {
  const [only, ...others] = blocks;
  if (only && others.length === 0) return only.rows;
  const width = blocks.reduce((sum, block) => sum + block.width, 0);
  const height = blocks.reduce((sum, block) => sum + block.rows.length, 0);
  if (height * width > MOST_WEIGHTS)
    throw new RangeError(
      `translation: joined weights must be at most ${MOST_WEIGHTS}, got ${height} × ${width}. Read them from its sentences`,
    );
  let column = 0;
  return blocks.flatMap((block) => {
    const from = column;
    column += block.width;
    return block.rows.map((row) => {
      const joined = new Float32Array(width);
      joined.set(row, from);
      return joined;
    });
  });
}
