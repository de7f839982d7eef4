import { FormatError } from "../errors.js";
import { quote } from "../io/quote.js";
import { idOf, type Tokenizer } from "../io/tokenizer.js";
import { turn } from "../runtime/event-loop.js";
import type { Link, TokenPair } from "../tasks/pair-training.js";
import { readTextFile } from "./text-file.js";

/** Texts longer than this are left out of training: tokens, start and end included. */
const MOST_TOKENS = 60;

export interface PairOptions {
  /** At most so many pairs, the first ones. */
  readonly limit?: number;
  /** Sources are cut to so many tokens, where they would be left out for their length. */
  readonly cut?: number | null;
  /** A line may go on with <TAB>LINKS; see TokenPair. */
  readonly linked?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * The pairs of FOLDER/NAME.tsv, or of NAME.tsv.gz, as token ids: a line each, SOURCE<TAB>TARGET.
 * Links are written S-T, between spaces: token T of the target comes from token S of the source,
 * counted from 0 without start and end.
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
  { limit = Infinity, cut = null, linked = false, signal }: PairOptions = {},
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
    const [source, target, links, ...rest] = line.split("\t");
    if (!source || !target || rest.length > 0 || (links !== undefined && !linked))
      throw new FormatError(
        "PAIRS",
        `${file}: every line must be SOURCE<TAB>TARGET${linked ? "[<TAB>LINKS]" : ""}, got ${quote(line.slice(0, 80))} in line ${number}`,
      );
    const ids = tokenizer.ids(source);
    const read = framed(cut === null ? ids : ids.slice(0, cut));
    const written = framed(tokenizer.ids(target));
    const longest = Math.max(written.length, cut === null ? read.length : 0);
    if (longest <= MOST_TOKENS)
      pairs.push({
        source: read,
        target: written,
        ...(links && {
          links: readLinks(links, read, written, `${file}: line ${number}`),
        }),
      });
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

/** "0-0 1-2", and that the end comes from the end. */
function readLinks(
  text: string,
  source: readonly number[],
  target: readonly number[],
  where: string,
): Link[] {
  const links = [...new Set(text.split(" "))].map((link): Link => {
    const [from, to] = /^(0|[1-9]\d{0,2})-(0|[1-9]\d{0,2})$/.exec(link)?.slice(1).map(Number) ?? [];
    // Start and end are not counted.
    if (!((from as number) < source.length - 2 && (to as number) < target.length - 2))
      throw new FormatError(
        "PAIRS",
        `${where}: links must be S-T, below ${source.length - 2}-${target.length - 2}, got ${quote(link.slice(0, 80))}`,
      );
    return { source: (from as number) + 1, target: (to as number) + 1 };
  });
  return [...links, { source: source.length - 1, target: target.length - 1 }];
}
