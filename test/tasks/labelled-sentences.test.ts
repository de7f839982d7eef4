import { describe, expect, test } from "vitest";
import { FormatError } from "../../src/errors.js";
import {
  joinTokens,
  type LabelledSentence,
  readLabelled,
  sentenceKey,
} from "../../src/tasks/labelled-sentences.js";
import { knownWords } from "../../src/tasks/senses.js";
import { seeded } from "../support/random.js";

const BANK = "sense\tsplit\tsource\tstart\tsentence\n";
const OTHERS = "lemma\tsense\tnoad_sense\tdocument\ttarget_index\ttokens\n";

/** Sentences of two nouns in documents of unequal size, seeded. */
function homographs(seed: number): string {
  const random = seeded(seed);
  const rows = Array.from({ length: 300 }, (_, index) => {
    const document = Math.floor(40 * random.uniform() ** 2);
    const lemma = random.integer(3) === 0 ? "tip" : "plane";
    const rare = (document * 7) % 10 < 2;
    return `${lemma}\t${rare ? "rare" : "common"}\tm.1\tdoc${document}\t2\tnumber ${index} ${lemma} here\n`;
  });
  return OTHERS + rows.join("");
}

const all = (parts: ReturnType<typeof readLabelled>): LabelledSentence[] => [
  ...parts.train,
  ...parts.validation,
  ...parts.test,
];

describe("readLabelled()", () => {
  test("takes the test part of bank from its file, and part of its training for validation", () => {
    const line = (index: number, split: string): string =>
      `money\t${split}\ttatoeba\t4\tThe bank number ${index}.\n`;
    const bank = Array.from({ length: 40 }, (_, index) =>
      line(index, index < 8 ? "test" : "train"),
    );
    const parts = readLabelled(BANK + bank.join(""), OTHERS);
    expect(parts.test.map(({ sentence }) => sentence)).toEqual(
      Array.from({ length: 8 }, (_, index) => `The bank number ${index}.`),
    );
    expect(parts.validation).toHaveLength(4); // an eighth of 32
    expect(parts.train).toHaveLength(28);
    expect(parts.test[0]).toEqual({
      word: "bank",
      sense: "money",
      sentence: "The bank number 0.",
      start: 4,
      document: "The bank number 0.",
    });
  });

  test.each([1, 2, 3])("splits other nouns by document, seed %d", (seed) => {
    const parts = readLabelled(BANK, homographs(seed));
    const documents = (rows: readonly LabelledSentence[]): Set<string> =>
      new Set(rows.map(({ document }) => document));
    const [train, validation, held] = [parts.train, parts.validation, parts.test].map(documents);
    for (const document of held ?? []) {
      expect(train?.has(document)).toBe(false);
      expect(validation?.has(document)).toBe(false);
    }
    for (const document of validation ?? []) expect(train?.has(document)).toBe(false);
    expect(all(parts)).toHaveLength(300);
    // No sense has more than a quarter, and some of each is there.
    for (const word of ["tip", "plane"])
      for (const sense of ["rare", "common"]) {
        const count = (rows: readonly LabelledSentence[]): number =>
          rows.filter((row) => row.word === word && row.sense === sense).length;
        const most = Math.max(1, count(all(parts)) / 4);
        expect(count(parts.test)).toBeLessThanOrEqual(most);
        expect(count(parts.test)).toBeGreaterThan(0);
      }
  });

  test("splits the same way whatever the order of the lines", () => {
    const [header, ...lines] = homographs(4).trimEnd().split("\n");
    const turned = [header, ...lines.toReversed()].join("\n");
    const names = (text: string): string[] =>
      readLabelled(BANK, text)
        .test.map(({ sentence }) => sentence)
        .sort();
    expect(names(turned)).toEqual(names(homographs(4)));
  });

  test.each([1, 2, 3, 4, 5])("finds room for a rare sense in the test part, name %d", (name) => {
    const rows = Array.from({ length: 12 }, (_, document) =>
      Array.from({ length: document < 2 ? 5 : 4 }, (_, index) => {
        const sense = index === 4 ? "rare" : "common";
        return `tip\t${sense}\tm.1\t${name}.${document}\t1\tthe tip ${document} ${index}\n`;
      }),
    ).flat();
    const { test: held } = readLabelled(BANK, OTHERS + rows.join(""));
    expect(held.filter(({ sense }) => sense === "rare")).toHaveLength(1);
    expect(held.filter(({ sense }) => sense === "common")).toHaveLength(12);
  });

  test("keeps the only document of a sense for training", () => {
    const one = Array.from(
      { length: 8 },
      (_, index) => `soil\tdirt\tm.1\tonly\t1\tgreasy soil number ${index}\n`,
    );
    const parts = readLabelled(BANK, OTHERS + one.join(""));
    expect(parts.train).toHaveLength(8);
  });

  test("leaves out what stands in both files, however it is tokenised, and bank of the second", () => {
    const bank = `${BANK}money\ttest\tmasc\t4\tThe bank's check, they say, isn't here.\n`;
    const others = `${OTHERS}check\tbank order\tm.1\td1\t3\tThe bank 's check , they say , is n't here .
bank\tmoney\tm.1\td2\t0\tbank of another sentence
check\tbank order\tm.1\td3\t1\tA check comes .
`;
    const parts = readLabelled(bank, others);
    expect(all(parts).map(({ sentence }) => sentence)).toEqual([
      "A check comes.",
      "The bank's check, they say, isn't here.",
    ]);
  });

  test("has no sentence in two parts, though two words stand in it", () => {
    const rows = Array.from({ length: 60 }, (_, index) => {
      const text = `tip and plane number ${Math.floor(index / 2)}`;
      return index % 2
        ? `tip\ta\tm.1\tdoc${index}\t0\t${text}\n`
        : `plane\ta\tm.1\tdoc${index}\t2\t${text}\n`;
    });
    const parts = readLabelled(BANK, OTHERS + rows.join(""));
    const keys = (rows: readonly LabelledSentence[]): Set<string> =>
      new Set(rows.map(({ sentence }) => sentenceKey(sentence)));
    const [train, validation, held] = [parts.train, parts.validation, parts.test].map(keys);
    expect(held?.size).toBeGreaterThan(5);
    for (const key of held ?? []) expect(train?.has(key) || validation?.has(key)).toBe(false);
    for (const key of validation ?? []) expect(train?.has(key)).toBe(false);
  });

  test.each([
    ["the columns must be sense, split, source, start, sentence", "money\ttrain\n", OTHERS],
    ["the columns must be lemma, sense", BANK, BANK],
    [
      'there must be 5 cells with text, got "money\\ttrain" in line 2',
      `${BANK}money\ttrain\n`,
      OTHERS,
    ],
    ["there must be 5 cells with text", `${BANK}money\ttrain\tmasc\t0\t\n`, OTHERS],
    ['"split" must be train or test, got "dev"', `${BANK}money\tdev\tmasc\t0\tbank\n`, OTHERS],
    [
      'a whole number below 4, got "4" in line 3',
      `${BANK}money\ttest\tx\t0\tbank\nmoney\ttest\tx\t4\tbank\n`,
      OTHERS,
    ],
    ["a whole number below 4", `${BANK}money\ttest\tx\t-1\tbank\n`, OTHERS],
    [
      'a word must begin at the place, got "ank" in line 2',
      `${BANK}money\ttest\tx\t1\tbank\n`,
      OTHERS,
    ],
    ["homographs.tsv: the place must be", BANK, `${OTHERS}tip\ta\tm\td\t2\tthe tip\n`],
    ["homographs.tsv: a word must begin", BANK, `${OTHERS}tip\ta\tm\td\t1\tthe . tip\n`],
  ])("refuses broken tables: %s", (message, bank, others) => {
    expect(() => readLabelled(bank, others)).toThrow(FormatError);
    expect(() => readLabelled(bank, others)).toThrow(message);
  });
});

