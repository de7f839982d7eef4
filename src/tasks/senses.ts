/** The words whose senses a model knows, as config.json holds them. */
import { FormatError } from "../errors.js";
import { list, readFields, text } from "../io/fields.js";
import { quote } from "../io/quote.js";
import { type JsonValue, showJson } from "../io/strict-json.js";
import type { LabelledSentence } from "./labelled-sentences.js";
import { type PlacedWord, wordsIn } from "./word-contexts.js";

export interface KnownWord {
  /** As a dictionary has it: "bank". */
  readonly word: string;
  /** How it is written in sentences, in small letters: "bank", "banks". */
  readonly forms: readonly string[];
  readonly senses: readonly KnownSense[];
}

export interface KnownSense {
  readonly name: string;
  /** Sentences in which the word has this sense, and stands once. */
  readonly examples: readonly string[];
}

const MOST_WORDS = 1000;
const MOST_FORMS = 64;
const MOST_SENSES = 64;
const MOST_EXAMPLES = 4096;
/** UTF-16 units. */
const LONGEST_NAME = 64;
const LONGEST_EXAMPLE = 1000;
/** Of a labelled sentence that becomes an example. */
const LONGEST_KEPT = 300;
/** Times that a form must be seen: rarer ones are slips, or other words. */
const OFTEN = 2;

/**
 * Reads the field "words" of a config.json.
 *
 * @param who  what errors begin with
 * @throws {FormatError} CONFIG_FIELD; CONFIG_WORDS a word or a form stands twice, or an example does
 *   not hold its word once
 */
export function readWords(items: readonly JsonValue[], who: string): KnownWord[] {
  const taken = new Set<string>();
  const fail = (where: string, rule: string, got: string): never => {
    throw new FormatError("CONFIG_WORDS", `${who}: ${where} must ${rule}, got ${quote(got)}`);
  };
  return items.map((item, index) => {
    const where = `words.${index}`;
    const { word, forms, senses } = readFields(item, WORD, `${who}: ${where}`);
    const known: KnownWord = {
      word,
      forms: forms.map((form, at) => readText(form, LONGEST_NAME, `${who}: ${where}.forms.${at}`)),
      senses: senses.map((sense, at) => {
        const place = `${who}: ${where}.senses.${at}`;
        const { name, examples } = readFields(sense, SENSE, place);
        const sentences = examples.map((example, number) =>
          readText(example, LONGEST_EXAMPLE, `${place}.examples.${number}`),
        );
        return { name, examples: sentences };
      }),
    };
    for (const form of known.forms) {
      if (form !== form.toLowerCase() || wordsIn(form)[0]?.text !== form)
        fail(`${where}.forms`, "hold single words in small letters", form);
      if (taken.has(form)) fail(`${where}.forms`, "be forms of one word alone", form);
      taken.add(form);
    }
    if (!known.forms.includes(word)) fail(`${where}.forms`, "hold the word itself", word);
    const names = known.senses.map(({ name }) => name);
    if (new Set(names).size < names.length || names.length === 0)
      fail(`${where}.senses`, "have names, each its own", names.join(", "));
    for (const example of known.senses.flatMap(({ examples }) => examples))
      if (placesOf(known, wordsIn(example)).length !== 1)
        fail(`${where}.senses`, `have examples that hold ${quote(word)} once`, example);
    return known;
  });
}

/** The indices of those words that are forms of the known one. */
export function placesOf(
  { forms }: Pick<KnownWord, "forms">,
  words: readonly PlacedWord[],
): number[] {
  return words.flatMap(({ text }, index) => (forms.includes(text.toLowerCase()) ? [index] : []));
}

/**
 * The words and senses that labelled sentences tell of, in alphabetical order, with those of the
 * sentences that can serve as examples.
 */
export function knownWords(labelled: readonly LabelledSentence[]): KnownWord[] {
  return namesOf(labelled, ({ word }) => word).map((word) => {
    const own = labelled.filter((row) => row.word === word);
    const bare = { word, forms: formsOf(word, own) };
    const senses = namesOf(own, ({ sense }) => sense).map((name): KnownSense => {
      const sentences = own.flatMap(({ sense, sentence }) => (sense === name ? [sentence] : []));
      const examples = [...new Set(sentences)].filter(
        (sentence) =>
          sentence.length <= LONGEST_KEPT && placesOf(bare, wordsIn(sentence)).length === 1,
      );
      return { name, examples };
    });
    return { ...bare, senses };
  });
}

function namesOf(
  rows: readonly LabelledSentence[],
  nameOf: (row: LabelledSentence) => string,
): string[] {
  return [...new Set(rows.map(nameOf))].sort();
}

/** The word, its plural, and what it is often enough written as. */
function formsOf(word: string, rows: readonly LabelledSentence[]): string[] {
  const counts = new Map<string, number>();
  for (const { sentence, start } of rows) {
    const [found] = wordsIn(sentence.slice(start));
    const form = found?.text.toLowerCase() ?? word;
    counts.set(form, (counts.get(form) ?? 0) + 1);
  }
  const seen = [...counts].flatMap(([form, count]) => (count >= OFTEN ? [form] : []));
  return [...new Set([word, pluralOf(word), ...seen.sort()])];
}

function pluralOf(word: string): string {
  if (/(?:s|x|z|ch|sh)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}

const WORD = {
  word: text(1, LONGEST_NAME),
  forms: list(MOST_FORMS),
  senses: list(MOST_SENSES),
};
const SENSE = { name: text(1, LONGEST_NAME), examples: list(MOST_EXAMPLES) };

/** The field itself: its items are read by readWords(). */
export const WORDS = list(MOST_WORDS);

function readText(value: JsonValue, longest: number, who: string): string {
  if (typeof value === "string" && value.length > 0 && value.length <= longest) return value;
  throw new FormatError(
    "CONFIG_FIELD",
    `${who}: must be text of 1 to ${longest} characters, got ${showJson(value)}`,
  );
}
