/** The tasks of a page: each calls its namesake in the runtime's worker, with the same results to the bit. */
import { StateError } from "../errors.js";
import type { Answering, AnswerOptions, QuestionAndContext } from "../tasks/answer.js";
import { expectOptions } from "../tasks/arguments.js";
import type { DisambiguateOptions, Disambiguation } from "../tasks/disambiguate.js";
import type { TaskName } from "../tasks/load.js";
import type { Perplexity } from "../tasks/long-range.js";
import type { Reading } from "../tasks/reading.js";
import type { RecallExample, RecallOptions, RecallScore } from "../tasks/recall.js";
import type { SummarizeOptions } from "../tasks/summarize.js";
import type { Summary } from "../tasks/summary.js";
import type { TranslateOptions } from "../tasks/translate.js";
import { Translation } from "../tasks/translation.js";
import type { Host } from "./host.js";
import type { Calls } from "./protocol.js";

/** What a call gets besides plain data. */
interface CallOptions {
  readonly onPartial?: ((text: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A task whose model lives in the runtime's worker. */
export abstract class PageTask {
  readonly #host: () => Promise<Host>;
  readonly #source: Calls["load"]["ask"];
  #loaded: { host: Host; model: Promise<number> } | null = null;
  #disposed = false;

  constructor(host: () => Promise<Host>, source: Calls["load"]["ask"]) {
    this.#host = host;
    this.#source = source;
  }

  /** Loads the model into the live worker, unless it is there. */
  async ready(): Promise<{ host: Host; model: number }> {
    if (this.#disposed)
      throw new StateError(`${this.#source.task}: the model must be loaded, got a disposed one`);
    const host = await this.#host();
    if (this.#loaded?.host !== host)
      this.#loaded = { host, model: host.call("load", this.#source) };
    try {
      return { host, model: await this.#loaded.model };
    } catch (error) {
      this.#loaded = null;
      throw error;
    }
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const loaded = this.#loaded;
    if (!loaded || loaded.host.lost) return;
    void loaded.model.then((model) => loaded.host.call("unload", model)).catch(() => {});
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Calls a method of the task in the worker. */
  protected async use(
    method: string,
    args: readonly unknown[],
    given: CallOptions,
  ): Promise<unknown> {
    const who = this.#source.task;
    expectOptions(who, given);
    const { onPartial, signal, ...options } = given;
    signal?.throwIfAborted();
    const { host, model } = await this.ready();
    return host.call("use", { model, method, args, options }, { who, onPartial, signal });
  }
}

export class PageTranslator extends PageTask {
  /** As Translator.translate. */
  async translate(text: string, options: TranslateOptions = {}): Promise<Translation> {
    const [translation] = await this.translateAll([text], options);
    return translation as Translation;
  }

  /** As Translator.translateAll. */
  async translateAll(
    texts: readonly string[],
    options: TranslateOptions = {},
  ): Promise<Translation[]> {
    const found = (await this.use("translateAll", [texts], options)) as Translation[];
    // Posted data has no getters.
    return found.map(({ sentences }) => new Translation(sentences));
  }
}

export class PageQuestionAnswerer extends PageTask {
  /** As QuestionAnswerer.answer. */
  async answer(question: string, context: string, options: AnswerOptions = {}): Promise<Answering> {
    return (await this.use("answer", [question, context], options)) as Answering;
  }

  /** As QuestionAnswerer.answerAll. */
  async answerAll(
    items: readonly QuestionAndContext[],
    options: AnswerOptions = {},
  ): Promise<Answering[]> {
    return (await this.use("answerAll", [items], options)) as Answering[];
  }
}

export class PageDisambiguator extends PageTask {
  /** As Disambiguator.disambiguate. */
  async disambiguate(
    word: string,
    sentence: string,
    options: DisambiguateOptions = {},
  ): Promise<Disambiguation[]> {
    return (await this.use("disambiguate", [word, sentence], options)) as Disambiguation[];
  }

  /** As Disambiguator.disambiguateAll. */
  async disambiguateAll(
    word: string,
    sentences: readonly string[],
    options: DisambiguateOptions = {},
  ): Promise<Disambiguation[][]> {
    return (await this.use("disambiguateAll", [word, sentences], options)) as Disambiguation[][];
  }
}

export class PageLongRange extends PageTask {
  /** As LongRange.read. */
  async read(text: string, options: { readonly signal?: AbortSignal } = {}): Promise<Reading> {
    return (await this.use("read", [text], options)) as Reading;
  }

  /** As LongRange.perplexity. */
  async perplexity(
    texts: readonly string[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<Perplexity> {
    return (await this.use("perplexity", [texts], options)) as Perplexity;
  }
}

export class PageRecall extends PageTask {
  /** As Recall.scores, all at once. */
  async scores(options: Omit<RecallOptions, "onScore"> = {}): Promise<RecallScore[]> {
    return (await this.use("scores", [], options)) as RecallScore[];
  }

  /** As Recall.example. */
  async example(distance: number, seed = 1): Promise<RecallExample> {
    return (await this.use("example", [distance, seed], {})) as RecallExample;
  }
}

export class PageSummarizer extends PageTask {
  /** As Summarizer.summarize. */
  async summarize(text: string, options: SummarizeOptions = {}): Promise<Summary> {
    return (await this.use("summarize", [text], options)) as Summary;
  }
}

/** What PageHeed.load() gives for each task. */
export interface PageTasks {
  answer: PageQuestionAnswerer;
  disambiguate: PageDisambiguator;
  "long-range": PageLongRange;
  recall: PageRecall;
  summarize: PageSummarizer;
  translate: PageTranslator;
}

export const PAGE_TASKS: {
  readonly [K in TaskName]: new (
    ...args: ConstructorParameters<typeof PageTranslator>
  ) => PageTasks[K];
} = {
  answer: PageQuestionAnswerer,
  disambiguate: PageDisambiguator,
  "long-range": PageLongRange,
  recall: PageRecall,
  summarize: PageSummarizer,
  translate: PageTranslator,
};
