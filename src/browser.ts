/**
 * The entry for pages. The runtime lives in a dedicated worker, so the page never freezes; what a
 * page gets is asynchronous. Tensors and ops are in the entry "heed/core", for a worker of your own.
 */
import { StateError } from "./errors.js";
import type { ModelLocation } from "./heed.js";
import { folderAddress } from "./io/sources.js";
import { Host } from "./page/host.js";
import type { PageOptions } from "./page/protocol.js";
import { PAGE_TASKS, type PageTask, type PageTasks } from "./page/tasks.js";
import type { RuntimeInfo } from "./runtime/runtime.js";
import { expectOptions, shown } from "./tasks/arguments.js";
import type {
  DisambiguateOptions,
  Disambiguation,
  LikeSentence,
  RatedSense,
} from "./tasks/disambiguate.js";
import type { TaskName } from "./tasks/load.js";
import type { TranslateOptions } from "./tasks/translate.js";
import { type TranslatedSentence, Translation } from "./tasks/translation.js";

export * from "./errors.js";
export * from "./page/tasks.js";
export type {
  DisambiguateOptions,
  Disambiguation,
  LikeSentence,
  PageOptions,
  RatedSense,
  RuntimeInfo,
  TranslatedSentence,
  TranslateOptions,
};
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
 * @throws {TypeError} {RangeError} an option is of a wrong kind
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
    expectOptions("init", options);
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
   * @param task      what the model is for; default "translate"
   * @throws {FormatError} a file is missing or broken, the files contradict each other, or they are
   *   for another task
   */
  async load(location: ModelLocation): Promise<PageTasks["translate"]>;
  async load<K extends TaskName>(location: ModelLocation, task: K): Promise<PageTasks[K]>;
  async load(location: ModelLocation, task: TaskName = "translate"): Promise<PageTask> {
    if (!Object.hasOwn(PAGE_TASKS, task))
      throw new RangeError(
        `load: the task must be one of ${Object.keys(PAGE_TASKS).join(", ")}, got "${task}"`,
      );
    const absolute =
      typeof location === "string" || location instanceof URL
        ? folderAddress(location, globalThis.location?.href).href
        : location;
    const loaded = new PAGE_TASKS[task](() => this.host(), { location: absolute, task });
    await loaded.ready();
    return loaded;
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
    if (!this.#host || this.#current?.lost) {
      const starting = this.#start();
      this.#host = starting;
      // After a failed start the next call tries again.
      starting.catch(() => {
        if (this.#host === starting) this.#host = null;
      });
    }
    return this.#host;
  }

  async #start(): Promise<Host> {
    const { hostUrl, createHost, ...options } = this.#options;
    const url = hostAddress(hostUrl ?? new URL("./host.browser.mjs", import.meta.url));
    const host = new Host(createHost ? madeBy(createHost) : hostAt(url), url.href);
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

function hostAddress(hostUrl: string | URL): URL {
  try {
    return new URL(hostUrl, globalThis.location?.href);
  } catch {
    throw new RangeError(
      `init: hostUrl must be the address of host.browser.mjs, got ${shown(hostUrl)}`,
    );
  }
}

/** A browser refuses scripts of other origins, and what the page's policy leaves out. */
function hostAt(url: URL): Worker {
  try {
    return new Worker(url, { type: "module", name: "heed" });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replace(/\.$/, "") : String(cause);
    throw new StateError(
      `init: the page must be allowed to run a worker from ${url.href}, got "${reason}". Serve it from the page's origin, or pass { createHost }`,
      { cause },
    );
  }
}

function madeBy(createHost: () => unknown): Worker {
  if (typeof createHost !== "function")
    throw new TypeError(`init: createHost must be a function, got ${shown(createHost)}`);
  const made = createHost();
  // By what it does: it may come from another realm, such as that of a frame.
  const { postMessage, addEventListener, terminate } = Object(made) as Partial<Worker>;
  if (![postMessage, addEventListener, terminate].every((method) => typeof method === "function"))
    throw new TypeError(`init: createHost must return a Worker, got ${shown(made)}`);
  return made as Worker;
}
