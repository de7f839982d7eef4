import { FormatError } from "../errors.js";
import { exactExp } from "../exact-math.js";
import { attentionMap } from "../inspect/attention-map.js";
import { flag, integer, oneOf, readFields } from "../io/fields.js";
import type { ModelFolder } from "../io/model-folder.js";
import { idOf, loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { unpackWeights } from "../io/weights.js";
import { LongRangeDependencyModel } from "../models/long-range-dependency-model.js";
import { withoutInit } from "../nn/init.js";
import { noGrad } from "../ops/tape.js";
import { turn } from "../runtime/event-loop.js";
import type { Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { padRows } from "../train/batches.js";
import { shown } from "./arguments.js";
import { expectShapes, expectVocabulary, withWeights } from "./model-file.js";
import { groupPassages, passagesOf } from "./passages.js";
import type { Reading } from "./reading.js";
import { splitPunctuation } from "./sentences.js";
import { Task } from "./task.js";

/** What config.json of a causal language model holds. */
const FIELDS = {
  task: oneOf("long-range"),
  architecture: oneOf("LongRangeDependencyModel"),
  vocab: integer(1, 1_000_000),
  width: integer(1, 16_384),
  heads: integer(1, 1024),
  positions: integer(2, 100_000),
  causal: flag(),
  padding: integer(0, 999_999),
} as const;

export interface Perplexity {
  /** e^(nats a token). */
  readonly perplexity: number;
  readonly nats: number;
  /** Tokens that were predicted, end tokens included. */
  readonly tokens: number;
}

export interface PerplexityOptions {
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** Groups of passages that are read in one go. */
const GROUPS_AT_ONCE = 4;

/** A causal language model of one attention block, and what it looks at as it reads. */
export class LongRange extends Task<LongRangeDependencyModel> {
  readonly #tokenizer: Tokenizer;
  readonly #padding: number;

  constructor(model: LongRangeDependencyModel, tokenizer: Tokenizer) {
    super("long-range", model);
    this.#tokenizer = tokenizer;
    this.#padding = idOf(tokenizer, "<pad>");
  }

  /**
   * Reads a text in one go.
   *
   * @throws {RangeError} the text has no token, or more than the model has positions
   * @throws the signal's reason
   */
  async read(text: string, options: { readonly signal?: AbortSignal } = {}): Promise<Reading> {
    return this.use(options, async () => {
      options.signal?.throwIfAborted();
      return this.#read(text);
    });
  }

  #read(text: string): Reading {
    expectText(text);
    const { model } = this;
    const { ids, tokens, ...found } = this.#tokenizer.encode(text);
    const most = model.config.positions as number;
    if (ids.length === 0 || ids.length >= most)
      throw new RangeError(
        `long-range: a text must have 1 to ${most - 1} tokens, got ${ids.length}. Give a sentence or two`,
      );
    const surfaces = ids.map(this.#tokenizer.surfaceOf);
    const { words, wordTexts } = splitPunctuation(found, surfaces);
    const row = [idOf(this.#tokenizer, "<s>"), ...ids];
    const queries = [
      "<s>",
      ...surfaces.map((surface, i) => surface.trim() || (tokens[i] as string)),
    ];
    const attention = model.runtime.scope(() =>
      noGrad(model.runtime, () => {
        const input = tensor(model.runtime, row, [1, row.length], "i32");
        return attentionMap(model.withWeights(input).weights, { queries, title: text });
      }),
    );
    return {
      text: { tokens: ["<s>", ...tokens], words: wordTexts, wordOf: [-1, ...words] },
      attention,
    };
  }

  /**
   * How well the model predicts texts: each from its own beginning on.
   *
   * @throws {RangeError} there is no text
   * @throws the signal's reason
   */
  async perplexity(texts: Iterable<string>, options: PerplexityOptions = {}): Promise<Perplexity> {
    return this.use(options, () => this.#perplexity(texts, options));
  }

  async #perplexity(texts: Iterable<string>, options: PerplexityOptions): Promise<Perplexity> {
    expectTexts(texts);
    const { model } = this;
    const { onProgress, signal } = options;
    const rows: number[][] = [];
    for (const text of texts) {
      expectText(text);
      for (const row of passagesOf(text, this.#tokenizer, model.config.positions as number))
        rows.push(row);
      await turn(signal);
    }
    if (rows.length === 0) throw new RangeError("long-range: there must be a text, got none");
    const groups = groupPassages(rows);
    let sum = 0;
    let tokens = 0;
    for (let from = 0; from < groups.length; from += GROUPS_AT_ONCE) {
      await turn(signal);
      const batch = groups.slice(from, from + GROUPS_AT_ONCE).flat();
      const targets = targetsOf(batch);
      sum += targets * this.#loss(batch);
      tokens += targets;
      onProgress?.(Math.min(from + GROUPS_AT_ONCE, groups.length), groups.length);
    }
    const nats = sum / tokens;
    return { perplexity: exactExp(nats), nats, tokens };
  }

  #loss(rows: readonly (readonly number[])[]): number {
    const { runtime } = this.model;
    return runtime.scope(() =>
      noGrad(runtime, () => passageLoss(this.model, rows, this.#padding).item()),
    );
  }
}

function expectText(text: unknown): void {
  if (typeof text !== "string")
    throw new TypeError(`long-range: the text must be a string, got ${typeof text}`);
}

/** A string has characters, not texts. */
function expectTexts(texts: unknown): void {
  if (typeof texts === "string" || !(Symbol.iterator in Object(texts)))
    throw new TypeError(`long-range: texts must be a list of strings, got ${shown(texts)}`);
}

/** The mean loss of every token but the first of each row, from those before it. */
export function passageLoss(
  model: LongRangeDependencyModel,
  rows: readonly (readonly number[])[],
  padding: number,
): Tensor {
  const { values, lengths, longest } = padRows(rows, padding);
  const ids = tensor(model.runtime, values, [rows.length, longest]);
  return model.nextTokenLoss(ids, tensor(model.runtime, lengths), padding);
}

/** Tokens that are predicted. */
export function targetsOf(rows: readonly (readonly number[])[]): number {
  return rows.reduce((sum, row) => sum + row.length - 1, 0);
}

/** The task of a model folder: see loadTask. */
export function loadLongRange(runtime: Runtime, folder: ModelFolder, name: string): LongRange {
  const config = readFields(folder.config, FIELDS, `${name}: config.json`);
  const { vocab, width, heads, positions, padding } = config;
  if (width % heads !== 0 || !config.causal)
    throw new FormatError(
      "CONFIG_FIELD",
      `${name}: config.json: "width" must be a multiple of "heads", and "causal" true, got ${width}, ${heads} and ${config.causal}`,
    );
  const weights = unpackWeights(folder.tensors, `${name}: model.safetensors`);
  const tokenizer = loadTokenizer(folder.tokenizer);
  expectShapes(
    { "embedding.weight": [vocab, width], "position_encoding.pe": [positions, width] },
    weights,
    name,
  );
  expectVocabulary({ vocab }, tokenizer, padding, name);
  return runtime.guarded(() => {
    const model = withoutInit(() => new LongRangeDependencyModel(runtime, config));
    return new LongRange(withWeights(model, weights, name), tokenizer);
  });
}
