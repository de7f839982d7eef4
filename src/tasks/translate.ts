import { type BeamOptions, beamSearch, type Hypothesis } from "../generation/beam-search.js";
import { idOf, type Tokenizer } from "../io/tokenizer.js";
import type { Seq2Seq } from "../models/seq2seq.js";
import { noGrad } from "../ops/tape.js";
import { tensor } from "../tensor/create.js";
import { padRows } from "../train/batches.js";

/** Tokens a piece of text may have; longer sentences are cut between words. */
const MOST_TOKENS = 80;
/** Sentences decoded side by side. */
const BATCH = 32;

export interface TranslateOptions {
  /** Hypotheses kept alive, 1 … 64; default 5. One is greedy. */
  readonly beam?: number;
  /** Default 1: see BeamOptions. */
  readonly lengthPenalty?: number;
  /** Called with the best text so far, after every token. */
  readonly onPartial?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** One side of a translation, as pieces and as words. */
export interface TokenizedText {
  /** Pieces as the tokenizer cut them ("▁" stands for a space before); the source's with <s> and </s>. */
  readonly tokens: readonly string[];
  readonly words: readonly string[];
  /** For each piece, the index of its word; −1 for <s> and </s>. */
  readonly wordOf: readonly number[];
}

export interface Translation {
  readonly text: string;
  readonly source: TokenizedText;
  readonly target: TokenizedText;
  /** [target pieces][source pieces]: where the decoder looked as it wrote; rows sum to 1. */
  readonly attention: readonly Float32Array[];
  /** [target words][source words]: summed over a source word's pieces, averaged over a target word's. */
  readonly alignment: readonly Float32Array[];
  /** Log-probability under the length penalty, mean over sentences. */
  readonly score: number;
}

/** English to Spanish, or whatever the model folder was trained on. */
export class Translator {
  readonly model: Seq2Seq;
  readonly #tokenizer: Tokenizer;
  readonly #start: number;
  readonly #end: number;
  readonly #banned: number[];

  constructor(model: Seq2Seq, tokenizer: Tokenizer) {
    this.model = model;
    this.#tokenizer = tokenizer;
    this.#start = idOf(tokenizer, "<s>");
    this.#end = idOf(tokenizer, "</s>");
    this.#banned = [this.#start, model.config.padding, idOf(tokenizer, "<unk>")];
  }

  /**
   * Translates a text; several sentences are translated one by one and joined.
   *
   * @returns empty for a text without a sentence
   * @throws the signal's reason
   */
  async translate(text: string, options: TranslateOptions = {}): Promise<Translation> {
    const [translation] = await this.translateAll([text], options);
    return translation as Translation;
  }

  /** Translates many texts, sentences of all of them side by side. */
  async translateAll(
    texts: readonly string[],
    options: TranslateOptions = {},
  ): Promise<Translation[]> {
    const segments = texts.flatMap((text, index) => this.#segments(text, index));
    const found: Hypothesis[] = [];
    for (let from = 0; from < segments.length; from += BATCH) {
      const batch = segments.slice(from, from + BATCH);
      found.push(
        ...(await this.#decode(batch, options, (best) => {
          if (texts.length > 1) return;
          const done = found.map(({ ids }) => ids);
          options.onPartial?.([...done, ...best].map((ids) => this.#decodeText(ids)).join(" "));
        })),
      );
    }
    return texts.map((_, index) =>
      this.#assemble(
        segments.flatMap((segment, at) =>
          segment.text === index ? [{ segment, hypothesis: found[at] as Hypothesis }] : [],
        ),
      ),
    );
  }

  dispose(): void {
    this.model.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** A text's sentences as token ids, long ones cut between words. */
  #segments(text: string, index: number): Segment[] {
    if (typeof text !== "string")
      throw new TypeError(`translate: the text must be a string, got ${typeof text}`);
    return splitSentences(text).flatMap((sentence) => {
      const { ids, tokens, words, wordTexts } = this.#tokenizer.encode(sentence);
      const pieces: Segment[] = [];
      for (let from = 0; from < ids.length; ) {
        let to = Math.min(from + MOST_TOKENS, ids.length);
        while (to < ids.length && to > from + 1 && words[to] === words[to - 1]) to--;
        pieces.push({
          text: index,
          ids: ids.slice(from, to),
          tokens: tokens.slice(from, to),
          words: words.slice(from, to),
          wordTexts,
        });
        from = to;
      }
      return pieces;
    });
  }

