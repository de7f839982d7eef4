import { existsSync } from "node:fs";
import { join } from "node:path";
import { FormatError, HeedError } from "../errors.js";
import { parseCheckpoint, serializeCheckpoint } from "../io/checkpoint.js";
import { MODEL_FILES } from "../io/model-folder.js";
import { type ModelToSave, writeModelFolder } from "../io/save.js";
import { loadTokenizer, type Tokenizer } from "../io/tokenizer.js";
import { packWeights, type Storage } from "../io/weights.js";
import type { Module } from "../nn/module.js";
import { init } from "../node.js";
import {
  expectWritable,
  makeFolder,
  readFile,
  replaceFile,
  replaceFiles,
} from "../platform/node-files.js";
import { type Lesson, trainLesson } from "../tasks/training.js";
import type { TrainingState } from "../train/trainer.js";
import { type Beginning, readBeginning } from "./beginning.js";
import { Progress } from "./progress.js";

/** Options that all training programs have. */
export interface TrainOptions {
  readonly out: string;
  /** A model folder whose weights training begins with. */
  readonly from?: string;
  readonly tokenizer?: string;
  readonly epochs: number;
  readonly batch: number;
  readonly rate: number;
  readonly patience: number;
  readonly seed: number;
  readonly storage: Storage;
  readonly threads?: number;
}

/** What one program trains: how a model folder of its kind is made. */
export interface TrainingProgram<Options extends TrainOptions, M extends Module, Item> {
  /** What config.json will say it is for. */
  readonly task: string;
  /** A path, when nothing is said; null where the program needs one to be said, or needs none. */
  readonly tokenizer: string | null;
  /** Reads the data. */
  prepare(options: Options, tokenizer: Tokenizer, signal: AbortSignal): Promise<Prepared<M, Item>>;
}

export interface Prepared<M extends Module, Item> {
  /** What config.json will hold beside the task. */
  readonly config: ModelToSave["config"];
  readonly lesson: Lesson<M, Item>;
  /** What the items are called: "pairs". */
  readonly items: string;
}

/** What Ctrl-C says. */
export const RESUMES = "stopping; once more to stop at once";

const CHECKPOINT = "checkpoint.safetensors";
const LARGEST = 2 ** 31;
/** Steps over which the rate rises, at most; a tenth of a short run. */
const WARMUP = 400;
/** Milliseconds. */
const CHECKPOINT_EVERY = 300_000;

/**
 * `heed train …`: learns from the program's data and writes a model folder to OUT whenever
 * validation improves. Goes on from OUT/checkpoint.safetensors.
 */
export async function trainCommand<Options extends TrainOptions, M extends Module, Item>(
  program: TrainingProgram<Options, M, Item>,
  options: Options,
  signal: AbortSignal,
): Promise<void> {
  const { out, batch, epochs, patience, rate, seed, storage } = options;
  const progress = new Progress(process.stderr);
  if (options.from !== undefined && options.tokenizer !== undefined)
    throw new HeedError(
      "train: --from must come without --tokenizer, got both. A model's weights are of its own tokenizer",
    );
  const from = options.from === undefined ? null : await readBeginning(options.from, program.task);
  const { bytes: tokenizerBytes, file: tokenizerFile } = await tokenizerOf(
    options.tokenizer,
    from,
    program.tokenizer,
  );
  const tokenizer = loadTokenizer(tokenizerBytes, tokenizerFile);
  const checkpoint = join(out, CHECKPOINT);
  const resume = await readCheckpoint(checkpoint);
  const before = existing(out);
  if (!resume && before)
    throw new HeedError(
      `train: ${out} must hold a checkpoint to go on from, or no model, got a model without one (${before}). It would be lost: give another folder with --out`,
    );
  await makeFolder(out);
  for (const file of [...Object.keys(MODEL_FILES), CHECKPOINT])
    await expectWritable(join(out, file));
  const prepared = await program.prepare(options, tokenizer, signal);
  const { items } = prepared;
  const config = { task: program.task, ...prepared.config };
  const lesson = from ? from.lesson(prepared.lesson, config) : prepared.lesson;
  let saved = false;
  const save = async (model: Module): Promise<void> => {
    const write = (files: ReadonlyMap<string, Uint8Array>): Promise<void> =>
      replaceFiles(new Map([...files].map(([file, bytes]) => [join(out, file), bytes])));
    const tensors = packWeights(weightsOf(model), storage);
    await writeModelFolder(write, { config, tensors, tokenizer: tokenizerBytes });
    saved = true;
  };

  const heed = await init(options.threads ? { threads: options.threads } : {});
  try {
    const steps = epochs * Math.ceil(lesson.items.length / batch);
    progress.line(
      `${lesson.items.length} ${items}, ${lesson.validation.length} for validation, ${heed.threads} thread(s)${
        resume ? `; going on after ${resume.step} steps` : ""
      }`,
    );
    await trainLesson(lesson, {
      runtime: heed,
      epochs,
      batch,
      rate,
      warmup: Math.min(WARMUP, Math.ceil(steps / 10)),
      weightDecay: 0.01,
      seed,
      patience,
      resume,
      checkpointEvery: CHECKPOINT_EVERY,
      checkpoint: (state) => replaceFile(checkpoint, serializeCheckpoint(state)),
      onBest: save,
      onEvent: (event) => progress.training(event),
      signal,
    });
    if (!saved && !before)
      throw new HeedError(
        `train: ${out} must hold the best model of this run, got none, and no later one was better. Begin anew in an empty folder`,
      );
    progress.line(saved ? `the best model is in ${out}` : `the model in ${out} is still the best`);
  } catch (error) {
    if (error === signal.reason) progress.line("stopped; the same command goes on from here");
    throw error;
  } finally {
    heed.dispose();
  }
}

/** The file that is named, or else that of the model to begin with, or else the program's own. */
async function tokenizerOf(
  named: string | undefined,
  from: Beginning | null,
  own: string | null,
): Promise<Beginning["tokenizer"]> {
  if (named === undefined && from) return from.tokenizer;
  const file = named ?? own;
  if (file === null)
    throw new HeedError("train: there must be a tokenizer, got none. Give it with --tokenizer");
  const bytes = await readFile(file, LARGEST);
  if (!bytes)
    throw new HeedError(
      named === undefined
        ? "train: the tokenizer that is used when none is said must come with heed, got none. Give one with --tokenizer"
        : `train: there must be a tokenizer at ${file}, got no such file`,
    );
  return { bytes, file };
}

/** A file of a model that is there already; a tokenizer is none yet. */
function existing(folder: string): string | undefined {
  return ["config.json", "model.safetensors"].find((file) => existsSync(join(folder, file)));
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
