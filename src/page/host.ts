import { StateError } from "../errors.js";
import {
  type CallName,
  type Calls,
  type FromWorker,
  type ToWorker,
  unpackError,
} from "./protocol.js";

interface Pending {
  resolve(answer: unknown): void;
  reject(error: unknown): void;
  /** Rejects, and tells the worker to stop. */
  abandon(error: unknown): void;
  readonly onPartial: ((text: string) => void) | undefined;
}

/** The page's end of one runtime worker. Once lost it stays lost: a new one must be started. */
export class Host {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #calls = 0;
  #lost: Error | null = null;

  constructor(worker: Worker, url: string) {
    this.#worker = worker;
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => this.#hear(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      // A script that does not load gives an event without a message.
      this.#lose(
        new StateError(
          `heed: the runtime's worker must run, got ${event.message || `no script at ${url}`}. Pass { hostUrl } when it stands elsewhere`,
        ),
      );
    });
  }

  get lost(): boolean {
    return this.#lost !== null;
  }

  call<K extends CallName>(
    call: K,
    ask: Calls[K]["ask"],
    options: {
      /** What errors about the call begin with; default its name. */
      who?: string;
      onPartial?: ((text: string) => void) | undefined;
      signal?: AbortSignal | undefined;
    } = {},
  ): Promise<Calls[K]["answer"]> {
    const { who = call, signal, onPartial } = options;
    if (this.#lost) return Promise.reject(this.#lost);
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      const abort = (): void => abandon(signal?.reason);
      const settle = (): void => {
        this.#pending.delete(id);
        signal?.removeEventListener("abort", abort);
      };
      const fail = (error: unknown): void => {
        settle();
        reject(error);
      };
      const abandon = (error: unknown): void => {
        this.#post({ call: "abort", id });
        fail(error);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#pending.set(id, {
        resolve: (answer) => {
          settle();
          resolve(answer as Calls[K]["answer"]);
        },
        reject: fail,
        abandon,
        onPartial,
      });
      try {
        this.#post({ call, id, ask } as ToWorker);
      } catch (error) {
        fail(unpostable(who, error));
      }
    });
  }

  dispose(): void {
    this.#lose(new StateError("heed: the runtime must be alive, but it was disposed. Init again"));
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromWorker): void {
    const pending = this.#pending.get(message.id);
    if (message.kind === "partial") {
      try {
        pending?.onPartial?.(message.text);
      } catch (error) {
        pending?.abandon(error);
      }
      return;
    }
    if (message.kind === "answer") pending?.resolve(message.answer);
    else {
      const error = unpackError(message.error);
      pending?.reject(error);
      if (message.error.lost) this.#lose(error);
    }
  }

  #lose(error: Error): void {
    if (this.#lost) return;
    this.#lost = error;
    this.#worker.terminate();
    for (const pending of this.#pending.values()) pending.reject(error);
  }
}

/** postMessage() says what it cannot copy, not whose it is. What a getter threw comes as it is. */
function unpostable(who: string, error: unknown): unknown {
  if (!(error instanceof DOMException && error.name === "DataCloneError")) return error;
  const reason = error.message.replace(/^Failed to execute .*?: /, "").replace(/\.$/, "");
  return new TypeError(
    `${who}: what is given must be plain data that a worker can get, got "${reason}"`,
    { cause: error },
  );
}
