import type { TokenPair } from "../../src/tasks/pair-training.js";
import { seeded } from "./random.js";

/** Sizes of a model that learns the toy language in seconds. */
export const TOY_SIZES = {
  sourceVocab: 12,
  targetVocab: 12,
  embedding: 8,
  hidden: 12,
  padding: 0,
} as const;

/** Pairs of ids: the target is the source reversed, each word w (4 … 11) written as 15 − w. */
export function toyPairs(count: number, seed = 1): TokenPair[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => {
    const words = Array.from({ length: 1 + random.integer(5) }, () => 4 + random.integer(8));
    return {
      source: [2, ...words, 3],
      target: [2, ...words.toReversed().map((word) => 15 - word), 3],
    };
  });
}
