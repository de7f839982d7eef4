import { FormatError } from "../errors.js";
import type { AttentionMap } from "../inspect/attention-map.js";
import { flag, integer, oneOf, optional, readFields, real } from "../io/fields.js";
import type { ModelFolder } from "../io/model-folder.js";
import { quote } from "../io/quote.js";
import { idOf, loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { unpackWeights } from "../io/weights.js";
import { ContextAwareEmbedding } from "../models/context-aware-embedding.js";
import { withoutInit } from "../nn/init.js";
import { slice } from "../ops/shape.js";
import { softmax } from "../ops/softmax.js";
import { noGrad } from "../ops/tape.js";
import { turn } from "../runtime/event-loop.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import { padRows } from "../train/batches.js";
import { expectList } from "./arguments.js";
import { expectShapes, expectVocabulary, withWeights } from "./model-file.js";
import { type KnownWord, placesOf, readWords, WORDS } from "./senses.js";
import { Task } from "./task.js";
import { ContextReader, type PlacedWord, type WordContext, wordsIn } from "./word-contexts.js";

export interface DisambiguateOptions {
  /** Labelled sentences that come with each answer, 0 … 100; default 3. */
  readonly nearest?: number;
  readonly signal?: AbortSignal;
}

/** A sense and how sure the model is of it. */
export interface RatedSense {
  readonly sense: string;
  /** Over the senses of this word they sum to 1. */
  readonly probability: number;
}

/** A labelled sentence that is like the one asked about. */
export interface LikeSentence {
  readonly sense: string;
  readonly sentence: string;
  /** Where the word stands in it: [start, end) in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Cosine of both embeddings of the word, −1 … 1. */
  readonly similarity: number;
}

/** One occurrence of a word with its sense; plain data. */
export interface Disambiguation extends RatedSense {
  /** As the model knows it: "bank" for "Banks". */
  readonly word: string;
  readonly sentence: string;
  /** Where it stands: [start, end) in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** All senses of the word, the most probable first. */
  readonly senses: readonly RatedSense[];
  /**
   * False when no labelled sentence is as like as known uses have one, nearly all of them: the word
   * is perhaps meant in a sense that the model was not shown, as in "the plane had to bank".
   */
  readonly familiar: boolean;
  /** The most similar first. */
  readonly nearest: readonly LikeSentence[];
  /** The words around it. */
  readonly context: readonly string[];
  /** For each of them how much the word looked there: they sum to 1; 0 for words never seen. */
  readonly weights: Float32Array;
  /** The embedding of the word in this context; see cosineSimilarity(). */
  readonly embedding: Float32Array;
}

/** What config.json holds beside the model's sizes. */
const FIELDS = {
  task: oneOf("disambiguate"),
  architecture: oneOf("ContextAwareEmbedding"),
  vocab: integer(1, 1_000_000),
  embedding: integer(1, 16_384),
  context: integer(1, 16_384),
  project: flag(),
  padding: integer(0, 999_999),
  temperature: real(1e-3, 1e3),
  window: integer(1, 1000),
  familiarity: optional(real(-1, 1), -1),
  words: WORDS,
} as const;

/** Sentences embedded side by side. */
const BATCH = 64;
const MOST_NEAREST = 100;

interface Occurrence {
  readonly sentence: string;
  readonly place: PlacedWord;
  readonly context: WordContext;
}

interface Embedded {
  readonly embedding: Float32Array;
  readonly probabilities: Float32Array;
  /** By the words of the context. */
  readonly weights: Float32Array;
}

/** A known word with what the model needs of it. */
interface Entry extends KnownWord {
  readonly id: number;
  /** Number of its first sense among all. */
  readonly firstSense: number;
}

interface Example extends Omit<LikeSentence, "similarity"> {
  readonly embedding: Float32Array;
}

/** Tells in which of its senses a word is used. */
export class Disambiguator extends Task<ContextAwareEmbedding> {
  readonly #reader: ContextReader;
  readonly #entries: readonly Entry[];
  readonly #familiarity: number;
  readonly #examples = new Map<string, Promise<readonly Example[]>>();

  /**
   * @param window       words of the context on each side
   * @param words        in the order in which the model was trained on their senses
   * @param familiarity  the similarity to some labelled sentence from which on a use is familiar
   * @throws {FormatError} a word is no token of its own
   */
  constructor(
    model: ContextAwareEmbedding,
    tokenizer: Tokenizer,
    window: number,
    words: readonly KnownWord[],
    familiarity = -1,
  ) {
    super("disambiguate", model);
    this.#familiarity = familiarity;
    this.#reader = new ContextReader(tokenizer, window);
    let firstSense = 0;
    this.#entries = words.map((known) => {
      const entry = { ...known, id: idOf(tokenizer, known.word), firstSense };
      firstSense += known.senses.length;
      return entry;
    });
  }

  /** The words that are known, and their senses. */
  get words(): readonly { readonly word: string; readonly senses: readonly string[] }[] {
    return this.#entries.map(({ word, senses }) => ({
      word,
      senses: senses.map(({ name }) => name),
    }));
  }

  /**
   * The sense of a word, for each of its occurrences in a sentence.
   *
   * @param word  in any form: "bank", "Banks"
   * @returns one answer an occurrence, at least one
   * @throws {RangeError} the word is not known, the sentence does not hold it, or an option is out of
   *   range
   * @throws the signal's reason
   * @example
   * const [use] = await disambiguator.disambiguate("bank", "He sat on the bank of the river.");
   */
  async disambiguate(
    word: string,
    sentence: string,
    options: DisambiguateOptions = {},
  ): Promise<Disambiguation[]> {
    const [found] = await this.disambiguateAll(word, [sentence], options);
    if (found?.length) return found;
    const { forms } = this.#entry(word);
    throw new RangeError(
      `disambiguate: the sentence must hold ${forms.map((form) => `"${form}"`).join(" or ")}, got ${quote(sentence)}`,
    );
  }

  /** disambiguate() for many sentences; an empty list for one that does not hold the word. */
  async disambiguateAll(
    word: string,
    sentences: readonly string[],
    options: DisambiguateOptions = {},
  ): Promise<Disambiguation[][]> {
    return this.use(options, () => this.#disambiguateAll(word, sentences, options));
  }

  async #disambiguateAll(
    word: string,
    sentences: readonly string[],
    options: DisambiguateOptions,
  ): Promise<Disambiguation[][]> {
    expectList("disambiguate", "sentences", sentences);
    const { nearest = 3, signal } = options;
    if (!(Number.isInteger(nearest) && nearest >= 0 && nearest <= MOST_NEAREST))
      throw new RangeError(
        `disambiguate: nearest must be a whole number from 0 to ${MOST_NEAREST}, got ${nearest}`,
      );
    signal?.throwIfAborted();
    const entry = this.#entry(word);
    const occurrences = sentences.map((sentence) => this.#occurrences(entry, sentence));
    const embedded = await this.#embed(entry, occurrences.flat(), signal);
    const examples = embedded.length > 0 ? await this.#examplesOf(entry) : [];
    signal?.throwIfAborted();
    let next = 0;
    return occurrences.map((found) =>
      found.map((occurrence) => {
        const one = embedded[next++] as Embedded;
        const like = likeSentences(one.embedding, examples);
        const [first] = like;
        return {
          ...answer(entry, occurrence, one),
          familiar: (first?.similarity ?? 1) >= this.#familiarity,
          nearest: like.slice(0, nearest),
        };
      }),
    );
  }

  #entry(word: string): Entry {
    if (typeof word !== "string")
      throw new TypeError(`disambiguate: the word must be a string, got ${typeof word}`);
    const form = word.trim().toLowerCase();
    const found = this.#entries.find(({ forms }) => forms.includes(form));
    if (found) return found;
    throw new RangeError(
      `disambiguate: the word must be one of ${this.#entries.map(({ word }) => word).join(", ")}, got ${quote(word)}`,
    );
  }

  #occurrences(entry: Entry, sentence: string): Occurrence[] {
    if (typeof sentence !== "string")
      throw new TypeError(`disambiguate: the sentence must be a string, got ${typeof sentence}`);
    const words = wordsIn(sentence);
    return placesOf(entry, words).map((at) => ({
      sentence,
      place: words[at] as PlacedWord,
      context: this.#reader.around(words, at),
    }));
  }

  async #embed(
    entry: Entry,
    occurrences: readonly Occurrence[],
    signal?: AbortSignal,
  ): Promise<Embedded[]> {
    // Contexts of like length share a batch.
    const order = occurrences
      .map((_, index) => index)
      .sort((a, b) => idsIn(occurrences[a]) - idsIn(occurrences[b]));
    const found: Embedded[] = [];
    for (let from = 0; from < order.length; from += BATCH) {
      const indices = order.slice(from, from + BATCH);
      const contexts = indices.map((index) => (occurrences[index] as Occurrence).context);
      this.#embedBatch(entry, contexts).forEach((one, row) => {
        found[indices[row] as number] = one;
      });
      await turn(signal);
    }
    return found;
  }

  #embedBatch(entry: Entry, contexts: readonly WordContext[]): Embedded[] {
    const { model } = this;
    const { runtime, config } = model;
    const rows = contexts.map(({ ids }) => ids);
    const { values, longest } = padRows(rows, config.padding ?? 0);
    const senses = entry.senses.length;
    const width = config.embedding;
    return runtime.scope(() =>
      noGrad(runtime, () => {
        const words = tensor(runtime, new Int32Array(rows.length).fill(entry.id));
        const ids = tensor(runtime, values, [rows.length, longest]);
        const { output, weights } = model.forward(words, ids);
        const all = model.senseLogits(output);
        const own = slice(all, 1, entry.firstSense, entry.firstSense + senses);
        const probabilities = softmax(own).read() as Float32Array;
        const embeddings = output.read() as Float32Array;
        const looked = weights?.read() as Float32Array;
        return contexts.map((context, row) => ({
          embedding: embeddings.slice(row * width, (row + 1) * width),
          probabilities: probabilities.slice(row * senses, (row + 1) * senses),
          weights: byWord(context, looked.subarray(row * longest)),
        }));
      }),
    );
  }

  /** The labelled sentences of a word: embedded when they are first asked for, then kept. */
  #examplesOf(entry: Entry): Promise<readonly Example[]> {
    const known = this.#examples.get(entry.word);
    if (known) return known;
    const labelled = entry.senses.flatMap(({ name, examples }) =>
      examples.flatMap((sentence) =>
        this.#occurrences(entry, sentence).map((occurrence) => ({ ...occurrence, sense: name })),
      ),
    );
    const made = this.#embed(entry, labelled).then((embedded) =>
      labelled.map(({ sense, sentence, place: { start, end } }, index) => {
        const { embedding } = embedded[index] as Embedded;
        return { sense, sentence, start, end, embedding };
      }),
    );
    made.catch(() => this.#examples.delete(entry.word));
    this.#examples.set(entry.word, made);
    return made;
  }
}

