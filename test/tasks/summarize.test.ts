import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import { init } from "../../src/node.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { type SummarizeOptions, Summarizer } from "../../src/tasks/summarize.js";
import type { Summary } from "../../src/tasks/summary.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectSameBits } from "../support/compare.js";
import { withRuntime } from "../support/runtime.js";

const PARAGRAPH =
  "Kishleyevo is a rural locality (a selo) in Sobinsky District, Russia. The population was 396 as of 2010. There are 9 streets.";
const DOCUMENT = `${PARAGRAPH}

The village lies on a river. It has a church from 1790 and a school. Many people work in the fields.
Others go to the town by bus. In winter the road is closed for weeks, and the river freezes over.

${"A long sentence that never seems to come to its end ".repeat(6)}stops here.`;

const tokenizer = loadTokenizer(readFileSync("models/translate-en-es/tokenizer.json"));

/** A small summarizer whose weights are drawn: what it says is babble, but it is quick. */
function babbler(runtime: Runtime, sourceTokens = 40): Summarizer {
  runtime.seed(5);
  const sizes = { vocab: tokenizer.vocabSize, embedding: 8, hidden: 8, padding: 0 };
  const model = new SummarizationModel(runtime, sizes);
  // An unlikely end token keeps it talking.
  const bias = model.stateDict().get("output_layer.bias") as Tensor;
  bias.write(bias.read().with(3, -1));
  return new Summarizer(model, tokenizer, sourceTokens);
}

/** Weights that are far from even. */
function sharpen(summarizer: Summarizer): Summarizer {
  const v = summarizer.model.stateDict().get("v.weight") as Tensor;
  v.write(v.read().map((weight) => weight * 20));
  return summarizer;
}

function expectSame(actual: Summary, expected: Summary): void {
  const { attention, alignment, ...rest } = actual;
  const { attention: otherAttention, alignment: otherAlignment, ...other } = expected;
  expect(rest).toEqual(other);
  expect(attention).toHaveLength(otherAttention.length);
  attention.forEach((row, index) => {
    expectSameBits(row, otherAttention[index] ?? [], `row ${index}`);
  });
  expect(alignment).toEqual(otherAlignment);
}

