import { serializeSafetensors } from "../../src/io/safetensors.js";
import { packWeights } from "../../src/io/weights.js";

/** Words of the small model with their embeddings: the first axis is money, the second is water. */
const WORDS: Readonly<Record<string, readonly [number, number]>> = {
  "<pad>": [9, 9],
  "<unk>": [9, 9],
  bank: [1, 1],
  money: [2, 0],
  loan: [1, 0],
  river: [0, 2],
  water: [0, 1],
  the: [0, 0],
  tip: [1, 1],
  "##s": [0, 0],
};

export const SENSE_CONFIG = {
  task: "disambiguate",
  architecture: "ContextAwareEmbedding",
  vocab: Object.keys(WORDS).length,
  embedding: 2,
  context: 2,
  project: false,
  padding: 0,
  temperature: 0.5,
  window: 4,
  words: [
    {
      word: "bank",
      forms: ["bank", "banks"],
      senses: [
        { name: "money", examples: ["The bank gave a loan.", "Money, the banks say, is money."] },
        { name: "river", examples: ["The bank of the river.", "Water over the banks!"] },
      ],
    },
    {
      word: "tip",
      forms: ["tip", "tips"],
      senses: [
        { name: "money", examples: ["The tip was money."] },
        { name: "end", examples: [] },
      ],
    },
  ],
} as const;

/** A model whose every number is known: two senses of "bank" and of "tip", in two dimensions. */
export function senseModel(config: object = SENSE_CONFIG): Record<string, Uint8Array> {
  const identity = { shape: [2, 2], values: Float32Array.of(1, 0, 0, 1) };
  const nought = { shape: [2], values: new Float32Array(2) };
  const weights = new Map([
    [
      "word_embeddings.weight",
      {
        shape: [Object.keys(WORDS).length, 2],
        values: Float32Array.from(Object.values(WORDS).flat()),
      },
    ],
    ["context_attention.weight", identity],
    ["context_attention.bias", nought],
    ["output_layer.weight", identity],
    ["output_layer.bias", nought],
    // bank: money and river; tip: money and what money is not
    ["sense_prototypes", { shape: [4, 2], values: Float32Array.of(3, 0, 0, 3, 1, 0, -1, 0) }],
  ]);
  const utf8 = (value: object): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  return {
    "config.json": utf8(config),
    "model.safetensors": serializeSafetensors(packWeights(weights, "f32")),
    "tokenizer.json": utf8({
      normalizer: { type: "Lowercase" },
      pre_tokenizer: { type: "Whitespace" },
      decoder: { type: "WordPiece" },
      added_tokens: ["<pad>", "<unk>"].map((content, id) => ({ id, content, special: true })),
      model: {
        type: "WordPiece",
        unk_token: "<unk>",
        vocab: Object.fromEntries(Object.keys(WORDS).map((word, id) => [word, id])),
      },
    }),
  };
}
