import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { FormatError, HeedError } from "../errors.js";
import { parseCheckpoint, serializeCheckpoint } from "../io/checkpoint.js";
import { writeModelFolder } from "../io/save.js";
import { idOf, loadTokenizer } from "../io/tokenizer.js";
import { packWeights, type Storage } from "../io/weights.js";
import type { Seq2SeqConfig } from "../models/seq2seq.js";
import type { Module } from "../nn/module.js";
import { init } from "../node.js";
import { readFile, replaceFile } from "../platform/node-files.js";
import { trainTranslation } from "../tasks/translation-training.js";
import type { TrainingState } from "../train/trainer.js";
import { readPairs } from "./pairs.js";
import { Progress } from "./progress.js";
import { shippedModel } from "./shipped-model.js";

export interface TrainOptions {
  readonly data: string;
  readonly out: string;
  readonly tokenizer?: string;
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
  readonly limit?: number;
  readonly storage: Storage;
  readonly threads?: number;
}

const LARGEST = 2 ** 31;
/** Steps over which the rate rises. */
const WARMUP = 400;
/** Milliseconds. */
const CHECKPOINT_EVERY = 300_000;

/**
 * `heed train translate`: learns from DATA/train.tsv, chooses by DATA/dev.tsv, and writes a model
 * folder to OUT whenever validation improves. Goes on from OUT/checkpoint.safetensors.
 */
export async function trainCommand(options: TrainOptions, signal: AbortSignal): Promise<void> {
  const { data, out, batch, epochs, patience, rate, seed, smoothing, storage } = options;
  const progress = new Progress(process.stderr);
  const tokenizerFile = options.tokenizer ?? join(shippedModel(), "tokenizer.json");
  const tokenizerBytes = await readFile(tokenizerFile, LARGEST);
  if (!tokenizerBytes)
    throw new HeedError(`train: there must be a tokenizer at ${tokenizerFile}, got no such file`);
  const tokenizer = loadTokenizer(tokenizerBytes, tokenizerFile);
  await mkdir(out, { recursive: true });
  const checkpoint = join(out, "checkpoint.safetensors");
  const resume = await readCheckpoint(checkpoint);

  const { limit = Infinity } = options;
  const pairs = await readPairs(data, "train", tokenizer, { limit, signal });
  const validation = await readPairs(data, "dev", tokenizer, { signal });
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
  const save = (model: Module): Promise<void> =>
    writeModelFolder((file, bytes) => replaceFile(join(out, file), bytes), {
      config: { task: "translate", architecture: "Seq2Seq", ...config },
      tensors: packWeights(weightsOf(model), storage),
      tokenizer: tokenizerBytes,
    });

  const heed = await init(options.threads ? { threads: options.threads } : {});
  try {
    progress.line(
      `${pairs.length} pairs, ${validation.length} for validation, ${heed.threads} thread(s)${
        resume ? `; going on after ${resume.step} steps` : ""
      }`,
    );
    await trainTranslation({
      runtime: heed,
      config,
      pairs,
      validation,
      epochs,
      batch,
      rate,
      warmup: WARMUP,
      weightDecay: 0.01,
      smoothing,
      teacherForcing: options.forcing,
      seed,
      patience,
      resume,
      checkpointEvery: CHECKPOINT_EVERY,
      checkpoint: (state) => replaceFile(checkpoint, serializeCheckpoint(state)),
      onBest: save,
      onEvent: (event) => progress.training(event),
      signal,
    });
    progress.line(`the best model is in ${out}`);
  } catch (error) {
    if (error === signal.reason) progress.line("stopped; the same command goes on from here");
    throw error;
  } finally {
    heed.dispose();
  }
}

async function readCheckpoint(path: string): Promise<TrainingState | null> {
  const bytes = await readFile(path, LARGEST);
  if (!bytes) return null;
  try {
    return parseCheckpoint(bytes, path);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new FormatError(error.code, `${error.message}. Remove the file to begin anew`);
  }
}

function weightsOf(model: Module): Map<string, { shape: readonly number[]; values: Float32Array }> {
  return new Map(
    [...model.stateDict()].map(([name, weight]) => [
      name,
      { shape: weight.shape, values: weight.read() as Float32Array },
    ]),
  );
}
