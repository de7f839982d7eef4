/** A document as sentences, and as the windows in which a model reads it. */
import type { Tokenizer } from "../io/tokenizer.js";
import { cutSentence, type Segment } from "./sentences.js";

/** A sentence and where it stands. */
export interface SentenceSpan {
  /** On one line: white space is one space. */
  readonly text: string;
  /** UTF-16 offsets into the document: it is text.slice(start, end), white space aside. */
  readonly start: number;
  readonly end: number;
  /** Of which paragraph, counted from 0. */
  readonly paragraph: number;
}

/** Some sentences that are read at once: of one paragraph, and as many tokens as the model takes. */
export interface ReadingWindow {
  readonly segments: readonly WindowSegment[];
  readonly tokens: number;
}

/** A sentence in a window, or a part of one that is longer than a window. */
export interface WindowSegment extends Segment {
  /** An index of the document's sentences. */
  readonly sentence: number;
}

/** Paragraphs end at blank lines. */
const PARAGRAPH = /(?:\r?\n|\r(?!\n))[^\S\r\n]*[\r\n]\s*/;
/** Where a sentence may end: behind . ! ? … and closing quotes and brackets, before white space. */
const END = /[.!?…]["'»”’)\]]*(?=\s)/gu;
/** Words that a full stop shortens, as they stand in encyclopaedias and news. */
const ABBREVIATION =
  /(?:^|[\s("'“‘[])(?:\p{Lu}|(?:\p{L}\.)+\p{L}|Mrs?|Ms|Drs?|Profs?|St|Mts?|Ft|Jr|Sr|Gen|Col|Lt|Capt|Sgt|Gov|Sen|Rep|Rev|Hon|Inc|Ltd|Co|Corp|Bros|Nos?|vs?|cf|ca?|approx|est|[eE]d|[pP]p?|[vV]ols?|al|[jJ]an|[fF]eb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec|Dept|Univ|lit|[bdr]|fl)\.$/u;

/**
 * The sentences of a document in order.
 *
 * A full stop behind an initial ("J. Smith") or a usual abbreviation ends none, and neither does
 * anything before a small letter; a blank line always does.
 */
export function sentencesOf(text: string): SentenceSpan[] {
  const spans: SentenceSpan[] = [];
  let at = 0;
  text.split(new RegExp(`(${PARAGRAPH.source})`)).forEach((part, index) => {
    // Every other part is what stands between two paragraphs.
    if (index % 2 === 0)
      for (const [from, to] of cutsOf(part)) {
        const inner = part.slice(from, to);
        const sentence = inner.trim();
        if (sentence === "") continue;
        const start = at + from + inner.indexOf(sentence);
        const end = start + sentence.length;
        const words = sentence.replace(/\s+/gu, " ");
        spans.push({ text: words, start, end, paragraph: index / 2 });
      }
    at += part.length;
  });
  return spans;
}

/** Windows of at most `most` tokens; longer sentences are cut, between words if possible. */
export function windowsOf(
  sentences: readonly SentenceSpan[],
  tokenizer: Tokenizer,
  most: number,
): ReadingWindow[] {
  const windows: { segments: WindowSegment[]; tokens: number; paragraph: number }[] = [];
  sentences.forEach(({ text, paragraph }, sentence) => {
    for (const segment of cutSentence(text, tokenizer, most)) {
      const size = segment.ids.length;
      const last = windows.at(-1);
      if (last && last.paragraph === paragraph && last.tokens + size <= most) {
        last.segments.push({ ...segment, sentence });
        last.tokens += size;
      } else windows.push({ segments: [{ ...segment, sentence }], tokens: size, paragraph });
    }
  });
  return windows;
}

/** The beginning of a document as one window: `most` tokens, up to a word's end. */
export function beginningOf(
  sentences: readonly SentenceSpan[],
  tokenizer: Tokenizer,
  most: number,
): ReadingWindow {
  const segments: WindowSegment[] = [];
  let tokens = 0;
  for (const [sentence, { text }] of sentences.entries()) {
    const [segment, ...more] = cutSentence(text, tokenizer, most - tokens);
    if (segment) segments.push({ ...segment, sentence });
    tokens += segment?.ids.length ?? 0;
    if (more.length > 0 || tokens === most) break;
  }
  return { segments, tokens };
}

/** The sentences of a paragraph as ranges. */
function cutsOf(paragraph: string): [from: number, to: number][] {
  const cuts: [number, number][] = [];
  let from = 0;
  for (const match of paragraph.matchAll(END)) {
    const end = match.index + match[0].length;
    const before = paragraph.slice(Math.max(from, match.index - 20), match.index + 1);
    const next = /\S/u.exec(paragraph.slice(end, end + 20))?.[0] ?? "";
    if (/\p{Ll}/u.test(next) || (match[0] === "." && ABBREVIATION.test(before))) continue;
    cuts.push([from, end]);
    from = end;
  }
  cuts.push([from, paragraph.length]);
  return cuts;
}
