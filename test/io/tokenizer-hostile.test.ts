import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { FormatError } from "../../src/errors.js";
import { loadTokenizer, type Tokenizer } from "../../src/io/tokenizer.js";
import { seeded } from "../support/random.js";
import { cpuTime } from "./cpu-time.js";
import { formatError } from "./format-error.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const VOCAB = { "<unk>": 0, a: 1, b: 2, ab: 3, "▁": 4, "▁a": 5 };
const BPE = { type: "BPE", unk_token: "<unk>", vocab: VOCAB, merges: ["▁ a", ["a", "b"]] };
const WORDPIECE = { type: "WordPiece", unk_token: "<unk>", vocab: VOCAB };
const UNIGRAM = { type: "Unigram", unk_id: 0, vocab: Object.keys(VOCAB).map((t, i) => [t, -i]) };
const METASPACE = { type: "Metaspace", replacement: "▁", prepend_scheme: "always" };

const make = (parts: Record<string, unknown>): Tokenizer =>
  loadTokenizer(utf8(JSON.stringify({ model: BPE, ...parts })));
const regex = (Regex: string) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated" });
const replace = (from: unknown, content: unknown) => ({
  type: "Replace",
  pattern: { String: from },
  content,
});
const added = (...tokens: Record<string, unknown>[]) => ({ added_tokens: tokens });

