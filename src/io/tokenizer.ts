import { Tokenizer as LibraryTokenizer, Unigram } from "@huggingface/tokenizers";
import { FormatError, IndexError } from "../errors.js";
import { readTokenizerJson, type WordMark } from "./tokenizer-json.js";

/** Tokens grouped into words: runs without white space. */
export interface Words {
  /** For each token the index of its word; −1 for special tokens, and where there is no word. */
  readonly words: number[];
  readonly wordTexts: string[];
}

export interface Encoding extends Words {
  readonly ids: number[];
  /** The tokens as the vocabulary writes them; a word begins with "▁" or "Ġ" in some. */
  readonly tokens: string[];
}

export interface Tokenizer {
  /** Ids are 0 … vocabSize − 1. */
  readonly vocabSize: number;
  /**
   * The ids of a text, and which of its words each belongs to.
   *
   * No special token is added, and none is read out of the text: "</s>" in it is four characters.
   *
   * @throws {FormatError} TEXT_LENGTH: more than 2²⁰ UTF-16 units, or for Unigram models more than
   *   2¹⁶ without white space
   */
  encode(text: string): Encoding;
  /** The ids alone: faster. */
  ids(text: string): number[];
  /**
   * The text of ids, special tokens left out.
   *
   * @throws {IndexError} an id is not of this vocabulary
   */
  decode(ids: ArrayLike<number>): string;
  /** Groups ids, such as a model has made, into words by the marks on their tokens. */
  wordsOf(ids: ArrayLike<number>): Words;
  idOf(token: string): number | undefined;
  /** @throws {IndexError} the id is not of this vocabulary */
  tokenOf(id: number): string;
  /** What a token looks like in a text, white space included. */
  surfaceOf(id: number): string;
}

const MAX_TEXT = 2 ** 20;
/** A lattice takes about a kilobyte a character. */
const MAX_LATTICE = 2 ** 16;

/**
 * A tokenizer from the bytes of a tokenizer.json, all of which is checked first.
 *
 * @param fileName  what errors begin with
 * @throws {FormatError} with the codes of readTokenizerJson
 */
export function loadTokenizer(bytes: Uint8Array, fileName = "tokenizer.json"): Tokenizer {
  const {
    library,
    tokens,
    ids: idsByToken,
    special,
    wordMark,
  } = readTokenizerJson(bytes, fileName);
  const inner = new LibraryTokenizer(library, { clean_up_tokenization_spaces: false });
  if (inner.model instanceof Unigram) boundLattice(inner.model);
  const surfaceOf = surfaces(wordMark);

  const tokenOf = (id: number): string => {
    const token = tokens[id];
    if (token === undefined)
      throw new IndexError(
        `tokenizer: an id must be a whole number from 0 to ${tokens.length - 1}, got ${id}`,
      );
    return token;
  };
  const encodeClean = (text: string) => inner.encode(text, { add_special_tokens: false });
  const decode = (ids: ArrayLike<number>): string => {
    const all = Array.from(ids);
    for (const id of all) tokenOf(id);
    const visible = all.filter((id) => !special.has(id));
    return visible.length > 0 ? inner.decode(visible) : "";
  };

  return {
    vocabSize: tokens.length,
    encode(text) {
      const clean = expectText(text);
      const { ids, tokens } = encodeClean(clean);
      const idsOf = (part: string): number[] => encodeClean(part).ids;
      return { ids, tokens, ...wordsOfText(clean, ids, tokens.map(surfaceOf), idsOf) };
    },
    ids: (text) => encodeClean(expectText(text)).ids,
    decode,
    wordsOf(ids) {
      const all = Array.from(ids);
      const visible = all.filter((id) => !special.has(id));
      const groups = groupSurfaces(visible.map((id) => surfaceOf(tokenOf(id))));
      const last = groups.reduce((most, group) => Math.max(most, group), -1);
      const members: number[][] = Array.from({ length: last + 1 }, () => []);
      visible.forEach((id, i) => {
        members[groups[i] ?? -1]?.push(id);
      });
      let next = 0;
      const words = all.map((id) => (special.has(id) ? -1 : (groups[next++] ?? -1)));
      return { words, wordTexts: members.map((ids) => decode(ids).trim()) };
    },
    idOf: (token) => idsByToken.get(token),
    tokenOf,
    surfaceOf: (id) => surfaceOf(tokenOf(id)),
  };
}

