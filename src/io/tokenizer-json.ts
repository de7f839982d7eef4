/**
 * What a tokenizer.json may say.
 *
 * The file is a program: components in sequences, regular expressions, tables. It is read into a
 * fresh description that holds known fields only, and of the regular expressions only those listed
 * here, each of which runs in linear time. Where the library that runs it reads a component
 * otherwise than the reference does, the component is replaced by one that both read alike.
 */
import { FormatError } from "../errors.js";
import {
  type Fields,
  type FieldValues,
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  readFields,
  text,
} from "./fields.js";
import { type JsonObject, type JsonValue, parseJson, showJson } from "./strict-json.js";
import { readTokenizerModel, type Vocabulary } from "./tokenizer-model.js";

/** How a piece shows that a word begins or ends with it. */
export type WordMark =
  | { readonly kind: "prefix"; readonly mark: string }
  | { readonly kind: "suffix"; readonly mark: string }
  | { readonly kind: "continued"; readonly mark: string }
  | { readonly kind: "bytes" }
  | { readonly kind: "none" };

export interface TokenizerDescription extends Vocabulary {
  /** For the library's constructor. */
  readonly library: Readonly<Record<string, unknown>>;
  readonly wordMark: WordMark;
}

/** A component as the library takes it. */
type Component = Readonly<Record<string, unknown>> | null;

/**
 * Reads and checks a tokenizer.json.
 *
 * @throws {FormatError} JSON_…; TOKENIZER_FIELD, TOKENIZER_TYPE, TOKENIZER_REGEX,
 *   TOKENIZER_GROWTH, TOKENIZER_VOCAB, TOKENIZER_MERGES
 */
export function readTokenizerJson(bytes: Uint8Array, fileName: string): TokenizerDescription {
  const json = parseJson(bytes, { who: fileName, maxBytes: 2 ** 26 });
  const parts = readFields(json, PARTS, fileName, "TOKENIZER_FIELD");

  const normalizer = new Checker(fileName).normalizer(parts.normalizer, "normalizer");
  const preTokenizer = new Checker(fileName).preTokenizer(parts.pre_tokenizer, "pre_tokenizer");
  const decoder = new Checker(fileName).decoder(parts.decoder, "decoder");
  const { model, addedTokens, ...vocabulary } = readTokenizerModel(
    parts.model,
    parts.added_tokens,
    fileName,
  );
  return {
    ...vocabulary,
    library: {
      normalizer,
      pre_tokenizer: preTokenizer,
      model,
      // The tasks place special tokens, each its own.
      post_processor: null,
      decoder,
      added_tokens: addedTokens,
    },
    wordMark: findWordMark(model, [normalizer, preTokenizer, decoder]),
  };
}

const PARTS = {
  normalizer: nullable(object()),
  pre_tokenizer: nullable(object()),
  decoder: nullable(object()),
  model: object(),
  added_tokens: optional(list(16_384), []),
};

/** Components of one kind: a normalizer, a pre-tokenizer or a decoder. */
const MAX_COMPONENTS = 64;
/** Times longer that a normalizer may make a text. */
const MAX_GROWTH = 8;

const SPACES = ["\\s", "\\s+", " +", " {2,}", "\\s{2,}", "\\n", "\\n+"];
const DIGITS = ["\\d", "\\d+", "[0-9]", "[0-9]+", "\\p{N}", "\\p{N}+", "\\p{N}{1,3}"];
// The patterns of GPT-2, of GPT-4 and Llama 3, and of Qwen 2: every character matches some branch.
const WHOLE_TEXT = [
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
];
const WORDS = "\\w+|[^\\w\\s]+";
const PUNCTUATION = "[\\p{P}!-/:-@\\[-`{-~]";
/** A word with the mark of the space before it, one sign, or a mark alone: heed's own tokenizers. */
const MARKED_WORDS = "▁?[\\p{L}\\p{M}]+(?:['’][\\p{L}\\p{M}]+)*|▁?[^\\p{L}\\p{M}▁]|▁";
const KNOWN_PATTERNS = new Set([...SPACES, ...DIGITS, ...WHOLE_TEXT, WORDS, MARKED_WORDS]);

class Checker {
  readonly #file: string;
  #components = 0;
  #growth = 1;

  constructor(file: string) {
    this.#file = file;
  }