const HOSTILE: [name: string, code: string, parts: Record<string, unknown>][] = [
  ["no model", "TOKENIZER_FIELD", { model: undefined }],
  ["a model that is null", "TOKENIZER_FIELD", { model: null }],
  ["a model of no type", "TOKENIZER_TYPE", { model: { vocab: VOCAB } }],
  ["a model of another type", "TOKENIZER_TYPE", { model: { ...BPE, type: "WordLevel" } }],
  ["a model of type __proto__", "TOKENIZER_TYPE", { model: { ...BPE, type: "__proto__" } }],
  ["no vocabulary", "TOKENIZER_FIELD", { model: { ...BPE, vocab: undefined } }],
  ["an array for a vocabulary", "TOKENIZER_FIELD", { model: { ...BPE, vocab: [] } }],
  ["an empty vocabulary", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: {} } }],
  ["an id of −1", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: { ...VOCAB, c: -1 } } }],
  ["an id of 1.5", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: { ...VOCAB, c: 1.5 } } }],
  ["an id of 10^6", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: { ...VOCAB, c: 1e6 } } }],
  ["an id of 2^53", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: { ...VOCAB, c: 2 ** 53 } } }],
  ["an id that is text", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: { ...VOCAB, c: "6" } } }],
  ["an id given twice", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: { ...VOCAB, c: 5 } } }],
  ["a hole between the ids", "TOKENIZER_VOCAB", { model: { ...BPE, vocab: { ...VOCAB, c: 7 } } }],
  [
    "a token of 513 characters",
    "TOKENIZER_VOCAB",
    {
      model: { ...BPE, vocab: { ...VOCAB, ["c".repeat(513)]: 6 } },
    },
  ],
  ["an unknown token that is not there", "TOKENIZER_VOCAB", { model: { ...BPE, unk_token: "?" } }],
  ["an unknown token that is a number", "TOKENIZER_FIELD", { model: { ...BPE, unk_token: 0 } }],
  ["dropout", "TOKENIZER_FIELD", { model: { ...BPE, dropout: 0.1 } }],
  [
    "a prefix of continued pieces",
    "TOKENIZER_FIELD",
    {
      model: { ...BPE, continuing_subword_prefix: "##" },
    },
  ],
  ["no merges", "TOKENIZER_FIELD", { model: { ...BPE, merges: undefined } }],
  ["a merge of one token", "TOKENIZER_MERGES", { model: { ...BPE, merges: [["a"]] } }],
  ["a merge of three tokens", "TOKENIZER_MERGES", { model: { ...BPE, merges: ["a b a"] } }],
  ["a merge of numbers", "TOKENIZER_MERGES", { model: { ...BPE, merges: [[1, 2]] } }],
  ["a merge that is null", "TOKENIZER_MERGES", { model: { ...BPE, merges: [null] } }],
  [
    "a merge of a token that is not there",
    "TOKENIZER_MERGES",
    {
      model: { ...BPE, merges: [["a", "z"]] },
    },
  ],
  [
    "a merge into a token that is not there",
    "TOKENIZER_MERGES",
    {
      model: { ...BPE, merges: [["b", "a"]] },
    },
  ],
  [
    "WordPiece without its unknown token",
    "TOKENIZER_VOCAB",
    {
      model: { ...WORDPIECE, unk_token: undefined },
    },
  ],
  [
    "WordPiece with words of 10^9 characters",
    "TOKENIZER_FIELD",
    {
      model: { ...WORDPIECE, max_input_chars_per_word: 1e9 },
    },
  ],
  ["Unigram without an unknown id", "TOKENIZER_FIELD", { model: { ...UNIGRAM, unk_id: null } }],
  ["Unigram with an unknown id outside", "TOKENIZER_FIELD", { model: { ...UNIGRAM, unk_id: 6 } }],
  [
    "Unigram with a score that is text",
    "TOKENIZER_VOCAB",
    {
      model: { ...UNIGRAM, vocab: [["a", "-1"]] },
    },
  ],
  [
    "Unigram with a piece given twice",
    "TOKENIZER_VOCAB",
    {
      model: {
        ...UNIGRAM,
        vocab: [
          ["a", -1],
          ["a", -2],
        ],
      },
    },
  ],
  [
    "Unigram with an object for a vocabulary",
    "TOKENIZER_FIELD",
    { model: { ...UNIGRAM, vocab: VOCAB } },
  ],

  ["an added token without an id", "TOKENIZER_FIELD", added({ content: "c" })],
  ["an added token with an id that is taken", "TOKENIZER_VOCAB", added({ id: 1, content: "c" })],
  ["an added token with two ids", "TOKENIZER_VOCAB", added({ id: 6, content: "a" })],
  ["an added token with an id of 10^9", "TOKENIZER_FIELD", added({ id: 1e9, content: "c" })],
  ["an added token without text", "TOKENIZER_FIELD", added({ id: 6, content: "" })],
  [
    "an added token of 129 characters",
    "TOKENIZER_FIELD",
    added({ id: 6, content: "c".repeat(129) }),
  ],
  [
    "an added token given twice",
    "TOKENIZER_VOCAB",
    added({ id: 6, content: "c" }, { id: 6, content: "c" }),
  ],
  [
    "an added token for whole words",
    "TOKENIZER_FIELD",
    added({ id: 6, content: "c", single_word: true }),
  ],
  ["an added token that is a number", "TOKENIZER_FIELD", { added_tokens: [1] }],
  ["added tokens that are an object", "TOKENIZER_FIELD", { added_tokens: {} }],
  ["20,000 added tokens", "TOKENIZER_FIELD", { added_tokens: Array(20_000).fill(1) }],

  ["a normalizer of no type", "TOKENIZER_FIELD", { normalizer: {} }],
  ["a normalizer of another type", "TOKENIZER_TYPE", { normalizer: { type: "Nmt" } }],
  ["a normalizer of type constructor", "TOKENIZER_TYPE", { normalizer: { type: "constructor" } }],
  ["a normalizer that is text", "TOKENIZER_FIELD", { normalizer: "NFC" }],
  ["a sequence without its list", "TOKENIZER_FIELD", { normalizer: { type: "Sequence" } }],
  [
    "a sequence of text",
    "TOKENIZER_TYPE",
    { normalizer: { type: "Sequence", normalizers: ["NFC"] } },
  ],
  [
    "a sequence of null",
    "TOKENIZER_TYPE",
    { normalizer: { type: "Sequence", normalizers: [null] } },
  ],
  [
    "a sequence of 65",
    "TOKENIZER_FIELD",
    {
      normalizer: { type: "Sequence", normalizers: Array(65).fill({ type: "NFC" }) },
    },
  ],
  [
    "64 sequences of 64",
    "TOKENIZER_FIELD",
    {
      normalizer: {
        type: "Sequence",
        normalizers: Array(64).fill({
          type: "Sequence",
          normalizers: Array(64).fill({ type: "NFC" }),
        }),
      },
    },
  ],
  [
    "twenty replacements of a by aa",
    "TOKENIZER_GROWTH",
    {
      normalizer: { type: "Sequence", normalizers: Array(20).fill(replace("a", "aa")) },
    },
  ],
  [
    "a replacement of one letter by 64",
    "TOKENIZER_GROWTH",
    { normalizer: replace("a", "x".repeat(64)) },
  ],
  [
    "a replacement by 10^6 letters",
    "TOKENIZER_FIELD",
    { normalizer: replace("a", "x".repeat(1e6)) },
  ],
  ["a replacement of nothing", "TOKENIZER_FIELD", { normalizer: replace("", "x") }],
  [
    "a replacement without a pattern",
    "TOKENIZER_FIELD",
    { normalizer: { type: "Replace", content: "" } },
  ],
  ["a replacement of a number", "TOKENIZER_FIELD", { normalizer: replace(1, "") }],
  [
    "a replacement of an unknown expression",
    "TOKENIZER_REGEX",
    {
      normalizer: { type: "Replace", pattern: { Regex: "(a+)+$" }, content: "" },
    },
  ],
  [
    "a long text before each",
    "TOKENIZER_FIELD",
    { normalizer: { type: "Prepend", prepend: "x".repeat(1e5) } },
  ],
  [
    "growth in a decoder",
    "TOKENIZER_GROWTH",
    {
      decoder: { type: "Sequence", decoders: Array(4).fill(replace("a", "aaaa")) },
    },
  ],

  ["(a+)+$", "TOKENIZER_REGEX", { pre_tokenizer: regex("(a+)+$") }],
  ["(a|a)*b", "TOKENIZER_REGEX", { pre_tokenizer: regex("(a|a)*b") }],
  ["(.*)*x", "TOKENIZER_REGEX", { pre_tokenizer: regex("(.*)*x") }],
  ["a backward reference", "TOKENIZER_REGEX", { pre_tokenizer: regex("(a)\\1") }],
  ["an expression that does not compile", "TOKENIZER_REGEX", { pre_tokenizer: regex("(") }],
  [
    "an expression of 10^5 characters",
    "TOKENIZER_FIELD",
    { pre_tokenizer: regex("a".repeat(1e5)) },
  ],
  ["the expression __proto__", "TOKENIZER_REGEX", { pre_tokenizer: regex("__proto__") }],
  [
    "two patterns",
    "TOKENIZER_REGEX",
    {
      pre_tokenizer: {
        type: "Split",
        pattern: { String: "a", Regex: "\\s+" },
        behavior: "Removed",
      },
    },
  ],
  [
    "a split that merges",
    "TOKENIZER_FIELD",
    {
      pre_tokenizer: { type: "Split", pattern: { String: "a" }, behavior: "MergedWithPrevious" },
    },
  ],
  [
    "a split inverted and isolated",
    "TOKENIZER_FIELD",
    {
      pre_tokenizer: {
        type: "Split",
        pattern: { String: "a" },
        behavior: "Isolated",
        invert: true,
      },
    },
  ],
  ["pieces of length 0", "TOKENIZER_TYPE", { pre_tokenizer: { type: "FixedLength", length: 0 } }],
  [
    "a mark of two characters",
    "TOKENIZER_FIELD",
    { pre_tokenizer: { ...METASPACE, replacement: "$`" } },
  ],
  [
    "a mark of no character",
    "TOKENIZER_FIELD",
    { pre_tokenizer: { ...METASPACE, replacement: "" } },
  ],
  [
    "an unknown scheme of marks",
    "TOKENIZER_FIELD",
    { pre_tokenizer: { ...METASPACE, prepend_scheme: "x" } },
  ],
  [
    "a decoder without a suffix",
    "TOKENIZER_FIELD",
    { decoder: { type: "BPEDecoder", suffix: "" } },
  ],
  [
    "a decoder that strips 10^9 times",
    "TOKENIZER_FIELD",
    {
      decoder: { type: "Strip", content: " ", start: 1e9, stop: 0 },
    },
  ],
  ["an unknown decoder", "TOKENIZER_TYPE", { decoder: { type: "CTC" } }],
];

