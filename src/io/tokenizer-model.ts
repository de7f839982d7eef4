import { FormatError } from "../errors.js";
import {
  type Fields,
  flag,
  integer,
  list,
  nullable,
  object,
  optional,
  readFields,
  text,
} from "./fields.js";
import { quote } from "./quote.js";
import { type JsonObject, JsonReal, type JsonValue, showJson } from "./strict-json.js";

/** The tokens of a tokenizer: ids are 0 … tokens.length − 1. */
export interface Vocabulary {
  /** By id. */
  readonly tokens: readonly string[];
  readonly ids: ReadonlyMap<string, number>;
  /** Tokens that stand for no text. */
  readonly special: ReadonlySet<number>;
}

export interface TokenizerModel extends Vocabulary {
  /** For the library: a model that cannot make a special token out of text. */
  readonly model: Readonly<Record<string, unknown>>;
  /** For the library: the added tokens that are text. */
  readonly addedTokens: readonly Readonly<Record<string, unknown>>[];
}

const MAX_TOKENS = 1_000_000;
const MAX_MERGES = 2_000_000;
/** UTF-16 units of one token. */
const MAX_LENGTH = 512;
/** UTF-16 units of an added token: the library tries each at every place of a text. */
const MAX_ADDED_LENGTH = 128;

/**
 * Reads the model of a tokenizer.json and the tokens added to it.
 *
 * @throws {FormatError} TOKENIZER_TYPE, TOKENIZER_FIELD, TOKENIZER_VOCAB, TOKENIZER_MERGES
 */
export function readTokenizerModel(
  json: JsonObject,
  addedTokens: readonly JsonValue[],
  file: string,
): TokenizerModel {
  const fail = (code: string, what: string, got: string): never => {
    throw new FormatError(code, `${file}: ${what}, got ${got}`);
  };
  const fields = <F extends Fields>(fields: F) =>
    readFields(json, fields, `${file}: model`, "TOKENIZER_FIELD");
  const type = modelType(json, file);

  // 1. the vocabulary, and what was added to it
  const ids = new Map<string, number>();
  const scores = type === "Unigram" ? readScores(json, ids, file) : undefined;
  if (!scores) readIds(json, ids, file);
  const modelTokens = ids.size;
  const special = new Set<number>();
  const added = new Set<string>();
  const texts: Record<string, unknown>[] = [];
  for (const [i, item] of addedTokens.entries()) {
    const { content, id, ...flags } = readAdded(item, `${file}: added_tokens.${i}`);
    const known = ids.get(content);
    if (known !== undefined && known !== id)
      fail(
        "TOKENIZER_VOCAB",
        `added token ${quote(content)} must have one id`,
        `${known} and ${id}`,
      );
    if (added.has(content)) fail("TOKENIZER_VOCAB", "added tokens must stand once", quote(content));
    added.add(content);
    ids.set(content, id);
    if (flags.special) special.add(id);
    else texts.push({ content, id, ...flags });
  }
  const tokens = byId(ids, file);

  // 2. the model, without the special tokens
  const isText = (token: string, unknown: unknown): boolean =>
    token === unknown || !special.has(ids.get(token) ?? -1);
  const table = (unknown: unknown): Record<string, number> => {
    const entries: Record<string, number> = Object.create(null);
    let left = modelTokens;
    for (const [token, id] of ids) {
      if (left-- === 0) break;
      if (isText(token, unknown)) entries[token] = id;
    }
    return entries;
  };
  const knownToken = (unknown: string): string =>
    ids.has(unknown)
      ? unknown
      : fail("TOKENIZER_VOCAB", "unk_token must be in the vocabulary", quote(unknown));
  const common = { tokens, ids, special, addedTokens: texts };

  if (scores) {
    const { unk_id: unknown } = fields({ unk_id: integer(0, scores.length - 1) });
    // An empty token is never found in a text.
    const vocab = scores.map(([token, score], id) => [
      id === unknown || !special.has(id) ? token : "",
      score,
    ]);
    return { ...common, model: { type, unk_id: unknown, vocab } };
  }
  if (type === "WordPiece") {
    const read = fields({
      unk_token: optional(text(1, MAX_LENGTH), "[UNK]"),
      continuing_subword_prefix: optional(text(1, 16), "##"),
      // The library looks at every part of a word, so time grows with the square of this.
      max_input_chars_per_word: optional(integer(1, 200), 100),
    });
    return { ...common, model: { type, ...read, vocab: table(knownToken(read.unk_token)) } };
  }
  const { dropout, unk_token, continuing_subword_prefix, end_of_word_suffix, ...flags } = fields({
    dropout: nullable(integer(0, 0)),
    unk_token: nullable(text(0, MAX_LENGTH)),
    continuing_subword_prefix: nullable(text(0, 0)),
    end_of_word_suffix: nullable(text(0, 16)),
    fuse_unk: optional(flag(), false),
    byte_fallback: optional(flag(), false),
    ignore_merges: optional(flag(), false),
  });
  const unknown = unk_token ? knownToken(unk_token) : null;
  const suffix = end_of_word_suffix ? { end_of_word_suffix } : {};
  const merges = readMerges(json, ids, file);
  return {
    ...common,
    model: { type, unk_token: unknown, ...suffix, ...flags, vocab: table(unknown), merges },
  };
}

