import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { LongRangeDependencyModel } from "../../src/models/long-range-dependency-model.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { LongRange, passageLoss } from "../../src/tasks/long-range.js";
import { groupPassages, passagesOf } from "../../src/tasks/passages.js";
import type { Reading } from "../../src/tasks/reading.js";
import { connections, seenFrom, wordAt } from "../../src/tasks/reading.js";
import { expectClose } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { withRuntime } from "../support/runtime.js";

const tokenizer = loadTokenizer(readFileSync("models/translate-en-es/tokenizer.json"));
const CONFIG = {
  vocab: tokenizer.vocabSize,
  width: 8,
  heads: 2,
  positions: 24,
  causal: true,
} as const;

function make(runtime: Runtime): LongRange {
  runtime.seed(3);
  return new LongRange(new LongRangeDependencyModel(runtime, CONFIG), tokenizer);
}

describe("LongRange", () => {
  test("reads a text: tokens, words, and each head's weights, none of them ahead", async () => {
    await withRuntime({}, async (runtime) => {
      const { text, attention } = await make(runtime).read("The cat, at last, jumped!");
      expect(text.words).toEqual(["The", "cat", ",", "at", "last", ",", "jumped", "!"]);
      expect(text.tokens[0]).toBe("<s>");
      expect(text.wordOf).toHaveLength(text.tokens.length);
      expect(text.wordOf[0]).toBe(-1);
      expect([...new Set(text.wordOf)]).toEqual([-1, 0, 1, 2, 3, 4, 5, 6, 7]);
      expect(attention.kind).toBe("self");
      expect(attention.queries).toHaveLength(text.tokens.length);
      expect(attention.queries.slice(0, 3)).toEqual(["<s>", "The", "cat"]);
      expect(attention.weights).toHaveLength(1);
      expect(attention.weights[0]).toHaveLength(2);
      for (const head of attention.weights[0] ?? [])
        head.forEach((row, query) => {
          expect(row.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 5);
          expect(row.subarray(query + 1).every((weight) => weight === 0)).toBe(true);
        });
    });
  });

  test("refuses an empty text, one too long, and what is none", async () => {
    await withRuntime({}, async (runtime) => {
      const task = make(runtime);
      await expect(task.read("")).rejects.toThrow("a text must have 1 to 23 tokens, got 0");
      await expect(task.read(Array(24).fill("no").join(" "))).rejects.toThrow(RangeError);
      await expect(task.read(5 as unknown as string)).rejects.toThrow(TypeError);
      const reason = new Error("enough");
      await expect(task.read("a", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      await task.read(Array(23).fill("no").join(" "));
    });
  });

  test("measures perplexity as e to the mean loss a token, whatever shares a batch", async () => {
    await withRuntime({ splitting: false }, async (runtime) => {
      const task = make(runtime);
      const texts = ["The cat sleeps.", "no ".repeat(60), "Where is the dog?"];
      let nats = 0;
      let count = 0;
      for (const row of texts.flatMap((text) => passagesOf(text, tokenizer, CONFIG.positions))) {
        const loss = runtime.scope(() => passageLoss(task.model, [row], 0).item());
        nats += loss * (row.length - 1);
        count += row.length - 1;
      }
      const told: number[] = [];
      const found = await task.perplexity(texts, { onProgress: (done) => told.push(done) });
      expect(found.tokens).toBe(count);
      expectClose([found.nats, found.perplexity], [nats / count, Math.exp(nats / count)], 1e-5);
      expect(told.length).toBeGreaterThan(0);
      await expect(task.perplexity([])).rejects.toThrow("there must be a text, got none");
      const reason = new Error("enough");
      const signal = AbortSignal.abort(reason);
      await expect(task.perplexity(texts, { signal })).rejects.toBe(reason);
    });
  });

  test("gives all memory back", async () => {
    await withRuntime({}, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const task = make(runtime);
      await task.read("The cat sleeps.");
      await task.perplexity(["The cat sleeps."]);
      task.dispose();
      task.dispose();
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });
});

describe("passagesOf()", () => {
  test("cuts a long text; each part has a start, the last one an end", () => {
    const [start, end] = [tokenizer.idOf("<s>"), tokenizer.idOf("</s>")];
    const ids = tokenizer.ids("no ".repeat(30));
    const rows = passagesOf("no ".repeat(30), tokenizer, 12);
    expect(rows.every((row) => row[0] === start && row.length <= 12)).toBe(true);
    expect(rows.flatMap((row) => row.slice(1))).toEqual([...ids, end]);
    expect(passagesOf("", tokenizer, 12)).toEqual([[start, end]]);
  });
});

describe("groupPassages()", () => {
  test("keeps every row once, in groups of like length and at most 256 tokens", () => {
    const random = seeded(2);
    const rows = Array.from({ length: 400 }, (_, index) => [
      index,
      ...Array(1 + random.integer(index % 10 === 0 ? 250 : 12)).fill(0),
    ]);
    const groups = groupPassages(rows);
    const ids = groups.flatMap((group) => group.map(([index]) => index));
    expect(ids.toSorted((a, b) => (a as number) - (b as number))).toEqual([...rows.keys()]);
    let before = 0;
    for (const group of groups) {
      const lengths = group.map((row) => row.length);
      expect(Math.min(...lengths)).toBeGreaterThanOrEqual(before);
      before = Math.max(...lengths);
      expect(group.length === 1 || group.length * before <= 256).toBe(true);
    }
  });
});

describe("a reading's connections", () => {
  // Words a b c d, the second of two tokens; row of c and d in two heads.
  const rows = (values: number[][]): Float32Array[] => values.map((row) => Float32Array.from(row));
  const reading: Reading = {
    text: { tokens: ["<s>", "a", "b", "b", "c"], words: ["a", "b", "C"], wordOf: [-1, 0, 1, 1, 2] },
    attention: {
      kind: "self",
      queries: ["<s>", "a", "b", "b", "c"],
      keys: ["<s>", "a", "b", "b", "c"],
      weights: [
        [
          rows([
            [1, 0, 0, 0, 0],
            [1, 0, 0, 0, 0],
            [1, 0, 0, 0, 0],
            [0, 1, 0, 0, 0],
            [0.125, 0.5, 0.125, 0.125, 0.125],
          ]),
          rows([
            [1, 0, 0, 0, 0],
            [1, 0, 0, 0, 0],
            [1, 0, 0, 0, 0],
            [0, 1, 0, 0, 0],
            [0, 0.25, 0.25, 0.5, 0],
          ]),
        ],
      ],
    },
  };

  test("seenFrom() adds up the pieces of a word, most first", () => {
    expect(seenFrom(reading, 2)).toEqual([
      [
        { word: 0, weight: 0.5 },
        { word: 1, weight: 0.25 },
        { word: -1, weight: 0.125 },
        { word: 2, weight: 0.125 },
      ],
      [
        { word: 1, weight: 0.75 },
        { word: 0, weight: 0.25 },
        { word: -1, weight: 0 },
        { word: 2, weight: 0 },
      ],
    ]);
    expect(seenFrom(reading, 1)[0], "by its last piece").toEqual([
      { word: 0, weight: 1 },
      { word: -1, weight: 0 },
      { word: 1, weight: 0 },
    ]);
  });

  test("connections() tells weight, mean of the others and place, the strongest head first", () => {
    expect(connections(reading, 2, 1)).toEqual([
      { head: 1, weight: 0.75, others: 0.25 / 3, rank: 1 },
      { head: 0, weight: 0.25, others: 0.25, rank: 2 },
    ]);
    expect(() => connections(reading, 1, 1)).toThrow(RangeError);
  });

  test("wordAt() finds a word in any case, the first or the last", () => {
    const twice = { ...reading, text: { ...reading.text, words: ["a", "b", "A"] } };
    expect(wordAt(twice, "A", "first")).toBe(0);
    expect(wordAt(twice, "a", "last")).toBe(2);
    expect(() => wordAt(reading, "dog", "first")).toThrow(
      'the word must be one of the text\'s, got "dog". The words are a b C',
    );
  });
});
