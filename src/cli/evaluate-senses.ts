import { init } from "../node.js";
import type { Disambiguator } from "../tasks/disambiguate.js";
import type { LabelledSentence } from "../tasks/labelled-sentences.js";
import { printable } from "./printable.js";
import { modelFolder } from "./shipped-model.js";
import { table } from "./table.js";
import { readLabelledFolder } from "./train-disambiguate.js";

export interface EvaluateSensesOptions {
  /** The folder of bank.tsv and homographs.tsv. */
  readonly evaluate: string;
  readonly part: "test" | "validation";
  readonly model?: string;
  readonly threads: number;
  readonly json?: boolean;
}

interface Score {
  readonly word: string;
  readonly sentences: number;
  /** Right answers. */
  readonly right: number;
  /** Right answers of who always says the sense that is most frequent in training. */
  readonly frequent: number;
}

/** `heed disambiguate --evaluate`: right answers by word, beside those of the most frequent sense. */
export async function evaluateSenses(
  options: EvaluateSensesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { [options.part]: asked, train } = await readLabelledFolder(options.evaluate);
  const heed = await init({ threads: options.threads });
  try {
    const model = modelFolder(options.model, "disambiguate-en");
    const disambiguator = await heed.load(model, "disambiguate");
    const scores: Score[] = [];
    for (const { word } of disambiguator.words) {
      const own = asked.filter((row) => row.word === word);
      if (own.length === 0) continue;
      const frequent = mostFrequent(train.filter((row) => row.word === word));
      scores.push({
        word,
        sentences: own.length,
        right: await rightAnswers(disambiguator, word, own, signal),
        frequent: own.filter(({ sense }) => sense === frequent).length,
      });
    }
    process.stdout.write(`${options.json ? toJson(scores) : toText(scores)}\n`);
  } finally {
    heed.dispose();
  }
}

async function rightAnswers(
  disambiguator: Disambiguator,
  word: string,
  rows: readonly LabelledSentence[],
  signal: AbortSignal,
): Promise<number> {
  const sentences = rows.map(({ sentence }) => sentence);
  const found = await disambiguator.disambiguateAll(word, sentences, { nearest: 0, signal });
  // A form that the model does not know is not found, and wrong.
  return rows.filter(
    ({ start, sense }, index) => found[index]?.find((use) => use.start === start)?.sense === sense,
  ).length;
}

function mostFrequent(rows: readonly LabelledSentence[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { sense } of rows) counts.set(sense, (counts.get(sense) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** Over all sentences, and over words, each counting the same. */
function summary(scores: readonly Score[]): Record<string, Record<"right" | "frequent", number>> {
  const over = (rate: (score: Score, key: "right" | "frequent") => number) => ({
    right: scores.reduce((sum, score) => sum + rate(score, "right"), 0),
    frequent: scores.reduce((sum, score) => sum + rate(score, "frequent"), 0),
  });
  const all = scores.reduce((sum, { sentences }) => sum + sentences, 0);
  return {
    "mean over words": over((score, key) => score[key] / score.sentences / scores.length),
    "all sentences": over((score, key) => score[key] / all),
  };
}

function toText(scores: readonly Score[]): string {
  const rows = scores.map(({ word, sentences, right, frequent }) => [
    printable(word),
    String(sentences),
    (right / sentences).toFixed(3),
    (frequent / sentences).toFixed(3),
  ]);
  const all = Object.entries(summary(scores)).map(([name, { right, frequent }]) => [
    name,
    "",
    right.toFixed(3),
    frequent.toFixed(3),
  ]);
  return table(["word", "sentences", "right", "most frequent sense"], [...rows, ...all]);
}

function toJson(scores: readonly Score[]): string {
  return printable(JSON.stringify({ words: scores, ...summary(scores) }));
}
