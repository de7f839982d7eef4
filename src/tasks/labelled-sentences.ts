/** Sentences whose word has its sense told: read from files, and split into parts by document. */
import { FormatError } from "../errors.js";
import { quote } from "../io/quote.js";
import { fingerprint } from "./training.js";
import { wordsIn } from "./word-contexts.js";

export interface LabelledSentence {
  /** The word as a dictionary has it: "bank". */
  readonly word: string;
  readonly sense: string;
  readonly sentence: string;
  /** Where the word begins, in UTF-16 units. */
  readonly start: number;
  /** What is split as one: sentences of a document are like each other. */
  readonly document: string;
}

export interface SplitSentences {
  readonly train: readonly LabelledSentence[];
  readonly validation: readonly LabelledSentence[];
  readonly test: readonly LabelledSentence[];
}

const BANK = "bank";
const TEST_SHARE = 1 / 4;
const VALIDATION_SHARE = 1 / 8;

/**
 * Reads both files and splits them.
 *
 * The test part of "bank" is what bank.tsv says. The other nouns are split by document: no document
 * is in two parts, and no sense has more than a quarter of its sentences in the test part. What
 * stands in both files is left out of the second; "bank" comes from the first alone. The validation
 * part is taken from what is left, in the same way. No sentence is in two parts.
 *
 * @param bank        bank.tsv: sense, split, source, start, sentence
 * @param homographs  homographs.tsv: lemma, sense, noad_sense, document, target_index, tokens
 * @throws {FormatError} LABELS a line is broken
 */
export function readLabelled(bank: string, homographs: string): SplitSentences {
  const banks = readBank(bank);
  const known = new Set(banks.map(({ row }) => keyOf(row)));
  const others = readHomographs(homographs).filter(
    (row) => row.word !== BANK && !known.has(keyOf(row)),
  );
  const ofSplit = (name: string): LabelledSentence[] =>
    banks.flatMap(({ row, split }) => (split === name ? [row] : []));
  const tested = splitByDocument(others, TEST_SHARE);
  const test = [...ofSplit("test"), ...tested.part];
  const taken = new Set(test.map(keyOf));
  const rest = [...ofSplit("train"), ...tested.rest].filter((row) => !taken.has(keyOf(row)));
  const validated = splitByDocument(rest, VALIDATION_SHARE);
  const held = new Set(validated.part.map(keyOf));
  return {
    train: validated.rest.filter((row) => !held.has(keyOf(row))),
    validation: validated.part,
    test,
  };
}

/** Letters and digits alone: the same sentence is found however it was tokenised. */
export function sentenceKey(sentence: string): string {
  return sentence.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

function keyOf({ sentence }: LabelledSentence): string {
  return sentenceKey(sentence);
}

/**
 * Documents in a fixed order; one goes into the part unless a sense would then have more than
 * `share` of its sentences there. Those with rare senses come first, so that these are there too.
 */
function splitByDocument(
  rows: readonly LabelledSentence[],
  share: number,
): { part: LabelledSentence[]; rest: LabelledSentence[] } {
  const senseOf = ({ word, sense }: LabelledSentence): string => `${word}\t${sense}`;
  const documents = grouped(rows, ({ document }) => document);
  const senses = grouped(rows, senseOf);
  const rarity = (document: readonly LabelledSentence[]): number =>
    document.reduce(
      (least, row) => Math.min(least, senses.get(senseOf(row))?.length ?? 0),
      Infinity,
    );
  const order = [...documents]
    .map(([name, document]) => ({ name, document, rare: rarity(document), hash: hashOf(name) }))
    .sort((a, b) => a.rare - b.rare || (a.hash + a.name < b.hash + b.name ? -1 : 1));

  const used = new Map<string, number>();
  const part: LabelledSentence[] = [];
  const rest: LabelledSentence[] = [];
  for (const { document } of order) {
    const counts = grouped(document, senseOf);
    const fits = [...counts].every(([sense, { length }]) => {
      const all = senses.get(sense) ?? [];
      const most = length === all.length ? 0 : Math.max(1, Math.floor(all.length * share));
      return (used.get(sense) ?? 0) + length <= most;
    });
    if (fits)
      for (const [sense, { length }] of counts) used.set(sense, (used.get(sense) ?? 0) + length);
    for (const row of document) (fits ? part : rest).push(row);
  }
  return { part, rest };
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function hashOf(text: string): string {
  return fingerprint([Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))]);
}