/**
 * The id of a token that a model cannot do without.
 *
 * @throws {FormatError} TOKENIZER_TOKEN: the vocabulary does not hold it
 */
export function idOf(tokenizer: Tokenizer, token: string): number {
  const id = tokenizer.idOf(token);
  if (id === undefined)
    throw new FormatError(
      "TOKENIZER_TOKEN",
      `tokenizer: the vocabulary must hold ${token}, got ${tokenizer.vocabSize} tokens without it`,
    );
  return id;
}

/** The library hands the pieces of a word to a function as arguments, which overflows the stack. */
function boundLattice(model: Unigram): void {
  model.encode = (words) =>
    words.flatMap((word) => {
      if (word.length <= MAX_LATTICE) return model.tokenize(word);
      throw new FormatError(
        "TEXT_LENGTH",
        `tokenizer: a word must have at most ${MAX_LATTICE} characters, got ${word.length}`,
      );
    });
}

/** Text the library can take: of bounded length, lone surrogates replaced as an encoder does. */
function expectText(text: string): string {
  if (text.length > MAX_TEXT)
    throw new FormatError(
      "TEXT_LENGTH",
      `tokenizer: a text must have at most ${MAX_TEXT} characters, got ${text.length}. Split it`,
    );
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/**
 * The word of each token of a text.
 *
 * Each word is encoded alone, with the white space before it or without. As long as that gives the
 * next ids of the whole text, the tokens are that word's. From the first word that does not (its
 * tokens cross white space) the marks on the tokens must do.
 */
function wordsOfText(
  text: string,
  ids: readonly number[],
  surfaces: readonly string[],
  encode: (text: string) => number[],
): Words {
  const found = [...text.matchAll(/\S+/g)];
  const wordTexts = found.map(([word]) => word);
  const last = wordTexts.length - 1;
  const words: number[] = [];
  if (last <= 0) return { words: ids.map(() => last), wordTexts };

  let end = 0;
  for (const [i, match] of found.entries()) {
    const spaced = encode(text.slice(end, match.index + match[0].length));
    let length = continues(ids, words.length, spaced) ? spaced.length : 0;
    if (length === 0) {
      const alone = encode(match[0]);
      if (continues(ids, words.length, alone)) length = alone.length;
      // A word that normalizes to nothing has no tokens.
      else if (spaced.length > 0) break;
    }
    for (let n = 0; n < length; n++) words.push(i);
    end = match.index + match[0].length;
  }
  const before = words.at(-1) ?? -1;
  const rest = groupSurfaces(surfaces.slice(words.length));
  return { words: [...words, ...rest.map((g) => Math.min(before + 1 + g, last))], wordTexts };
}

function continues(ids: readonly number[], from: number, part: readonly number[]): boolean {
  return part.every((id, i) => ids[from + i] === id);
}

/**
 * Words counted along surfaces, from 0. A surface without a visible character belongs to the word
 * after it, one that spans several to the first; −1 when there is no word.
 */
function groupSurfaces(surfaces: readonly string[]): number[] {
  let word = -1;
  let gap = true;
  const groups = surfaces.map((surface) => {
    const starts = surface.match(/\S+/g)?.length ?? 0;
    if (starts === 0) {
      if (surface !== "") gap = true;
      return word + 1;
    }
    const first = gap || /^\s/.test(surface) ? word + 1 : word;
    word = first + starts - 1;
    gap = /\s$/.test(surface);
    return first;
  });
  return groups.map((group) => Math.min(group, word));
}

/** What a token looks like in a text, white space included. */
function surfaces(wordMark: WordMark): (token: string) => string {
  switch (wordMark.kind) {
    case "prefix":
      return (token) => token.replaceAll(wordMark.mark, " ");
    case "suffix":
      return (token) =>
        token.endsWith(wordMark.mark) ? `${token.slice(0, -wordMark.mark.length)} ` : token;
    case "continued":
      return (token) =>
        token.startsWith(wordMark.mark) ? token.slice(wordMark.mark.length) : ` ${token}`;
    case "bytes":
      return byteSurface;
    case "none":
      return (token) => ` ${token}`;
  }
}

/**
 * Byte-level tokens write each byte as a visible character: itself where it is one in Latin-1, else
 * the next free code from 256 on. Those of white space below 33 are thus 256 + byte.
 */
function byteSurface(token: string): string {
  return token.replace(/[\u0109-\u010d\u0120]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 256));
}
