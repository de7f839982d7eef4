/**
 * The recall task: among plain words stands one that is marked, some words further on a question
 * mark, and the answer is the marked word. The mark is part of the word ("RIVER" among "moon lamp
 * key"), so that one look at the right place is enough; a mark beside the word would take two.
 */
import { HeedError } from "../errors.js";
import type { Tokenizer } from "../io/tokenizer.js";
import { mix32 } from "../runtime/runtime.js";

/** The ids that sequences are made of. */
export interface RecallWords {
  readonly plain: readonly number[];
  readonly marked: readonly number[];
  readonly question: number;
  /** Fills rows up. */
  readonly padding: number;
}

export interface RecallSequence {
  /** Plain words with one marked among them; the question comes last. */
  readonly ids: readonly number[];
  /** The marked word. */
  readonly answer: number;
  /** How many positions before the question the marked word stands. */
  readonly distance: number;
}

/** Most plain words before the marked one. */
const MOST_BEFORE = 10;
/** Steps of the distances that are learned from, each as often: from one up to, without, the next. */
const STEPS = [5, 10, 20, 40, 80, 160, 320, 501] as const;

/** The longest distance. */
export const RECALL_LONGEST = 500;
/** Positions of the longest sequence. */
export const RECALL_POSITIONS = MOST_BEFORE + RECALL_LONGEST + 1;

/**
 * Lower-case words that have an upper-case twin, the twins, "?" and "<pad>" of a vocabulary.
 *
 * @throws {HeedError} there are none
 */
export function recallWords(tokenizer: Tokenizer): RecallWords {
  const tokens = Array.from({ length: tokenizer.vocabSize }, (_, id) => tokenizer.tokenOf(id));
  const marked = tokens.flatMap((token, id) =>
    /^[A-Z]+$/.test(token) && tokenizer.idOf(token.toLowerCase()) !== undefined ? [id] : [],
  );
  const plain = marked.map((id) => tokenizer.idOf((tokens[id] as string).toLowerCase()) as number);
  const [question, padding] = [tokenizer.idOf("?"), tokenizer.idOf("<pad>")];
  if (marked.length === 0 || question === undefined || padding === undefined)
    throw new HeedError(
      'recall: the tokenizer must know words in lower and in upper case, "?" and "<pad>", got one that does not',
    );
  return { plain, marked, question, padding };
}

/** A sequence with the given distance, 1 at least: the same for the same seed. */
export function recallSequence(
  { plain, marked, question }: RecallWords,
  distance: number,
  seed: number,
): RecallSequence {
  const draw = drawing(seed);
  const filler = (length: number): number[] =>
    Array.from({ length }, () => plain[draw(plain.length)] as number);
  const answer = marked[draw(marked.length)] as number;
  const before = filler(draw(MOST_BEFORE + 1));
  return { ids: [...before, answer, ...filler(distance - 1), question], answer, distance };
}

/** Sequences to learn from: distances of 5 to 500, short ones as often as long ones. */
export function recallSequences(words: RecallWords, count: number, seed: number): RecallSequence[] {
  return Array.from({ length: count }, (_, index) => {
    const own = mix32((mix32(index) + seed) >>> 0);
    const step = index % (STEPS.length - 1);
    const [least, next] = [STEPS[step] as number, STEPS[step + 1] as number];
    return recallSequence(words, least + drawing(own ^ 0x9e3779b9)(next - least), own);
  });
}

/** Whole numbers from 0 up to, without, a bound. */
function drawing(seed: number): (bound: number) => number {
  let index = 0;
  return (bound) => mix32((mix32(index++) + seed) >>> 0) % bound;
}
