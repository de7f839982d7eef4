/** The tasks of a page: each calls its namesake in the runtime's worker, with the same results to the bit. */
import { StateError } from "../errors.js";
import type { TaskName } from "../tasks/load.js";
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
    { onPartial, signal, ...options }: CallOptions,
  ): Promise<unknown> {
    signal?.throwIfAborted();
    const { host, model } = await this.ready();
    return host.call("use", { model, method, args, options }, { onPartial, signal });
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

/** What PageHeed.load() gives for each task. */
export interface PageTasks {
  translate: PageTranslator;
}

export const PAGE_TASKS: {
  readonly [K in TaskName]: new (
    ...args: ConstructorParameters<typeof PageTranslator>
  ) => PageTasks[K];
} = {
  translate: PageTranslator,
};
