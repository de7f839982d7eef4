import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { logSum, overlap, type Span, searchSpans } from "../../src/tasks/spans.js";

const LOW = -9;

describe("searchSpans()", () => {
  test("finds the best first and last token together, not each alone", () => {
    // The best first token stands behind the best last one.
    const starts = [LOW, -1, LOW, -0.5, LOW];
    const ends = [LOW, LOW, -0.2, LOW, LOW];
    const { spans } = searchSpans(starts, ends, [-1, 0, 1, 2, -1], 20, 1);
    expect(spans).toEqual([{ first: 1, last: 2, score: -1.2 }]);
  });

  test("takes whole pieces only, and as few as it is told", () => {
    const starts = [LOW, -5, -1, -1, -1, LOW];
    const ends = [LOW, -1, -5, -1, -5, LOW];
    // Tokens 1 and 2 are one piece, 3 and 4 another.
    const pieceOf = [-1, 0, 0, 1, 1, -1];
    expect(searchSpans(starts, ends, pieceOf, 2, 1).spans).toEqual([
      { first: 3, last: 4, score: -6 },
    ]);
    const all = searchSpans(starts, ends, pieceOf, 2, 9).spans;
    expect(all).toEqual([
      { first: 3, last: 4, score: -6 },
      { first: 1, last: 2, score: -10 },
    ]);
    expect(searchSpans(starts, ends, pieceOf, 1, 1).logTotal).toBeCloseTo(logSum(-6, -10), 10);
    expect(searchSpans(starts, ends, pieceOf, 2, 1).logTotal).toBeCloseTo(
      [-6, -10, -10].reduce(logSum),
      10,
    );
  });

  test("finds nothing where nothing may stand", () => {
    expect(searchSpans([0, 0], [0, 0], [-1, -1], 20, 3)).toEqual({
      spans: [],
      logTotal: -Infinity,
    });
    expect(searchSpans([], [], [], 20, 3).spans).toEqual([]);
  });

  test("finds what looking at all spans finds", () => {
    const token = fc.record({
      start: fc.double({ min: -20, max: 0, noNaN: true }),
      end: fc.double({ min: -20, max: 0, noNaN: true }),
      next: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(token, { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 4 }),
        (tokens, longest, top) => {
          let piece = 0;
          const inner = tokens.map(({ next }) => (next ? ++piece : piece));
          const pieceOf = [-1, ...inner, -1];
          const starts = [0, ...tokens.map(({ start }) => start), 0];
          const ends = [0, ...tokens.map(({ end }) => end), 0];
          const all: Span[] = [];
          for (let first = 1; first <= tokens.length; first++)
            for (let last = first; last <= tokens.length; last++) {
              const [from, to] = [pieceOf[first], pieceOf[last]] as [number, number];
              const whole = pieceOf[first - 1] !== from && pieceOf[last + 1] !== to;
              if (whole && to - from < longest)
                all.push({
                  first,
                  last,
                  score: (starts[first] as number) + (ends[last] as number),
                });
            }
          all.sort((a, b) => b.score - a.score);
          const wanted: Span[] = [];
          for (const span of all)
            if (wanted.length < top && !wanted.some((one) => overlap(one, span))) wanted.push(span);
          const found = searchSpans(starts, ends, pieceOf, longest, top);
          // Equal scores may come in any order.
          expect(found.spans.map(({ score }) => score)).toEqual(wanted.map(({ score }) => score));
          const total = Math.log(all.reduce((sum, { score }) => sum + Math.exp(score), 0));
          if (all.length > 0) expect(found.logTotal).toBeCloseTo(total, 9);
        },
      ),
    );
  });
});