function readBank(text: string): { row: LabelledSentence; split: string }[] {
  const who = "bank.tsv";
  return rowsOf(text, who, ["sense", "split", "source", "start", "sentence"]).map(
    ({ sense, split, start, sentence, line }) => {
      if (split !== "train" && split !== "test")
        throw broken(who, line, '"split" must be train or test', split);
      const at = placeOf(start, sentence.length, who, line);
      expectWord(sentence, at, who, line);
      return { row: { word: BANK, sense, sentence, start: at, document: sentence }, split };
    },
  );
}

function readHomographs(text: string): LabelledSentence[] {
  const who = "homographs.tsv";
  const columns = ["lemma", "sense", "noad_sense", "document", "target_index", "tokens"] as const;
  return rowsOf(text, who, columns).map(
    ({ lemma, sense, document, target_index: index, tokens, line }) => {
      const list = tokens.split(" ");
      const { sentence, starts } = joinTokens(list);
      const start = starts[placeOf(index, list.length, who, line)] as number;
      expectWord(sentence, start, who, line);
      return { word: lemma, sense, sentence, start, document };
    },
  );
}

/** The lines of a table as objects; the first line names the columns. */
function rowsOf<const Column extends string>(
  text: string,
  who: string,
  columns: readonly Column[],
): (Record<Column, string> & { line: number })[] {
  const [header, ...lines] = text.split(/\r?\n/);
  if (header !== columns.join("\t"))
    throw broken(who, 1, `the columns must be ${columns.join(", ")}`, header ?? "");
  return lines.flatMap((row, index) => {
    if (row === "") return [];
    const cells = row.split("\t");
    const line = index + 2;
    if (cells.length !== columns.length || cells.includes(""))
      throw broken(who, line, `there must be ${columns.length} cells with text`, row);
    const named = columns.map((column, cell) => [column, cells[cell] as string] as const);
    return [{ ...(Object.fromEntries(named) as Record<Column, string>), line }];
  });
}

function placeOf(text: string, length: number, who: string, line: number): number {
  const place = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(place < length))
    throw broken(who, line, `the place must be a whole number below ${length}`, text);
  return place;
}

function expectWord(sentence: string, start: number, who: string, line: number): void {
  if (!wordsIn(sentence).some((word) => word.start === start))
    throw broken(who, line, "a word must begin at the place", sentence.slice(start));
}

function broken(who: string, line: number, rule: string, got: string): FormatError {
  return new FormatError("LABELS", `${who}: ${rule}, got ${quote(got)} in line ${line}`);
}

/**
 * Tokens of a treebank as running text: "ca", "n't" → "can't", "``" and "''" → "\"".
 *
 * @returns the text, and where each token begins in it
 */
export function joinTokens(tokens: readonly string[]): { sentence: string; starts: number[] } {
  let sentence = "";
  let gap = false;
  const starts = tokens.map((token) => {
    if (gap && !CLINGS_BEFORE.test(token)) sentence += " ";
    const start = sentence.length;
    sentence += token === "``" || token === "''" ? '"' : token;
    gap = !CLINGS_AFTER.test(token);
    return start;
  });
  return { sentence, starts };
}

/** Tokens without a space before them, and without one after. */
const CLINGS_BEFORE = /^(?:[,.;:!?%)\]}]|''|n't|'(?:s|re|ve|ll|d|m)|\.\.\.)$/i;
const CLINGS_AFTER = /^(?:[([{$#]|``)$/;