describe("joinTokens()", () => {
  test("writes a treebank's tokens as text, and tells where each begins", () => {
    const tokens = "`` I ca n't , '' he said ( to the bank 's teller ) .".split(" ");
    const { sentence, starts } = joinTokens(tokens);
    expect(sentence).toBe("\"I can't,\" he said (to the bank's teller).");
    tokens.forEach((token, index) => {
      if (/^\w/.test(token))
        expect(sentence.slice(starts[index], (starts[index] as number) + token.length)).toBe(token);
    });
    expect(joinTokens([])).toEqual({ sentence: "", starts: [] });
  });
});

describe("knownWords()", () => {
  const row = (word: string, sense: string, sentence: string): LabelledSentence => ({
    word,
    sense,
    sentence,
    start: sentence.toLowerCase().search(new RegExp(`\\b${word.slice(0, -1)}`)),
    document: "d",
  });

  test("tells words, senses and forms in alphabetical order, with examples", () => {
    const words = knownWords([
      row("story", "tale", "A story told."),
      row("story", "tale", "A story told."),
      row("brush", "tool", "A brush, a brush."),
      row("brush", "bush", "Through the brush."),
      row("story", "floor", `The third story ${"and on ".repeat(50)}`),
      row("story", "floor", "Storeys, not storys: storey."),
      row("story", "floor", "One storey up."),
      row("story", "floor", "Two storey up."),
    ]);
    expect(words).toEqual([
      {
        word: "brush",
        forms: ["brush", "brushes"],
        senses: [
          { name: "bush", examples: ["Through the brush."] },
          { name: "tool", examples: [] }, // it stands there twice
        ],
      },
      {
        word: "story",
        forms: ["story", "stories", "storey"], // "storeys" was seen once
        senses: [
          // Too long, and once among other forms
          {
            name: "floor",
            examples: ["Storeys, not storys: storey.", "One storey up.", "Two storey up."],
          },
          { name: "tale", examples: ["A story told."] },
        ],
      },
    ]);
  });
});
