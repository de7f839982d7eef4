import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { HeedError } from "../errors.js";
import type { Heed } from "../heed.js";
import { parseCheckpoint, serializeCheckpoint } from "../io/checkpoint.js";
import { writeModelFolder } from "../io/save.js";
import { idOf, loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { packWeights } from "../io/weights.js";
import type { Seq2SeqConfig } from "../models/seq2seq.js";
import type { Module } from "../nn/module.js";
import { readFile as readWhole, replaceFile } from "../platform/node-files.js";
import { type TokenPair, trainTranslation } from "../tasks/translation-training.js";
import { Progress } from "./progress.js";

export interface TrainTranslateOptions {
  readonly data: string;
  readonly out: string;
  readonly tokenizer: string;
  readonly epochs: number;
  readonly batch: number;
  readonly rate: number;
  readonly embedding: number;
  readonly hidden: number;
  readonly layers: number;
  readonly dropout: number;
  readonly unidirectional: boolean;
  readonly smoothing: number;
  readonly forcing: number;
  readonly seed: number;
  readonly patience: number;
  readonly limit: number;
}

/** Sentences longer than this are left out of training: tokens. */
const MOST_TOKENS = 60;
const CHECKPOINT = "checkpoint.safetensors";

/**
 * `heed train translate`: trains on DIR/train.tsv.gz (or train.tsv), chooses on DIR/dev.tsv, and
 * writes a model folder to OUT whenever validation improves. Goes on from OUT/checkpoint.safetensors.
 */
export async function trainTranslate(
  heed: Heed,
  options: TrainTranslateOptions,
  signal: AbortSignal,
): Promise<void> {
  const { data, out } = options;
  await mkdir(out, { recursive: true });
  const tokenizerBytes = await readFile(options.tokenizer);
  const tokenizer = loadTokenizer(tokenizerBytes);
  const progress = new Progress(process.stderr);

  const pairs = tokenize(await readPairs(data, "train"), tokenizer).slice(0, options.limit);
  const validation = tokenize(await readPairs(data, "dev"), tokenizer);
  const config: Seq2SeqConfig = {
    sourceVocab: tokenizer.vocabSize,
    targetVocab: tokenizer.vocabSize,
    embedding: options.embedding,
    hidden: options.hidden,
    layers: options.layers,
    dropout: options.dropout,
    bidirectional: !options.unidirectional,
    padding: idOf(tokenizer, "<pad>"),
  };
  const checkpoint = join(out, CHECKPOINT);
  const saved = await readWhole(checkpoint, 2 ** 31);
  const resume = saved ? parseCheckpoint(saved, checkpoint) : null;
  progress.line(
    `${pairs.length} pairs, ${validation.length} for validation, ${heed.threads} thread(s)${
      resume ? `; going on from epoch ${resume.epoch + 1}, batch ${resume.batch}` : ""
    }`,
  );

  const save = async (model: Module): Promise<void> => {
    const weights = new Map(
      [...model.stateDict()].map(([name, weight]) => [
        name,
        { shape: weight.shape, values: weight.read() as Float32Array },
      ]),
    );
    await writeModelFolder((file, bytes) => replaceFile(join(out, file), bytes), {
      config: { task: "translate", architecture: "Seq2Seq", ...config },
      tensors: packWeights(weights, "f16"),
      tokenizer: tokenizerBytes,
    });
  };

  await trainTranslation({
    runtime: heed,
    config,
    pairs,
    validation,
    epochs: options.epochs,
    batch: options.batch,
    rate: options.rate,
    warmup: 400,
    weightDecay: 0.01,
    smoothing: options.smoothing,
    teacherForcing: options.forcing,
    seed: options.seed,
    patience: options.patience,
    resume,
    checkpointEvery: 300_000,
    checkpoint: (state) => replaceFile(checkpoint, serializeCheckpoint(state)),
    onBest: save,
    onEvent: (event) => progress.training(event),
    signal,
  });
  progress.line(`the best model is in ${out}`);
}

async function readPairs(folder: string, name: string): Promise<[string, string][]> {
  const plain = await readWhole(join(folder, `${name}.tsv`), 2 ** 31);
  const packed = plain ? undefined : await readWhole(join(folder, `${name}.tsv.gz`), 2 ** 31);
  const bytes = plain ?? (packed && gunzipSync(packed));
  if (!bytes)
    throw new HeedError(
      `train: ${folder} must hold ${name}.tsv or ${name}.tsv.gz, got neither. Give the folder with --data`,
    );
  return new TextDecoder("utf-8", { fatal: true })
    .decode(bytes)
    .split("\n")
    .filter((line) => line !== "")
    .map((line, index) => {
      const [source, target, ...rest] = line.split("\t");
      if (source === undefined || target === undefined || rest.length)
        throw new HeedError(
          `train: every line of ${name} must be SOURCE<TAB>TARGET, got line ${index + 1}: ${JSON.stringify(line.slice(0, 80))}`,
        );
      return [source, target];
    });
}

function tokenize(pairs: readonly [string, string][], tokenizer: Tokenizer): TokenPair[] {
  const start = idOf(tokenizer, "<s>");
  const end = idOf(tokenizer, "</s>");
  const framed = (text: string): number[] => [start, ...tokenizer.ids(text), end];
  return pairs
    .map(([source, target]) => ({ source: framed(source), target: framed(target) }))
    .filter(({ source, target }) => Math.max(source.length, target.length) <= MOST_TOKENS);
}