describe("Summarizer", () => {
  test("describes a text, and says where it looked", () =>
    withRuntime({}, async (runtime) => {
      const summary = await babbler(runtime, 60).summarize(PARAGRAPH);
      expect(summary.mode).toBe("abstractive");
      expect(summary.text).not.toBe("");
      expect(summary.text).toBe(summary.description);
      const { source, target, attention, alignment } = summary;
      expect(source.tokens).toEqual(["<s>", ...tokenizer.encode(PARAGRAPH).tokens, "</s>"]);
      expect(attention).toHaveLength(target.tokens.length);
      for (const row of attention) {
        expect(row).toHaveLength(source.tokens.length);
        // as many f32 weights as there are pieces
        expect(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThan(1e-5);
      }
      expect(alignment).toHaveLength(target.words.length);
      for (const row of alignment) expect(row).toHaveLength(source.words.length);
    }));

  test("gives every sentence its place and its share of the attention", () =>
    withRuntime({}, async (runtime) => {
      const mode = "extractive";
      const { sentences } = await babbler(runtime).summarize(DOCUMENT, { mode });
      expect(sentences).toHaveLength(9);
      for (const { text, start, end, attention } of sentences) {
        expect(DOCUMENT.slice(start, end).replace(/\s+/g, " ")).toBe(text);
        expect(attention).toBeGreaterThan(0);
      }
      const sum = sentences.reduce((total, { attention }) => total + attention, 0);
      // <s> and </s> of each window have the rest.
      expect(sum).toBeLessThan(1);
      expect(sum).toBeGreaterThan(0.5);
    }));

  test("describes a document by its beginning, as long as the model takes", () =>
    withRuntime({}, async (runtime) => {
      const summarizer = babbler(runtime, 40);
      const summary = await summarizer.summarize(DOCUMENT);
      const { length } = summary.source.tokens;
      // up to a word's end, with <s> and </s>
      expect(length).toBeGreaterThan(36);
      expect(length).toBeLessThanOrEqual(42);
      const all = tokenizer.encode(DOCUMENT.replace(/\s+/g, " ")).tokens;
      expect(summary.source.tokens).toEqual(["<s>", ...all.slice(0, length - 2), "</s>"]);
      const seen = summary.sentences.map(({ attention }) => attention > 0);
      expect(seen).toEqual([...seen].sort().reverse());
      expect(seen).toHaveLength(9);
      expect(seen[0]).toBe(true);
      expect(seen[8]).toBe(false);
      expect(summary.sentences.some(({ kept }) => kept)).toBe(false);
      expectSame(
        { ...(await summarizer.summarize(`${DOCUMENT} ${DOCUMENT}`)), sentences: [] },
        { ...summary, sentences: [] },
      );
    }));

  test("keeps sentences as they stand, in the order of the document", () =>
    withRuntime({}, async (runtime) => {
      const summarizer = sharpen(babbler(runtime));
      for (const most of [1, 2, 4]) {
        const summary = await summarizer.summarize(DOCUMENT, {
          mode: "extractive",
          sentences: most,
        });
        const kept = summary.sentences.filter((sentence) => sentence.kept);
        expect(kept.length).toBeGreaterThan(0);
        expect(kept.length).toBeLessThanOrEqual(most);
        expect(summary.text).toBe(kept.map(({ text }) => text).join(" "));
        const least = Math.min(...kept.map(({ score }) => score));
        for (const { score, kept, repeats } of summary.sentences)
          if (!kept && !repeats) expect(score).toBeLessThanOrEqual(least);
      }
    }));

  test("keeps a sentence once that stands in the document twice", () =>
    withRuntime({}, async (runtime) => {
      const twice = `${PARAGRAPH}\n\n${PARAGRAPH}`;
      const options = { mode: "extractive", sentences: 6 } as const;
      const { sentences } = await babbler(runtime).summarize(twice, options);
      const kept = sentences.filter((sentence) => sentence.kept).map(({ text }) => text);
      expect(new Set(kept).size).toBe(kept.length);
      expect(sentences.filter(({ repeats }) => repeats).length).toBeGreaterThanOrEqual(3);
    }));

  test("reads a long document in windows: the first has the bits it has alone", () =>
    withRuntime({}, async (runtime) => {
      // With one window or many, the encodings of the first are the same, and so is the start.
      const summarizer = babbler(runtime, 60);
      const mode = "extractive";
      const alone = await summarizer.summarize(PARAGRAPH, { mode });
      const within = await summarizer.summarize(DOCUMENT, { mode });
      expect(within.source.tokens.slice(0, alone.source.tokens.length)).toEqual(
        alone.source.tokens,
      );
      expect(within.source.tokens.filter((token) => token === "<s>").length).toBeGreaterThan(3);
      const shares = (row: Float32Array): Float32Array => {
        const first = row.slice(0, alone.source.tokens.length);
        const sum = first.reduce((total, weight) => total + weight, 0);
        return first.map((weight) => weight / sum);
      };
      const [one, two] = [alone.attention[0], within.attention[0]] as [Float32Array, Float32Array];
      shares(two).forEach((share, index) => {
        // The scores are the same bits; softmax divides by another sum.
        expect(Math.abs(share - (one[index] as number))).toBeLessThan(1e-6);
      });
    }));

  test("gives the same bits on any number of threads, and to calls at once", async () => {
    const run = (threads: number): Promise<Summary> =>
      withRuntime({ threads }, (runtime) => babbler(runtime).summarize(DOCUMENT));
    const one = await run(1);
    for (const threads of [2, 3]) expectSame(await run(threads), one);
    await withRuntime({}, async (runtime) => {
      const summarizer = babbler(runtime);
      const both = await Promise.all([
        summarizer.summarize(DOCUMENT),
        summarizer.summarize(PARAGRAPH),
        summarizer.summarize(DOCUMENT),
      ]);
      expectSame(both[0] as Summary, one);
      expectSame(both[2] as Summary, one);
    });
  });

  test.each(["", " \n\n "])("says nothing for %j", (text) =>
    withRuntime({}, async (runtime) => {
      for (const mode of ["abstractive", "extractive"] as const) {
        const onPartial = (): void => expect.fail("no partial text");
        const summary = await babbler(runtime).summarize(text, { mode, onPartial });
        expect(summary).toMatchObject({ mode, text: "", sentences: [], attention: [] });
      }
    }),
  );

  test("tells partial texts that end with the description", () =>
    withRuntime({}, async (runtime) => {
      for (const mode of ["abstractive", "extractive"] as const) {
        const told: string[] = [];
        const onPartial = (text: string): number => told.push(text);
        const { description } = await babbler(runtime).summarize(PARAGRAPH, { mode, onPartial });
        expect(told.length).toBeGreaterThan(3);
        expect(told.at(-1)).toBe(description);
      }
    }));

  test("stops at a signal and leaves no tensor behind", () =>
    withRuntime({}, async (runtime) => {
      const summarizer = babbler(runtime);
      await summarizer.summarize(DOCUMENT);
      const before = runtime.memory.usedBytes;
      const reason = new Error("enough");
      for (const after of [0, 1, 5]) {
        const controller = new AbortController();
        let steps = 0;
        const stop = (): void => {
          if (steps++ >= after) controller.abort(reason);
        };
        if (after === 0) stop();
        const { signal } = controller;
        const summarizing = summarizer.summarize(DOCUMENT, { signal, onPartial: stop });
        await expect(summarizing).rejects.toBe(reason);
        expect(runtime.memory.usedBytes).toBe(before);
      }
    }));

  test("needs no new memory after the first of many summaries", () =>
    withRuntime({ poison: false, splitting: false }, async (runtime) => {
      const summarizer = babbler(runtime);
      await summarizer.summarize(DOCUMENT);
      const { usedBytes, capacityBytes } = runtime.memory;
      for (let count = 0; count < 20; count++) await summarizer.summarize(DOCUMENT);
      expect(runtime.memory.usedBytes).toBe(usedBytes);
      expect(runtime.memory.capacityBytes).toBe(capacityBytes);
      summarizer.dispose();
      expect(runtime.memory.usedBytes).toBe(0);
    }));

  test.each<[SummarizeOptions, string]>([
    [{ beam: 0 }, "beams must be an integer from 1 to 64, got 0"],
    [{ lengthPenalty: -1 }, "lengthPenalty must lie in 0 … 10, got -1"],
    [{ sentences: 0 }, "sentences must be a whole number from 1 to 1000, got 0"],
    [{ sentences: 1.5 }, "sentences must be a whole number from 1 to 1000, got 1.5"],
    [{ mode: "loud" as "extractive" }, 'mode must be "abstractive" or "extractive", got "loud"'],
  ])("refuses %j", (options, message) =>
    withRuntime({}, async (runtime) => {
      const summarizer = babbler(runtime);
      await summarizer.summarize("A cat.");
      const before = runtime.memory.usedBytes;
      await expect(summarizer.summarize("A cat.", options)).rejects.toThrow(RangeError);
      await expect(summarizer.summarize("A cat.", options)).rejects.toThrow(message);
      expect(runtime.memory.usedBytes).toBe(before);
    }),
  );

  test("refuses what is no text, and a document that is too long", () =>
    withRuntime({}, async (runtime) => {
      const summarizer = babbler(runtime);
      await expect(summarizer.summarize(7 as unknown as string)).rejects.toThrow(
        "summarize: the text must be a string, got number",
      );
      const long = "word ".repeat(40_000);
      await expect(summarizer.summarize(long, { mode: "extractive" })).rejects.toThrow(
        /a document must have at most 32768 tokens, got \d+\. Summarize its parts$/,
      );
    }));

  test("gives plain data that can be posted", () =>
    withRuntime({}, async (runtime) => {
      const summary = await babbler(runtime).summarize(DOCUMENT, { mode: "extractive" });
      expect(structuredClone(summary)).toEqual(summary);
    }));
});

describe("Summarizer, with the model that comes with heed", () => {
  test("says what a paragraph is about", async () => {
    const heed = await init({ threads: 1 });
    const summarizer = await heed.load("models/summarize-en", "summarize");
    const about = async (text: string): Promise<string> => (await summarizer.summarize(text)).text;
    expect(await about("Ingrid Solberg (born 4 May 1971) is a Norwegian biathlete.")).toBe(
      "Norwegian biathlete",
    );
    expect(
      await about("Deh Now is a village in Hana Rural District, in Isfahan Province, Iran."),
    ).toMatch(/^village in .*Iran/);
    heed.dispose();
  });
});
