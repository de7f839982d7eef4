import { FormatError } from "../errors.js";
import { type ModelFolder, type ModelSource, readModelFolder } from "../io/model-folder.js";
import type { Runtime } from "../runtime/runtime.js";
import { loadQuestionAnswerer, type QuestionAnswerer } from "./answer.js";
import { type Disambiguator, loadDisambiguator } from "./disambiguate.js";
import { type LongRange, loadLongRange } from "./long-range.js";
import { loadRecall, type Recall } from "./recall.js";
import { loadSummarizer, type Summarizer } from "./summarize.js";
import { loadTranslator, type Translator } from "./translate.js";

/** The tasks that a model folder may be for, and what loading one gives. */
export interface Tasks {
  answer: QuestionAnswerer;
  disambiguate: Disambiguator;
  "long-range": LongRange;
  recall: Recall;
  summarize: Summarizer;
  translate: Translator;
}

export type TaskName = keyof Tasks;

const LOADERS: {
  readonly [K in TaskName]: (runtime: Runtime, folder: ModelFolder, name: string) => Tasks[K];
} = {
  answer: loadQuestionAnswerer,
  disambiguate: loadDisambiguator,
  "long-range": loadLongRange,
  recall: loadRecall,
  summarize: loadSummarizer,
  translate: loadTranslator,
};

/**
 * The task that a model folder holds.
 *
 * @throws {FormatError} a file is missing or broken, the files contradict each other, or they are
 *   for another task
 */
export async function loadTask<K extends TaskName>(
  runtime: Runtime,
  source: ModelSource,
  task: K,
): Promise<Tasks[K]> {
  if (!Object.hasOwn(LOADERS, task))
    throw new RangeError(
      `load: the task must be one of ${Object.keys(LOADERS).join(", ")}, got "${task}"`,
    );
  const folder = await readModelFolder(source);
  const held = folder.config.get("task");
  if (typeof held === "string" && held !== task && Object.hasOwn(LOADERS, held))
    throw new FormatError(
      "CONFIG_TASK",
      `${source.name}: the model must be for "${task}", got one for "${held}". Load it with load(location, "${held}")`,
    );
  return LOADERS[task](runtime, folder, source.name);
}
