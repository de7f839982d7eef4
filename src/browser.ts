/**
 * The entry for pages. The runtime lives in a dedicated worker, so the page never freezes; what a
 * page gets is asynchronous. Tensors and ops are in the entry "heed/core", for a worker of your own.
 */
import { StateError } from "./errors.js";
import type { ModelLocation } from "./heed.js";
import { Host } from "./page/host.js";
import type { PageOptions } from "./page/protocol.js";
import type { RuntimeInfo } from "./runtime/runtime.js";
import type { TranslateOptions } from "./tasks/translate.js";
import { type TranslatedSentence, Translation } from "./tasks/translation.js";

export * from "./errors.js";
export type { PageOptions, RuntimeInfo, TranslatedSentence, TranslateOptions };
export { Translation };

export type PageInit = PageOptions & {
  /** Where host.browser.mjs is; default: beside this file. */
  readonly hostUrl?: string | URL;
  /** Makes the worker that runs it, for pages whose policy restricts `new Worker(url)`. */
  readonly createHost?: () => Worker;
};

/**
 * Starts heed for a page.
 *
 * @throws {StateError} a script or the kernels are not where they should be, or memory cannot be reserved
 * @example
 * const heed = await init();
 * const translator = await heed.load("/models/translate-en-es");
 * const { text } = await translator.translate("The black cat sleeps.");
 */
export async function init(options: PageInit = {}): Promise<PageHeed> {
  const heed = new PageHeed(options);
  await heed.info();
  return heed;
}

/** A runtime in a worker. When the worker is lost, the next call starts another and loads its models. */
export class PageHeed {
  readonly #options: PageInit;
  #host: Promise<Host> | null = null;
  #current: Host | null = null;
  #disposed = false;

  constructor(options: PageInit) {
    this.#options = options;
  }

  /** Which build runs, on how many threads, and why not more. */
  async info(): Promise<RuntimeInfo> {
    return (await this.host()).call("info", null);
  }

  /**
   * Loads a model folder.
   *
   * @param location  an address, relative to the page, or the files themselves by name
   * @throws {FormatError} a file is missing or broken, or the files contradict each other
   */
  async load(location: ModelLocation): Promise<PageTranslator> {
    const absolute =
      typeof location === "string" || location instanceof URL
        ? new URL(location, globalThis.location?.href).href
        : location;
    const translator = new PageTranslator(this, absolute);
    await translator.ready();
    return translator;
  }

  /** Ends the worker and gives its memory back. May be called twice. */
  dispose(): void {
    this.#disposed = true;
    this.#current?.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** The live worker; another one when the last was lost. */
  async host(): Promise<Host> {
    if (this.#disposed)
      throw new StateError("heed: the runtime must be alive, but it was disposed. Init again");
    if (!this.#host || this.#current?.lost) this.#host = this.#start();
    return this.#host;
  }

  async #start(): Promise<Host> {
    const { hostUrl, createHost, ...options } = this.#options;
    const url = new URL(
      hostUrl ?? new URL("./host.browser.mjs", import.meta.url),
      globalThis.location?.href,
    );
    const worker = createHost ? createHost() : new Worker(url, { type: "module", name: "heed" });
    const host = new Host(worker, url.href);
    this.#current = host;
    try {
      await host.call("init", options);
      return host;
    } catch (error) {
      host.dispose();
      throw error;
    }
  }
}

/** A translator whose model lives in the runtime's worker. */
export class PageTranslator {
  readonly #heed: PageHeed;
  readonly #location: string | Readonly<Record<string, Uint8Array>>;
  #loaded: { host: Host; model: Promise<number> } | null = null;
  #disposed = false;

  constructor(heed: PageHeed, location: string | Readonly<Record<string, Uint8Array>>) {
    this.#heed = heed;
    this.#location = location;
  }

  /** As Translator.translate: the same text and weights, to the bit. */
  async translate(text: string, options: TranslateOptions = {}): Promise<Translation> {
    const [translation] = await this.translateAll([text], options);
    return translation as Translation;
  }

  async translateAll(
    texts: readonly string[],
    { beam, lengthPenalty, onPartial, signal }: TranslateOptions = {},
  ): Promise<Translation[]> {
    signal?.throwIfAborted();
    const { host, model } = await this.ready();
    const found = await host.call(
      "translate",
      { model, texts, beam, lengthPenalty },
      { onPartial, signal },
    );
    return found.map((sentences) => new Translation(sentences));
  }

  /** Loads the model into the live worker, unless it is there. */
  async ready(): Promise<{ host: Host; model: number }> {
    if (this.#disposed)
      throw new StateError("translate: the model must be loaded, got a disposed one");
    const host = await this.#heed.host();
    if (this.#loaded?.host !== host)
      this.#loaded = { host, model: host.call("load", this.#location) };
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
}
