import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { FormatError, HeedError } from "../errors.js";
import { quote } from "../io/quote.js";
import { idOf, type Tokenizer } from "../io/tokenizer.js";
import { readFile } from "../platform/node-files.js";
import { turn } from "../runtime/event-loop.js";
import type { TokenPair } from "../tasks/translation-training.js";

/** Bytes of a file of pairs, unpacked. */
const LARGEST = 2 ** 29;
/** Sentences longer than this are left out of training: tokens. */
const MOST_TOKENS = 60;

/**
 * The pairs of FOLDER/NAME.tsv, or of NAME.tsv.gz, as token ids: a line each, SOURCE<TAB>TARGET.
 *
 * Pairs with a sentence of more than 60 tokens are left out.
 *
 * @param limit  at most so many, the first ones
 * @throws {HeedError} there is no such file
 * @throws {FormatError} PAIRS the file is broken, or holds no pair
 * @throws the signal's reason
 */
export async function readPairs(
  folder: string,
  name: string,
  tokenizer: Tokenizer,
  { limit = Infinity, signal }: { readonly limit?: number; readonly signal?: AbortSignal } = {},
): Promise<TokenPair[]> {
  const { file, text } = await readText(folder, name);
  const start = idOf(tokenizer, "<s>");
  const end = idOf(tokenizer, "</s>");
  const framed = (sentence: string): number[] => [start, ...tokenizer.ids(sentence), end];
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
    const pair = { source: framed(source), target: framed(target) };
    if (Math.max(pair.source.length, pair.target.length) <= MOST_TOKENS) pairs.push(pair);
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

async function readText(folder: string, name: string): Promise<{ file: string; text: string }> {
  for (const file of [join(folder, `${name}.tsv`), join(folder, `${name}.tsv.gz`)]) {
    const bytes = await readFile(file, LARGEST);
    if (!bytes) continue;
    const fail = (what: string, cause: unknown): never => {
      const error = new FormatError("PAIRS", `${file}: the file must be ${what}`);
      error.cause = cause;
      throw error;
    };
    let plain = bytes;
    if (file.endsWith(".gz"))
      try {
        plain = gunzipSync(bytes, { maxOutputLength: LARGEST });
      } catch (error) {
        fail(`gzip of at most ${LARGEST} bytes, got ${(error as Error).message}`, error);
      }
    try {
      return { file, text: new TextDecoder("utf-8", { fatal: true }).decode(plain) };
    } catch (error) {
      fail("UTF-8 text, got other bytes. Convert it, with iconv for example", error);
    }
  }
  throw new HeedError(
    `train: ${folder} must hold ${name}.tsv or ${name}.tsv.gz, got neither. Give the folder with --data`,
  );
}