/**
 * The cosine of two embeddings of a word: 1 for the same direction, 0 for unrelated ones.
 *
 * @throws {RangeError} they are not equally long
 */
export function cosineSimilarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length)
    throw new RangeError(
      `cosineSimilarity: both embeddings must be equally long, got ${a.length} and ${b.length}`,
    );
  let [product, lengthA, lengthB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    product += x * y;
    lengthA += x * x;
    lengthB += y * y;
  }
  const lengths = Math.sqrt(lengthA) * Math.sqrt(lengthB);
  return lengths > 0 ? product / lengths : 0;
}

/** Where a word looked, for the pictures of inspect/. */
export function senseAttention({
  sentence,
  start,
  end,
  context,
  weights,
}: Disambiguation): AttentionMap {
  return {
    title: sentence,
    kind: "self",
    queries: [sentence.slice(start, end)],
    keys: context,
    weights: [[[weights]]],
  };
}

/** The task that a model folder holds; `name` is the folder's, for errors. */
export function loadDisambiguator(
  runtime: Runtime,
  folder: ModelFolder,
  name: string,
): Disambiguator {
  const who = `${name}: config.json`;
  const { words: items, window, familiarity, ...config } = readFields(folder.config, FIELDS, who);
  const words = readWords(items, who);
  const senses = words.reduce((sum, word) => sum + word.senses.length, 0);
  const weights = unpackWeights(folder.tensors, `${name}: model.safetensors`);
  const tokenizer = loadTokenizer(folder.tokenizer);
  const { vocab, embedding, context, padding, project } = config;
  if (!project && context !== embedding)
    throw new FormatError(
      "CONFIG_FIELD",
      `${who}: "context" must be "embedding" without "project", got ${context} and ${embedding}`,
    );
  expectShapes(
    {
      "word_embeddings.weight": [vocab, embedding],
      "context_attention.weight": [context, embedding],
      sense_prototypes: [senses, embedding],
    },
    weights,
    name,
  );
  expectVocabulary({ vocab }, tokenizer, padding, name);
  return runtime.guarded(() => {
    const model = withoutInit(() => new ContextAwareEmbedding(runtime, { ...config, senses }));
    return new Disambiguator(
      withWeights(model, weights, name),
      tokenizer,
      window,
      words,
      familiarity,
    );
  });
}

