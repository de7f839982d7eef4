/** The best answers among all spans of a window. */

/** Tokens first … last of a window. */
export interface Span {
  readonly first: number;
  readonly last: number;
  /** Sum of the log-probabilities of its first and last token. */
  readonly score: number;
}

export interface SpanSearch {
  /** The best of them, none of which overlaps a better one; the best first. */
  readonly spans: readonly Span[];
  /** The logarithm of the sum of e^score over all spans. */
  readonly logTotal: number;
}

/**
 * The best spans of whole pieces, of at most `longest` pieces.
 *
 * @param starts   log-probabilities of each token to be the first
 * @param ends     the same for the last
 * @param pieceOf  the piece of each token; −1 where no answer may stand
 * @param top      spans wanted at most
 */
export function searchSpans(
  starts: ArrayLike<number>,
  ends: ArrayLike<number>,
  pieceOf: readonly number[],
  longest: number,
  top: number,
): SpanSearch {
  const spans: Span[] = [];
  let logTotal = -Infinity;
  for (let wanted = 0; wanted < Math.max(top, 1); wanted++) {
    let best: Span | null = null;
    for (const span of spansOf(starts, ends, pieceOf, longest)) {
      if (wanted === 0) logTotal = logSum(logTotal, span.score);
      if (span.score > (best?.score ?? -Infinity) && !spans.some((other) => overlap(span, other)))
        best = span;
    }
    if (!best || wanted >= top) break;
    spans.push(best);
  }
  return { spans, logTotal };
}

/** ln(e^a + e^b) */
export function logSum(a: number, b: number): number {
  const most = Math.max(a, b);
  return most === -Infinity ? most : most + Math.log1p(Math.exp(Math.min(a, b) - most));
}

export function overlap(
  a: { readonly first: number; readonly last: number },
  b: { readonly first: number; readonly last: number },
): boolean {
  return a.first <= b.last && b.first <= a.last;
}

/** All spans that begin and end with a piece. */
function* spansOf(
  starts: ArrayLike<number>,
  ends: ArrayLike<number>,
  pieceOf: readonly number[],
  longest: number,
): Generator<Span> {
  for (let first = 0; first < pieceOf.length; first++) {
    const piece = pieceOf[first] as number;
    if (piece < 0 || pieceOf[first - 1] === piece) continue;
    for (let last = first; last < pieceOf.length; last++) {
      const at = pieceOf[last] as number;
      if (at < 0 || at - piece >= longest) break;
      if (pieceOf[last + 1] === at) continue;
      yield { first, last, score: (starts[first] as number) + (ends[last] as number) };
    }
  }
}