describe("loadTokenizer()", () => {
  test("takes the parts that the hostile files are made of", () => {
    for (const model of [BPE, WORDPIECE, UNIGRAM])
      expect(make({ model, pre_tokenizer: METASPACE }).vocabSize).toBe(6);
    expect(make({ pre_tokenizer: METASPACE }).encode("ab a").tokens).toEqual(["▁a", "b", "▁a"]);
  });

  test.each(HOSTILE)("refuses %s with %s", (_, code, parts) => {
    const error = formatError(() => make(parts));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^tokenizer\.json: .+, got /);
    expect(error.message.length).toBeLessThan(500);
  });

  test.each<[name: string, code: string, bytes: Uint8Array]>([
    ["no bytes", "JSON_SYNTAX", utf8("")],
    ["text", "TOKENIZER_FIELD", utf8('"x"')],
    ["an array", "TOKENIZER_FIELD", utf8("[]")],
    ["a byte order mark", "JSON_SYNTAX", utf8('\ufeff{"model":{}}')],
    ["bytes that are not UTF-8", "JSON_UTF8", Uint8Array.of(0x7b, 0xff)],
    ["a token given twice", "JSON_DUPLICATE", utf8('{"model":{"vocab":{"a":0,"\\u0061":1}}}')],
    ["a sequence nested 20,000 deep", "JSON_DEPTH", utf8('{"pre_tokenizer":'.repeat(20_000))],
    ["65 MiB", "JSON_SIZE", new Uint8Array(65 * 2 ** 20)],
  ])("refuses %s with %s", (_, code, bytes) => {
    expect(formatError(() => loadTokenizer(bytes)).code).toBe(code);
  });

  test("takes __proto__ and constructor for tokens like any other", () => {
    const vocab = `{"<unk>":0,"__proto__":1,"constructor":2,"_":3,"__":4}`;
    const json = `{"model":{"type":"BPE","unk_token":"<unk>","merges":["_ _"],"vocab":${vocab}}}`;
    const tokenizer = loadTokenizer(utf8(json));
    expect(tokenizer.idOf("__proto__")).toBe(1);
    expect(tokenizer.ids("___")).toEqual([4, 3]);
    expect(tokenizer.decode([1, 2])).toBe("__proto__ constructor");
    expect(Object.keys(Object.prototype)).toEqual([]);
    const words = make({
      model: { ...WORDPIECE, vocab: { ...VOCAB, constructor: 6 } },
      pre_tokenizer: { type: "BertPreTokenizer" },
    });
    expect(words.ids("constructor toString")).toEqual([6, 0]);
  });

  test("makes no special token out of text, whatever the model", () => {
    const vocab = { ...VOCAB, "</s>": 6 };
    const special = added({ id: 6, content: "</s>", special: true });
    const models = [
      { ...BPE, vocab, ignore_merges: true },
      { ...WORDPIECE, vocab },
      { ...UNIGRAM, vocab: [...UNIGRAM.vocab, ["</s>", 0]] },
    ];
    for (const model of models) {
      const tokenizer = make({ model, ...special, pre_tokenizer: { type: "WhitespaceSplit" } });
      expect(tokenizer.ids("a </s> </s>")).not.toContain(6);
      expect(tokenizer.idOf("</s>")).toBe(6);
      expect(tokenizer.decode([1, 6])).toBe("a");
    }
  });

  test("replaces by the letters it is given, of which $ is one", () => {
    const tokenizer = make({
      normalizer: replace("b", "$`$&"),
      model: { ...BPE, vocab: { ...VOCAB, $: 6, "`": 7, "&": 8 } },
    });
    expect(tokenizer.encode("ab").tokens.join("")).toBe("a$`$&");
  });

  test("finds added tokens that are text, in words too", () => {
    const tokenizer = make({ ...added({ id: 6, content: "ba" }), pre_tokenizer: METASPACE });
    expect(tokenizer.encode("aba").tokens).toEqual(["▁a", "ba"]);
  });

  test("reads files of the first tokenizers: no type, empty texts, marks by add_prefix_space", () => {
    const { type, ...model } = BPE;
    const old = { ...model, unk_token: "", continuing_subword_prefix: "", end_of_word_suffix: "" };
    const scheme = (add_prefix_space: boolean) =>
      make({
        model: old,
        pre_tokenizer: { type: "Metaspace", replacement: "▁", add_prefix_space },
      });
    expect(scheme(false).ids("ab")).toEqual([3]);
    expect(scheme(true).ids("ab")).toEqual([5, 2]);
    expect(scheme(false).ids("☃")).toEqual([]);
  });

  test("gives a tokenizer or a FormatError for changed bytes of a real file", () => {
    const whole = readFileSync(new URL("../fixtures/io/wordpiece.tokenizer.json", import.meta.url));
    const random = seeded(Number(process.env.SEED ?? 4));
    const letters = '{}[]:,"\\0918-.eE tfn\u0000ÿ';
    let taken = 0;
    for (let round = 0; round < 1500; round++) {
      const bytes = new Uint8Array(whole);
      for (let n = 1 + random.integer(3); n > 0; n--)
        bytes[random.integer(bytes.length)] = letters.charCodeAt(random.integer(letters.length));
      try {
        const tokenizer = loadTokenizer(bytes);
        for (const id of tokenizer.encode("The black cat's ☃").ids) tokenizer.tokenOf(id);
        taken++;
      } catch (error) {
        if (!(error instanceof FormatError))
          throw new Error(`seed ${random.seed}, round ${round}`, { cause: error });
      }
    }
    expect(taken).toBeGreaterThan(0);
  });

  test("refuses every prefix of a file", () => {
    const whole = readFileSync(new URL("../fixtures/io/wordpiece.tokenizer.json", import.meta.url));
    for (let end = 0; end < whole.length; end += 7)
      formatError(() => loadTokenizer(whole.subarray(0, end)));
  });

  test("reads 100,000 tokens and as many merges in linear time", () => {
    const vocab: Record<string, number> = { "<unk>": 0 };
    const merges: string[] = [];
    const letters = Array.from({ length: 320 }, (_, i) => String.fromCodePoint(0x4e00 + i));
    for (const letter of letters) vocab[letter] = Object.keys(vocab).length;
    let next = letters.length + 1;
    for (const left of letters)
      for (const right of letters) {
        vocab[left + right] = next++;
        merges.push(`${left} ${right}`);
      }
    const bytes = utf8(JSON.stringify({ model: { ...BPE, vocab, merges } }));
    // About 5 µs a token with its merge; comparing each with each would take minutes.
    expect(cpuTime(() => loadTokenizer(bytes))).toBeLessThan(5000);
  });
});