function answer(
  { word, senses }: Entry,
  { sentence, place, context }: Occurrence,
  { embedding, probabilities, weights }: Embedded,
): Omit<Disambiguation, "familiar" | "nearest"> {
  const rated = senses
    .map(({ name }, index) => ({ sense: name, probability: probabilities[index] as number }))
    .sort((a, b) => b.probability - a.probability);
  return {
    ...(rated[0] as RatedSense),
    word,
    sentence,
    start: place.start,
    end: place.end,
    senses: rated,
    context: context.words.map(({ text }) => text),
    weights,
    embedding,
  };
}

/** The most similar first. */
function likeSentences(embedding: Float32Array, examples: readonly Example[]): LikeSentence[] {
  return examples
    .map(({ embedding: other, ...example }) => ({
      ...example,
      similarity: cosineSimilarity(embedding, other),
    }))
    .sort((a, b) => b.similarity - a.similarity);
}

/** Weights of the ids of a context, added up by word. */
function byWord({ words, wordOf }: WordContext, weights: Float32Array): Float32Array {
  const sums = new Float32Array(words.length);
  wordOf.forEach((word, index) => {
    sums[word] = (sums[word] as number) + (weights[index] as number);
  });
  return sums;
}

function idsIn(occurrence: Occurrence | undefined): number {
  return occurrence?.context.ids.length ?? 0;
}