  async #decode(
    segments: readonly Segment[],
    options: TranslateOptions,
    onStep: (best: readonly (readonly number[])[]) => void,
  ): Promise<Hypothesis[]> {
    const { model } = this;
    const { runtime, config } = model;
    const rows = segments.map(({ ids }) => [this.#start, ...ids, this.#end]);
    const { values, lengths, longest } = padRows(rows, config.padding);
    const beam: BeamOptions = {
      beams: options.beam ?? 5,
      lengthPenalty: options.lengthPenalty ?? 1,
      start: this.#start,
      end: this.#end,
      banned: this.#banned,
      maxTokens: (row) => 2 * (lengths[row] as number) + 10,
      onStep,
      signal: options.signal,
    };
    const found = await beamSearch(
      model,
      rows.length,
      () =>
        noGrad(runtime, () =>
          model.encode(tensor(runtime, values, [rows.length, longest]), tensor(runtime, lengths)),
        ),
      beam,
    );
    return found.map(([best]) => best as Hypothesis);
  }

  #assemble(parts: readonly { segment: Segment; hypothesis: Hypothesis }[]): Translation {
    const source = joinTexts(
      parts.map(({ segment: { tokens, words, wordTexts } }) => ({
        tokens: ["<s>", ...tokens, "</s>"],
        words: [-1, ...words, -1],
        wordTexts,
      })),
    );
    const target = joinTexts(
      parts.map(({ hypothesis: { ids } }) => ({
        tokens: ids.map((id) => this.#tokenizer.tokenOf(id)),
        ...this.#tokenizer.wordsOf(ids),
      })),
    );
    const attention: Float32Array[] = [];
    let column = 0;
    for (const { segment, hypothesis } of parts) {
      const width = segment.ids.length + 2;
      hypothesis.ids.forEach((_, row) => {
        const weights = new Float32Array(source.tokens.length);
        weights.set((hypothesis.weights[row] as Float32Array).subarray(0, width), column);
        attention.push(weights);
      });
      column += width;
    }
    return {
      text: parts.map(({ hypothesis }) => this.#decodeText(hypothesis.ids)).join(" "),
      source,
      target,
      attention,
      alignment: alignWords(attention, source, target),
      score: parts.reduce((sum, { hypothesis }) => sum + hypothesis.score / parts.length, 0),
    };
  }

  #decodeText(ids: readonly number[]): string {
    return ids.length ? this.#tokenizer.decode(ids) : "";
  }
}

/** Pieces, the word of each (−1 for none), and the words' texts. */
interface Pieces {
  readonly tokens: readonly string[];
  readonly words: readonly number[];
  readonly wordTexts: readonly string[];
}

interface Segment extends Pieces {
  /** Which of the given texts it is of. */
  readonly text: number;
  readonly ids: readonly number[];
}

/** Sentences end at . ! ? … before a space, and at line breaks; blank ones are dropped. */
export function splitSentences(text: string): string[] {
  return text
    .split(/(?<=[.!?…]["'»”’)\]]*)\s+|[\r\n]+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}

/** Texts one behind the other, their words counted through. */
function joinTexts(parts: readonly Pieces[]): TokenizedText {
  const wordOf: number[] = [];
  const words: string[] = [];
  for (const part of parts) {
    // A text that was cut has only the words from its first to its last piece.
    const used = part.words.filter((word) => word >= 0);
    const first = used[0] ?? 0;
    const before = words.length;
    words.push(...part.wordTexts.slice(first, (used.at(-1) ?? -1) + 1));
    wordOf.push(...part.words.map((word) => (word < 0 ? -1 : before + word - first)));
  }
  return { tokens: parts.flatMap(({ tokens }) => tokens), words, wordOf };
}

function alignWords(
  attention: readonly Float32Array[],
  source: TokenizedText,
  target: TokenizedText,
): Float32Array[] {
  const rows = target.words.map(() => new Float32Array(source.words.length));
  attention.forEach((weights, piece) => {
    const word = target.wordOf[piece] as number;
    const row = rows[word];
    const pieces = target.wordOf.filter((other) => other === word).length;
    weights.forEach((weight, column) => {
      const at = source.wordOf[column] as number;
      if (row && at >= 0) row[at] = (row[at] as number) + weight / pieces;
    });
  });
  return rows;
}
