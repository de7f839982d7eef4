import { idOf, type Tokenizer } from "../io/tokenizer.js";

/** A word, number or sign of a text, and where it stands: [start, end) in UTF-16 units. */
export interface Piece {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A text as the model takes it, without start and end. */
export interface ReadText {
  readonly ids: readonly number[];
  /** For each id, the index of its piece: whole numbers that rise. */
  readonly pieceOf: readonly number[];
  readonly pieces: readonly Piece[];
}

/** What marks() tells of a context. */
export interface Marks {
  /** [kinds][ids] */
  readonly byId: readonly (readonly number[])[];
  /** The marks of start and end, by kind. */
  readonly ofEdges: readonly number[];
}

/** A run of a context's tokens as the model takes it. */
export interface ContextWindow {
  /** Number of its first token in the context: it stands at 1, behind the start. */
  readonly from: number;
  readonly ids: readonly number[];
  /** [kinds][ids] */
  readonly marks: readonly (readonly number[])[];
}

/** Pieces whose ids are kept at most; then all are forgotten. */
const MOST_KEPT = 2 ** 17;
/** What a question asks with; "how many" and "how much" are one more, behind these. */
const ASKING = ["what", "who", "whom", "when", "where", "how", "which", "whose", "why"];

/** What is known of a word of the context beside the word, each by its first row behind the vocabulary. */
const MARKS = {
  /** Whether the question has it: not; another form of it; the word itself. */
  match: 0,
  /** How it is written: small; with a capital; as a number. */
  shape: 3,
  /** The same for a whole context: what the question asks with, 0 for none of these. */
  asked: 6,
} as const;

/** Letters that forms of a word share at least, and letters of the longer one's ending at most. */
const PREFIX = 4;
const ENDING = 4;

/** Rows of the embedding behind those of the tokens. */
export const MARK_ROWS = MARKS.asked + ASKING.length + 2;

/** Runs of letters, runs of digits, and signs one by one; runs are cut after 64 characters. */
export function piecesOf(text: string): Piece[] {
  return [...text.matchAll(/[\p{L}\p{M}]{1,64}|\p{N}{1,64}|\S/gu)].map(({ 0: piece, index }) => ({
    text: piece,
    start: index,
    end: index + piece.length,
  }));
}

/**
 * Reads questions and contexts: small letters, each piece on its own, so that a token never spans
 * two of them and every token has its place in the text.
 */
export class QuestionReader {
  readonly start: number;
  readonly end: number;
  readonly #tokenizer: Tokenizer;
  readonly #unknown: number;
  readonly #ids = new Map<string, readonly number[]>();

  /** @throws {FormatError} TOKENIZER_TOKEN: the vocabulary has no <s>, </s> or <unk> */
  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    this.start = idOf(tokenizer, "<s>");
    this.end = idOf(tokenizer, "</s>");
    this.#unknown = idOf(tokenizer, "<unk>");
  }

  read(text: string): ReadText {
    const pieces = piecesOf(text);
    const parts = pieces.map((piece) => this.#idsOf(piece.text.toLowerCase()));
    return {
      pieces,
      ids: parts.flat(),
      pieceOf: parts.flatMap((ids, index) => ids.map(() => index)),
    };
  }

  /** Ids between start and end. */
  framed(ids: readonly number[]): number[] {
    return [this.start, ...ids, this.end];
  }

  /** What a token looks like in a text; as the vocabulary writes it where that is blank. */
  textOf(id: number): string {
    return this.#tokenizer.surfaceOf(id).trim() || this.#tokenizer.tokenOf(id);
  }

  /**
   * Tokens [from, to) of a context as the model takes them, between start and end.
   *
   * @param marks  what marks() says of the whole context
   */
  window(context: ReadText, marks: Marks, from: number, to: number): ContextWindow {
    return {
      from,
      ids: this.framed(context.ids.slice(from, to)),
      marks: marks.byId.map((ids, kind) => {
        const edge = marks.ofEdges[kind] as number;
        return [edge, ...ids.slice(from, to), edge];
      }),
    };
  }

  /** For each id of a context, what is known of its word: an id of the embedding of each kind. */
  marks(question: ReadText, context: ReadText): Marks {
    const first = this.#tokenizer.vocabSize;
    const asked = question.pieces.map(({ text }) => text.toLowerCase());
    const matchOf = matcher(asked);
    const asks = first + MARKS.asked + askedWith(asked);
    const byPiece = [
      context.pieces.map(({ text }) => first + MARKS.match + matchOf(text.toLowerCase())),
      context.pieces.map(({ text }) => first + MARKS.shape + shapeOf(text)),
      context.pieces.map(() => asks),
    ];
    return {
      byId: byPiece.map((marks) => context.pieceOf.map((piece) => marks[piece] as number)),
      ofEdges: [first + MARKS.match, first + MARKS.shape, asks],
    };
  }

  #idsOf(piece: string): readonly number[] {
    const known = this.#ids.get(piece);
    if (known) return known;
    const found = this.#tokenizer.ids(piece);
    const ids = found.length > 0 ? found : [this.#unknown];
    if (this.#ids.size >= MOST_KEPT) this.#ids.clear();
    this.#ids.set(piece, ids);
    return ids;
  }
}

/** Tells of a word whether the question has another form of it (1), the word itself (2), or neither. */
function matcher(asked: readonly string[]): (word: string) => number {
  const words = new Set(asked);
  const byPrefix = new Map<string, string[]>();
  for (const word of words) {
    const prefix = word.slice(0, PREFIX);
    byPrefix.set(prefix, [...(byPrefix.get(prefix) ?? []), word]);
  }
  return (word) => {
    if (words.has(word)) return 2;
    return byPrefix.get(word.slice(0, PREFIX))?.some((other) => areForms(word, other)) ? 1 : 0;
  };
}

/** Do two words differ in their endings only? Roughly: "built" and "build", "invade" and "invasion". */
function areForms(a: string, b: string): boolean {
  const longest = Math.max(a.length, b.length);
  let shared = 0;
  while (shared < longest && a[shared] === b[shared]) shared++;
  return shared >= Math.max(PREFIX, longest - ENDING);
}

function shapeOf(text: string): number {
  return /^\p{Lu}/u.test(text) ? 1 : /^\p{N}/u.test(text) ? 2 : 0;
}

/** Which of the asking words a question has first, counted from 1; 0 for none. */
function askedWith(words: readonly string[]): number {
  const at = words.findIndex((word) => ASKING.includes(word));
  if (at < 0) return 0;
  const counts = words[at] === "how" && /^(many|much)$/.test(words[at + 1] ?? "");
  return 1 + (counts ? ASKING.length : ASKING.indexOf(words[at] as string));
}
