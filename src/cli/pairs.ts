import { FormatError } from "../errors.js";
import { quote } from "../io/quote.js";
import { idOf, type Tokenizer } from "../io/tokenizer.js";
import { turn } from "../runtime/event-loop.js";
import type { TokenPair } from "../tasks/pair-training.js";
import { readTextFile } from "./text-file.js";

/** Texts longer than this are left out of training: tokens, start and end included. */
const MOST_TOKENS = 60;

export interface PairOptions {
  /** At most so many pairs, the first ones. */
  readonly limit?: number;
  /** Sources are cut to so many tokens, where they would be left out for their length. */
  readonly cut?: number | null;
  readonly signal?: AbortSignal;
}

/**
 * The pairs of FOLDER/NAME.tsv, or of NAME.tsv.gz, as token ids: a line each, SOURCE<TAB>TARGET.
 *
 * Pairs with a text of more than 60 tokens are left out, start and end included.
 *
 * @throws {HeedError} there is no such file
 * @throws {FormatError} PAIRS the file is broken, or holds no pair
 * @throws the signal's reason
 */
export async function readPairs(
  folder: string,
  name: string,
  tokenizer: Tokenizer,
  { limit = Infinity, cut = null, signal }: PairOptions = {},
): Promise<TokenPair[]> {
  const { file, text } = await readTextFile(folder, [`${name}.tsv`, `${name}.tsv.gz`], "PAIRS");
  const start = idOf(tokenizer, "<s>");
  const end = idOf(tokenizer, "</s>");
  const framed = (ids: readonly number[]): number[] => [start, ...ids, end];
  const pairs: TokenPair[] = [];
  let number = 0;
  for (const line of text.split(/\r?\n/)) {
    number++;
    if (line === "") continue;
    const [source, target, ...rest] = line.split("\t");
    if (!source || !target || rest.length > 0)
      throw new FormatError(
        "PAIRS",
        `${file}: every line must be SOURCE<TAB>TARGET, got ${quote(line.slice(0, 80))} in line ${number}`,
      );
    const ids = tokenizer.ids(source);
    const read = framed(cut === null ? ids : ids.slice(0, cut));
    const written = framed(tokenizer.ids(target));
    const longest = Math.max(written.length, cut === null ? read.length : 0);
    if (longest <= MOST_TOKENS) pairs.push({ source: read, target: written });
    if (pairs.length === limit) break;
    await turn(signal);
  }
  if (pairs.length === 0)
    throw new FormatError(
      "PAIRS",
      `${file}: there must be a pair of at most ${MOST_TOKENS} tokens a side, got none in ${number} lines`,
    );
  return pairs;
}