  normalizer(node: JsonObject | null, path: string): Component {
    if (node === null) return null;
    const type = this.#type(node, path);
    switch (type) {
      case "Sequence":
        return { type, normalizers: this.#sequence(node, "normalizers", path, this.normalizer) };
      case "NFC":
      case "NFD":
      case "NFKC":
      case "NFKD":
      case "Lowercase":
      case "StripAccents":
      // Its table is near enough to NFKC that the library takes that.
      case "Precompiled":
        return { type };
      case "Strip":
        return {
          type,
          ...this.#fields(node, path, {
            strip_left: optional(flag(), true),
            strip_right: optional(flag(), true),
          }),
        };
      case "BertNormalizer": {
        this.#grow(3, path);
        const { strip_accents: strip, ...rest } = this.#fields(node, path, {
          clean_text: optional(flag(), true),
          handle_chinese_chars: optional(flag(), true),
          strip_accents: nullable(flag()),
          lowercase: optional(flag(), true),
        });
        return { type, ...rest, strip_accents: strip ?? rest.lowercase };
      }
      case "Prepend":
        return { type, ...this.#fields(node, path, { prepend: text(1, 8) }) };
      case "Replace": {
        const { regex, length } = this.#pattern(node, path);
        const { content } = this.#fields(node, path, { content: text(0, 64) });
        this.#grow(content.length / length, path);
        return { type, pattern: { Regex: regex }, content: literal(content) };
      }
      default:
        return this.#unknown("normalizer", type, path);
    }
  }

  preTokenizer(node: JsonObject | null, path: string): Component {
    if (node === null) return null;
    const type = this.#type(node, path);
    switch (type) {
      case "Sequence":
        return {
          type,
          pretokenizers: this.#sequence(node, "pretokenizers", path, this.preTokenizer),
        };
      case "ByteLevel":
        return {
          type,
          ...this.#fields(node, path, {
            add_prefix_space: optional(flag(), true),
            use_regex: optional(flag(), true),
          }),
        };
      case "Metaspace":
        return this.#metaspace(node, path);
      case "BertPreTokenizer":
        return { type };
      case "Whitespace":
        return keep(WORDS);
      case "WhitespaceSplit":
        return keep("\\S+");
      case "Punctuation": {
        const { behavior } = this.#fields(node, path, {
          behavior: optional(oneOf("Isolated", "Removed", "Contiguous"), "Isolated"),
        });
        return split(behavior === "Contiguous" ? `${PUNCTUATION}+` : PUNCTUATION, behavior);
      }
      case "Digits": {
        const { individual_digits: each } = this.#fields(node, path, {
          individual_digits: optional(flag(), false),
        });
        return split(each ? "\\p{N}" : "\\p{N}+", "Isolated");
      }
      case "CharDelimiterSplit": {
        const { delimiter } = this.#fields(node, path, { delimiter: text(1, 2) });
        return split(escapeRegex(delimiter), "Removed");
      }
      case "Split":
        return this.#split(node, path);
      default:
        return this.#unknown("pre-tokenizer", type, path);
    }
  }

  decoder(node: JsonObject | null, path: string): Component {
    if (node === null) return null;
    const type = this.#type(node, path);
    switch (type) {
      case "Sequence":
        return { type, decoders: this.#sequence(node, "decoders", path, this.decoder) };
      case "ByteLevel":
      case "ByteFallback":
      case "Fuse":
        return { type };
      case "Metaspace":
        return { type, ...this.#fields(node, path, { replacement: optional(text(1, 2), "▁") }) };
      case "WordPiece":
        return {
          type,
          ...this.#fields(node, path, {
            prefix: optional(text(1, 16), "##"),
            cleanup: optional(flag(), true),
          }),
        };
      case "BPEDecoder":
        return { type, ...this.#fields(node, path, { suffix: optional(text(1, 16), "</w>") }) };
      case "Strip":
        return {
          type,
          ...this.#fields(node, path, {
            content: text(1, 2),
            start: integer(0, 16),
            stop: integer(0, 16),
          }),
        };
      case "Replace": {
        const { regex, length } = this.#pattern(node, path);
        const { content } = this.#fields(node, path, { content: text(0, 64) });
        this.#grow(content.length / length, path);
        return { type, pattern: { Regex: regex }, content: literal(content) };
      }
      default:
        return this.#unknown("decoder", type, path);
    }
  }

  #metaspace(node: JsonObject, path: string): Component {
    const { replacement, split, add_prefix_space, prepend_scheme } = this.#fields(node, path, {
      replacement: optional(text(1, 1), "▁"),
      split: optional(flag(), true),
      // Older files have this instead of prepend_scheme.
      add_prefix_space: optional(flag(), true),
      prepend_scheme: nullable(oneOf("always", "first", "never")),
    });
    const scheme = prepend_scheme ?? (add_prefix_space ? "always" : "never");
    const marked = { type: "Metaspace", replacement, prepend_scheme: scheme };
    if (!split) return marked;
    // The library does not split at the mark, and would look up whole texts instead of words.
    const mark = escapeRegex(replacement);
    const words = keep(`${mark}[^${mark}]*|[^${mark}]+`);
    return { type: "Sequence", pretokenizers: [marked, words] };
  }

  #split(node: JsonObject, path: string): Component {
    const { regex } = this.#pattern(node, path);
    const { behavior, invert } = this.#fields(node, path, {
      behavior: oneOf("Isolated", "Removed"),
      invert: optional(flag(), false),
    });
    if (!invert) return split(regex, behavior);
    // With "Isolated" the parts between the matches stay too, so there must be none.
    if (behavior === "Removed" || WHOLE_TEXT.includes(regex)) return keep(regex);
    throw new FormatError(
      "TOKENIZER_FIELD",
      `${this.#file}: ${path} must be Removed when it is inverted, got "Isolated"`,
    );
  }

  /** A pattern as a regular expression for the library, and the least length of its matches. */
  #pattern(node: JsonObject, path: string): { regex: string; length: number } {
    const { pattern } = this.#fields(node, path, { pattern: object() });
    const where = `${path}.pattern`;
    const { String: string, Regex: regex } = this.#fields(pattern, where, {
      String: optional(text(1, 64), ""),
      Regex: optional(text(1, 512), ""),
    });
    if (string !== "" && regex === "") return { regex: escapeRegex(string), length: string.length };
    if (string === "" && KNOWN_PATTERNS.has(regex)) return { regex, length: 1 };
    throw new FormatError(
      "TOKENIZER_REGEX",
      `${this.#file}: ${where} must be a String or one of the known regular expressions, got ${showJson(regex)}`,
    );
  }

  #sequence(
    node: JsonObject,
    key: string,
    path: string,
    check: (node: JsonObject | null, path: string) => Component,
  ): Component[] {
    const { [key]: items } = this.#fields(node, path, { [key]: list(MAX_COMPONENTS) });
    return (items ?? []).map((item: JsonValue, i) => {
      const where = `${path}.${key}.${i}`;
      if (!(item instanceof Map)) return this.#unknown("component", showJson(item), where);
      return check.call(this, item, where);
    });
  }

  #type(node: JsonObject, path: string): string {
    if (++this.#components > MAX_COMPONENTS)
      throw new FormatError(
        "TOKENIZER_FIELD",
        `${this.#file}: ${path} must lie among at most ${MAX_COMPONENTS} components, got more`,
      );
    return this.#fields(node, path, { type: text(1, 64) }).type;
  }

  #grow(factor: number, path: string): void {
    if (factor > 1) this.#growth *= factor;
    if (this.#growth > MAX_GROWTH)
      throw new FormatError(
        "TOKENIZER_GROWTH",
        `${this.#file}: ${path} must leave a text at most ${MAX_GROWTH} times longer, got ${this.#growth} times`,
      );
  }

  #fields<F extends Fields>(node: JsonObject, path: string, fields: F): FieldValues<F> {
    return readFields(node, fields, `${this.#file}: ${path}`, "TOKENIZER_FIELD");
  }

  #unknown(kind: string, type: string, path: string): never {
    throw new FormatError(
      "TOKENIZER_TYPE",
      `${this.#file}: ${path} must be a ${kind} that heed knows, got ${showJson(type)}`,
    );
  }
}

