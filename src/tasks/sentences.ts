import type { Tokenizer, Words } from "../io/tokenizer.js";
import type { TokenizedText } from "./translation.js";

/** A sentence, or a part of a long one, as the model takes it. */
export interface Segment {
  readonly ids: readonly number[];
  /** Without start and end. */
  readonly text: TokenizedText;
}

/**
 * Sentences end at . ! ? … before white space, closing quotes and brackets included, and at line
 * breaks; blank ones are dropped, and white space inside becomes one space. Abbreviations ("Mr. Smith") end one too: nothing is known of them.
 */
export function splitSentences(text: string): string[] {
  // The space is looked for first: a look behind at every quote of many would take quadratic time.
  return text
    .split(/(?=\s)(?<=[.!?…]["'»”’)\]]*)\s+|[\r\n]+/u)
    .map((sentence) => sentence.trim().replace(/\s+/gu, " "))
    .filter((sentence) => sentence !== "");
}

/** The sentences of a text as ids, those longer than `most` tokens cut, between words if possible. */
export function segmentsOf(text: string, tokenizer: Tokenizer, most: number): Segment[] {
  return splitSentences(text).flatMap((sentence) => cutSentence(sentence, tokenizer, most));
}

/** A sentence as ids: in one segment, or cut into several of at most `most` tokens. */
export function cutSentence(sentence: string, tokenizer: Tokenizer, most: number): Segment[] {
  const { ids, tokens, ...found } = tokenizer.encode(sentence);
  const { words, wordTexts } = splitPunctuation(found, ids.map(tokenizer.surfaceOf));
  const segments: Segment[] = [];
  for (let from = 0; from < ids.length; ) {
    let to = Math.min(from + most, ids.length);
    if (to < ids.length && words[to] !== words[from]) while (words[to] === words[to - 1]) to--;
    const first = words[from] as number;
    segments.push({
      ids: ids.slice(from, to),
      text: {
        tokens: tokens.slice(from, to),
        words: wordTexts.slice(first, (words[to - 1] as number) + 1),
        wordOf: words.slice(from, to).map((word) => word - first),
      },
    });
    from = to;
  }
  return segments;
}

/** The text of ids that a model made. */
export function textOf(ids: readonly number[], tokenizer: Tokenizer): TokenizedText {
  const { words, wordTexts } = splitPunctuation(
    tokenizer.wordsOf(ids),
    ids.map(tokenizer.surfaceOf),
  );
  return { tokens: ids.map(tokenizer.tokenOf), words: wordTexts, wordOf: words };
}

/**
 * Makes the punctuation before and after each word a word of its own, where tokens end there too:
 * "«Hello!»" has three words. Inside of a word ("don't", "3.5") it stays.
 *
 * @param surfaces  what each token looks like in the text
 */
export function splitPunctuation({ words, wordTexts }: Words, surfaces: readonly string[]): Words {
  const split: { words: number[]; wordTexts: string[] } = { words: [], wordTexts: [] };
  for (let from = 0; from < words.length; ) {
    const word = words[from] as number;
    let to = from + 1;
    while (to < words.length && words[to] === word) to++;
    const text = wordTexts[word];
    if (text === undefined) for (const each of words.slice(from, to)) split.words.push(each);
    else
      for (const part of partsOf(
        text,
        surfaces.slice(from, to).map((surface) => surface.trim()),
      )) {
        for (let i = 0; i < part.tokens; i++) split.words.push(split.wordTexts.length);
        split.wordTexts.push(part.text);
      }
    from = to;
  }
  return split;
}

/** A word as punctuation, core and punctuation, as far as its tokens say so. */
function partsOf(text: string, tokens: readonly string[]): { text: string; tokens: number }[] {
  // A space may be a token of its own, before the punctuation.
  const isCore = (token: string): boolean => !/^\p{P}*$/u.test(token);
  const first = tokens.findIndex(isCore);
  const end = tokens.findLastIndex(isCore) + 1;
  const before = tokens.slice(0, Math.max(first, 0)).join("");
  const after = tokens.slice(end).join("");
  const core = text.slice(before.length, text.length - after.length);
  // Punctuation alone is one word; and a tokenizer may write other characters than the text has.
  if (end === 0 || before + core + after !== text) return [{ text, tokens: tokens.length }];
  const lead = before === "" ? 0 : first;
  const tail = after === "" ? tokens.length : end;
  return [
    { text: before, tokens: lead },
    { text: core, tokens: tail - lead },
    { text: after, tokens: tokens.length - tail },
  ].filter((part) => part.tokens > 0);
}
