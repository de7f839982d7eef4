import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadTokenizer } from "../../src/io/tokenizer.js";
import { MARK_ROWS, piecesOf, QuestionReader } from "../../src/tasks/question-reader.js";

const tokenizer = loadTokenizer(readFileSync("models/answer-en/tokenizer.json"));
const reader = new QuestionReader(tokenizer);

/** Any text, with characters beyond the BMP, lone surrogates and combining marks among them. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.string({
    unit: fc.constantFrom("a", "É", "e\u0301", "7", "½", "\ud83d", "😀", " ", "\n", "'", "中"),
  }),
);

describe("piecesOf()", () => {
  test("parts words, numbers and signs", () => {
    const texts = (text: string): string[] => piecesOf(text).map((piece) => piece.text);
    expect(texts("Newton's 2nd law (1687), e.g. 6½ sacks — “¿Qué?”")).toEqual(
      "Newton ' s 2 nd law ( 1687 ) , e . g . 6½ sacks — “ ¿ Qué ? ”".split(" "),
    );
    expect(texts(" \n\t ")).toEqual([]);
    expect(texts("a".repeat(130))).toEqual(["a".repeat(64), "a".repeat(64), "aa"]);
  });

  test("leaves out nothing but white space, and knows where each stands", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        let end = 0;
        for (const piece of piecesOf(text)) {
          expect(text.slice(piece.start, piece.end)).toBe(piece.text);
          expect(text.slice(end, piece.start)).toMatch(/^\s*$/u);
          end = piece.end;
        }
        expect(text.slice(end)).toMatch(/^\s*$/u);
      }),
    );
  });
});

describe("QuestionReader", () => {
  test("reads every piece by itself, in small letters", () => {
    const { ids, pieceOf, pieces } = reader.read("THE Bridge, the bridge");
    const words = pieces.map((_, piece) => ids.filter((__, at) => pieceOf[at] === piece));
    expect(words[3]).toEqual(words[0]);
    expect(words[4]).toEqual(words[1]);
    expect(tokenizer.decode(ids)).toBe("the bridge , the bridge");
  });

  test("gives every piece a token, in order", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { ids, pieceOf, pieces } = reader.read(text);
        expect(pieceOf).toHaveLength(ids.length);
        expect([...new Set(pieceOf)]).toEqual(pieces.map((_, piece) => piece));
        expect(pieceOf.every((piece, at) => at === 0 || piece >= (pieceOf[at - 1] as number))).toBe(
          true,
        );
      }),
    );
  });

  test("marks the words that the question has, their writing, and what is asked", () => {
    const first = tokenizer.vocabSize;
    const context = reader.read("The bridge was built by Eiffel in 1884.");
    const marksOf = (question: string): number[][] => {
      const { byId } = reader.marks(reader.read(question), context);
      return byId.map((marks) =>
        context.pieces.map((_, piece) => (marks[context.pieceOf.indexOf(piece)] as number) - first),
      );
    };
    const [match, shape, asked] = marksOf("When did he build the Bridge?");
    //                     The bridge was built by Eiffel in 1884 .
    expect(match).toEqual([2, 2, 0, 1, 0, 0, 0, 0, 0]);
    expect(shape).toEqual([4, 3, 3, 3, 3, 4, 3, 5, 3]);
    expect(new Set(asked).size).toBe(1);
    const kinds = ["", "What", "Who", "Whom", "When", "Where", "How", "Which", "Whose", "Why"]
      .map((word) => `${word} is the bridge?`)
      .concat("How many bridges?", "HOW much?");
    const found = kinds.map((question) => marksOf(question)[2]?.[0]);
    expect(found).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16]);
    expect(Math.max(...(found as number[]))).toBe(MARK_ROWS - 1);
  });

  test("cuts windows out of a context, between start and end", () => {
    const context = reader.read("one two three four");
    const marks = reader.marks(reader.read("who has two?"), context);
    const window = reader.window(context, marks, 1, 3);
    expect(window.ids).toEqual([reader.start, context.ids[1], context.ids[2], reader.end]);
    for (const [kind, row] of window.marks.entries())
      expect(row).toEqual([
        marks.ofEdges[kind],
        marks.byId[kind]?.[1],
        marks.byId[kind]?.[2],
        marks.ofEdges[kind],
      ]);
  });
});