/** Cuts around the matches of a regular expression. */
function split(regex: string, behavior: "Isolated" | "Removed" | "Contiguous"): Component {
  return { type: "Split", pattern: { Regex: regex }, behavior, invert: false };
}

/** Keeps the matches of a regular expression and drops what lies between. */
function keep(regex: string): Component {
  return { type: "Split", pattern: { Regex: regex }, behavior: "Removed", invert: true };
}

function escapeRegex(string: string): string {
  return string.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The library replaces as JavaScript does, where "$" begins an expression. */
function literal(content: string): string {
  return content.replaceAll("$", "$$$$");
}

/** From the model, or from what the other components do to white space. */
function findWordMark(model: Readonly<Record<string, unknown>>, parts: Component[]): WordMark {
  if (model.type === "WordPiece")
    return { kind: "continued", mark: String(model.continuing_subword_prefix) };
  if (model.end_of_word_suffix) return { kind: "suffix", mark: String(model.end_of_word_suffix) };
  const flat = parts.flatMap(flatten);
  if (flat.some((part) => part.type === "ByteLevel")) return { kind: "bytes" };
  const metaspace = flat.find((part) => part.type === "Metaspace");
  if (metaspace) return { kind: "prefix", mark: String(metaspace.replacement) };
  // Llama's way: a normalizer writes the mark for each space.
  const marks = flat.some((part) => part.type === "Replace" && part.content === "▁");
  return marks ? { kind: "prefix", mark: "▁" } : { kind: "none" };
}

function flatten(part: Component): Readonly<Record<string, unknown>>[] {
  if (part === null) return [];
  const inner = part.normalizers ?? part.pretokenizers ?? part.decoders;
  return Array.isArray(inner) ? inner.flatMap(flatten) : [part];
}
