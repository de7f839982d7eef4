/**
 * How a ContextAwareEmbedding learns senses from few labelled sentences: it reads plain text beside
 * them. Of a word in the text it sees the context alone and tells which word stood there, which
 * trains the embeddings that the senses are then told by.
 */
import { exactLog } from "../exact-math.js";
import {
  ContextAwareEmbedding,
  type ContextAwareEmbeddingConfig,
} from "../models/context-aware-embedding.js";
import { add, mul } from "../ops/arithmetic.js";
import { crossEntropy } from "../ops/cross-entropy.js";
import { matmul } from "../ops/matmul.js";
import { mix32 } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { padRows } from "../train/batches.js";
import { soften } from "./soften.js";
import { fingerprint, type Lesson } from "./training.js";

/** A word in a labelled sentence. */
export interface SenseExample {
  readonly word: number;
  readonly context: readonly number[];
  /** Number of its sense among all senses. */
  readonly sense: number;
  /** The senses of this word: [first, end). */
  readonly senses: readonly [first: number, end: number];
}

/** A labelled word, or a place in the text. */
export type SenseItem = SenseExample | number;

export interface DisambiguationData {
  readonly config: ContextAwareEmbeddingConfig;
  readonly examples: readonly SenseExample[];
  readonly validation: readonly SenseExample[];
  /** How often an epoch shows each labelled sentence. */
  readonly repeats: number;
  /** Sentences as ids. */
  readonly text: readonly (readonly number[])[];
  /** Ids that are never asked for in the text: what stands for no word. */
  readonly special: ReadonlySet<number>;
  /** Stands for the word that is asked for. */
  readonly blank: number;
}

/** Ids on each side that a word in the text is told by. */
const REACH = 5;
/** Words more frequent than this share of the text are asked for less often: by √(share / theirs). */
const FREQUENT = 1e-4;
/** Products of the embeddings are not scaled. */
const SOFT = { "word_embeddings.weight": 0.1 };
/** Keeps batches of text and of labelled sentences apart. */
const LABELLED = 1e6;

export function disambiguationLesson(
  data: DisambiguationData,
): Lesson<ContextAwareEmbedding, SenseItem> {
  const { config, examples, validation, repeats } = data;
  const reading = new Reading(data);
  const marked = examples.map(({ word, context, sense }) => [word, sense, ...context]);
  return {
    about: `${examples.length} labelled sentences (${fingerprint(marked)}) ${repeats} times and text (${fingerprint([reading.ids])})`,
    items: [...reading.places, ...Array.from({ length: repeats }, () => examples).flat()],
    validation,
    build(runtime) {
      return soften(new ContextAwareEmbedding(runtime, config), SOFT);
    },
    sortKey: (item) => (typeof item === "number" ? 0 : LABELLED + item.context.length),
    loss(model, items) {
      const places = items.filter((item) => typeof item === "number");
      const labelled = items.filter((item) => typeof item !== "number");
      if (labelled.length === 0) return reading.loss(model, places);
      const loss = senseLoss(model, labelled);
      if (places.length === 0) return loss;
      const share = labelled.length / items.length;
      return add(mul(loss, share), mul(reading.loss(model, places), 1 - share));
    },
    weightOf: () => 1,
  };
}

/** The mean cross-entropy of the senses of each word. */
export function senseLoss(model: ContextAwareEmbedding, examples: readonly SenseExample[]): Tensor {
  const { runtime, config } = model;
  const { senses = 0, padding = 0 } = config;
  const words = tensor(
    runtime,
    Int32Array.from(examples, ({ word }) => word),
  );
  const rows = examples.map(({ context }) => context);
  const { values, longest } = padRows(rows, padding);
  const contexts = tensor(runtime, values, [rows.length, longest]);
  const { output } = model.forward(words, contexts, { needWeights: false });
  // The senses of other words are out of the question.
  const hidden = new Float32Array(examples.length * senses).fill(-Infinity);
  examples.forEach(({ senses: [first, end] }, row) => {
    hidden.fill(0, row * senses + first, row * senses + end);
  });
  const logits = add(model.senseLogits(output), tensor(runtime, hidden, [examples.length, senses]));
  return crossEntropy(
    logits,
    tensor(
      runtime,
      Int32Array.from(examples, ({ sense }) => sense),
    ),
  );
}

/** Telling words of a text by the words around them. */
class Reading {
  /** All sentences, with REACH times padding between them. */
  readonly ids: Int32Array;
  /** Where the words stand that are asked for. */
  readonly places: readonly number[];
  readonly #blank: number;
  /** By id: ln of its share among the words that are asked for. */
  readonly #logShare: Float64Array;

  constructor({ text, special, blank, config }: DisambiguationData) {
    const { padding = 0, vocab } = config;
    const length = text.reduce((sum, sentence) => sum + sentence.length + REACH, REACH);
    this.ids = new Int32Array(length).fill(padding);
    const counts = new Float64Array(vocab);
    let at = REACH;
    let total = 0;
    for (const sentence of text) {
      this.ids.set(sentence, at);
      at += sentence.length + REACH;
      total += sentence.length;
      for (const id of sentence) counts[id] = (counts[id] as number) + 1;
    }
    const kept = counts.map((count) => Math.min(1, Math.sqrt((FREQUENT * total) / count)));
    const places: number[] = [];
    this.ids.forEach((id, place) => {
      if (id === padding || special.has(id)) return;
      if (mix32(place) / 2 ** 32 < (kept[id] as number)) places.push(place);
    });
    this.places = places;
    this.#blank = blank;
    const asked = new Float64Array(vocab);
    for (const place of places) {
      const id = this.ids[place] as number;
      asked[id] = (asked[id] as number) + 1;
    }
    this.#logShare = asked.map((count) => exactLog(count / places.length));
  }

  /**
   * Cross-entropy of each word among all words of the batch. What is frequent there is frequent
   * among the wrong answers too, so the logarithm of its share is taken off.
   *
   * @source Bengio, Senécal 2008, "Adaptive importance sampling", eq. 9 (sampled softmax)
   */
  loss(model: ContextAwareEmbedding, places: readonly number[]): Tensor {
    const { runtime } = model;
    const { ids } = this;
    const n = places.length;
    const targets = Int32Array.from(places, (place) => ids[place] as number);
    const contexts = new Int32Array(n * 2 * REACH);
    places.forEach((place, row) => {
      contexts.set(ids.subarray(place - REACH, place), row * 2 * REACH);
      contexts.set(ids.subarray(place + 1, place + 1 + REACH), (2 * row + 1) * REACH);
    });
    const { output } = model.forward(
      tensor(runtime, new Int32Array(n).fill(this.#blank)),
      tensor(runtime, contexts, [n, 2 * REACH]),
      { needWeights: false },
    );
    const candidates = model.lookUp(tensor(runtime, targets));
    const logits = matmul(output, candidates, { transposeB: true });
    const offsets = new Float32Array(n * n);
    for (let row = 0; row < n; row++)
      for (let column = 0; column < n; column++) {
        const other = targets[column] as number;
        const twice = other === targets[row] && column !== row;
        offsets[row * n + column] = twice ? -Infinity : -(this.#logShare[other] as number);
      }
    const answers = Int32Array.from({ length: n }, (_, row) => row);
    return crossEntropy(add(logits, tensor(runtime, offsets, [n, n])), tensor(runtime, answers));
  }
}