function modelType(json: JsonObject, file: string): "BPE" | "WordPiece" | "Unigram" {
  // Files of the first tokenizers, GPT-2's among them, leave the type of a BPE out.
  const type = json.get("type") ?? (json.has("merges") ? "BPE" : undefined);
  if (type === "BPE" || type === "WordPiece" || type === "Unigram") return type;
  throw new FormatError(
    "TOKENIZER_TYPE",
    `${file}: the model must be BPE, WordPiece or Unigram, got ${showJson(type)}`,
  );
}

function readIds(json: JsonObject, ids: Map<string, number>, file: string): void {
  const { vocab } = readFields(json, { vocab: object() }, `${file}: model`, "TOKENIZER_FIELD");
  expectTokens(vocab.size, file);
  for (const [token, id] of vocab) {
    if (typeof id !== "number" || id < 0 || id >= MAX_TOKENS || token.length > MAX_LENGTH)
      throw badToken(token, id, file);
    ids.set(token, id);
  }
}

/** Pieces and their log-probabilities; ids are their places. */
function readScores(
  json: JsonObject,
  ids: Map<string, number>,
  file: string,
): (readonly [string, number])[] {
  const { vocab } = readFields(
    json,
    { vocab: list(MAX_TOKENS) },
    `${file}: model`,
    "TOKENIZER_FIELD",
  );
  expectTokens(vocab.length, file);
  return vocab.map((item, id) => {
    const [token, score] = Array.isArray(item) && item.length === 2 ? item : [];
    const value = score instanceof JsonReal ? score.value : score;
    if (typeof token !== "string" || token.length > MAX_LENGTH || typeof value !== "number")
      throw badToken(showJson(token), id, file);
    if (ids.has(token) || !Number.isFinite(value)) throw badToken(token, score ?? null, file);
    ids.set(token, id);
    return [token, value] as const;
  });
}

function readAdded(item: JsonValue, who: string) {
  const { single_word, ...added } = readFields(
    item,
    {
      id: integer(0, MAX_TOKENS - 1),
      content: text(1, MAX_ADDED_LENGTH),
      single_word: optional(flag(), false),
      lstrip: optional(flag(), false),
      rstrip: optional(flag(), false),
      normalized: optional(flag(), true),
      special: optional(flag(), false),
    },
    who,
    "TOKENIZER_FIELD",
  );
  // The library would find it inside words too.
  if (single_word && !added.special)
    throw new FormatError("TOKENIZER_FIELD", `${who}: "single_word" must be false, got true`);
  return added;
}

/** Tokens in the order of their ids, which must be 0, 1, 2 … */
function byId(ids: ReadonlyMap<string, number>, file: string): string[] {
  expectTokens(ids.size, file);
  const tokens = new Array<string | undefined>(ids.size).fill(undefined);
  for (const [token, id] of ids) {
    if (id >= tokens.length || tokens[id] !== undefined)
      throw new FormatError(
        "TOKENIZER_VOCAB",
        `${file}: the ids of ${ids.size} tokens must be 0 to ${ids.size - 1}, each once, got ${id} for ${quote(token)}`,
      );
    tokens[id] = token;
  }
  // As many ids as places, each once.
  return tokens as string[];
}

function readMerges(
  json: JsonObject,
  ids: ReadonlyMap<string, number>,
  file: string,
): [string, string][] {
  const { merges } = readFields(
    json,
    { merges: list(MAX_MERGES) },
    `${file}: model`,
    "TOKENIZER_FIELD",
  );
  return merges.map((merge, i) => {
    // "a b" in older files, ["a", "b"] in newer ones.
    const [left, right, ...rest] = typeof merge === "string" ? merge.split(" ") : asArray(merge);
    if (
      typeof left === "string" &&
      typeof right === "string" &&
      rest.length === 0 &&
      ids.has(left) &&
      ids.has(right) &&
      ids.has(left + right)
    )
      return [left, right];
    throw new FormatError(
      "TOKENIZER_MERGES",
      `${file}: merge ${i} must join two tokens into a third, all in the vocabulary, got ${showJson(left)} and ${showJson(right)}`,
    );
  });
}

function asArray(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function expectTokens(count: number, file: string): void {
  if (count === 0 || count > MAX_TOKENS)
    throw new FormatError(
      "TOKENIZER_VOCAB",
      `${file}: the vocabulary must have 1 to ${MAX_TOKENS} tokens, got ${count}`,
    );
}

function badToken(token: string, value: JsonValue, file: string): FormatError {
  return new FormatError(
    "TOKENIZER_VOCAB",
    `${file}: token ${quote(token)} must stand once, with an id below ${MAX_TOKENS} or a finite score, and at most ${MAX_LENGTH} characters, got ${showJson(value)}`,
  );
}
