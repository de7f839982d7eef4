import { join } from "node:path";
import type { Heed } from "../heed.js";
import { linePlotSvg } from "../inspect/line-plot.js";
import { replaceFile } from "../platform/node-files.js";
import { RECALL_DISTANCES, type Recall, type RecallScore } from "../tasks/recall.js";
import { Progress } from "./progress.js";
import { modelFolder } from "./shipped-model.js";

export interface RecallCommandOptions {
  readonly recallModels?: string;
  readonly distances?: readonly number[];
  readonly count: number;
  readonly seed: number;
  readonly plot?: string;
  readonly json?: boolean;
}

type Scores = Record<Architecture, RecallScore[]>;
type Architecture = "attention" | "lstm";

const NAMES: Record<Architecture, string> = { attention: "attention block", lstm: "LSTM" };
/** Words of the example. */
const SHOWN = 8;
/** Characters of a full bar. */
const BAR = 20;

/** Recall by distance, a row as soon as it is known; or JSON at the end. */
export async function showRecall(
  heed: Heed,
  options: RecallCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const { distances = RECALL_DISTANCES, count, seed, json, plot } = options;
  const progress = new Progress(process.stderr);
  const folder = modelFolder(options.recallModels, "recall", "--recall-models");
  const models = {
    attention: await heed.load(join(folder, "attention"), "recall"),
    lstm: await heed.load(join(folder, "lstm"), "recall"),
  };
  const names = Object.keys(models) as Architecture[];
  const scores: Scores = { attention: [], lstm: [] };
  if (!json) process.stdout.write(`${heading(models, count)}\n`);
  try {
    for (const distance of distances) {
      for (const name of names) {
        progress.status(`distance ${distance}: ${NAMES[name]}`);
        const found = await models[name].scores({ distances: [distance], count, seed, signal });
        scores[name].push(found[0] as RecallScore);
      }
      progress.status("");
      if (!json) process.stdout.write(`${row(scores)}\n`);
    }
  } finally {
    progress.status("");
  }
  if (json) process.stdout.write(`${JSON.stringify(asData(models, scores))}\n`);
  if (plot !== undefined) await replaceFile(plot, new TextEncoder().encode(plotOf(scores)));
}

function heading(models: Record<Architecture, Recall>, count: number): string {
  const weights = (name: Architecture): string => models[name].weights.toLocaleString("en-US");
  const { words, wanted, answer } = models.attention.example(5);
  return `
A marked word, some words on a question mark: which word was it?
… ${words.slice(-SHOWN).join(" ")} → ${answer}${answer === wanted ? "" : ` (wrong: ${wanted})`}

${count} sequences a distance; ${weights("attention")} weights in the attention block, ${weights("lstm")} in the LSTM

distance  ${"attention block".padEnd(BAR + 6)}  LSTM`;
}

/** The last score of each. */
function row(scores: Scores): string {
  const [attention, lstm] = [scores.attention.at(-1), scores.lstm.at(-1)];
  if (!attention || !lstm) return "";
  const distance = String(attention.distance).padStart(8);
  return `${distance}  ${bar(attention)}  ${bar(lstm)}`.trimEnd();
}

function bar(score: RecallScore): string {
  const share = shareOf(score);
  const halves = Math.round(share * BAR * 2);
  const drawn = "█".repeat(halves >> 1) + (halves & 1 ? "▌" : "");
  return `${share.toFixed(3)} ${drawn.padEnd(BAR, "·")}`;
}

function shareOf({ right, count }: RecallScore): number {
  return right / count;
}

function asData(models: Record<Architecture, Recall>, scores: Scores): object {
  const one = (name: Architecture): object => ({
    weights: models[name].weights,
    scores: scores[name],
  });
  return { recall: { attention: one("attention"), lstm: one("lstm") } };
}

function plotOf(scores: Scores): string {
  return linePlotSvg({
    title: "A marked word found again",
    xLabel: "words from the marked word to the question",
    yLabel: "share found",
    series: (Object.keys(NAMES) as Architecture[]).map((name) => ({
      name: NAMES[name],
      points: scores[name].map((score) => ({ x: score.distance, y: shareOf(score) })),
    })),
  });
}
