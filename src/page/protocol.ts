/**
 * What a page and its runtime worker say to each other. Every request has a number of its own and
 * gets exactly one result or error with that number, after any number of partial texts.
 */
import * as errors from "../errors.js";
import type { HeedOptions, ModelLocation } from "../heed.js";
import type { RuntimeInfo } from "../runtime/runtime.js";
import type { TaskName } from "../tasks/load.js";

/** Options that can be posted: no functions. */
export type PageOptions = Pick<
  HeedOptions,
  "threads" | "initialBytes" | "maximumBytes" | "precision"
> & {
  /** The folder that holds heed.<build>.wasm. */
  readonly wasmUrl?: string;
  /** Where worker.browser.mjs is. */
  readonly workerUrl?: string;
};

export interface Calls {
  init: { ask: PageOptions; answer: RuntimeInfo };
  info: { ask: null; answer: RuntimeInfo };
  /** The answer is the model's number. */
  load: {
    ask: { readonly location: Exclude<ModelLocation, URL>; readonly task: TaskName };
    answer: number;
  };
  unload: { ask: number; answer: null };
  /** A method of a loaded task; what it is given and what it answers can be posted. */
  use: {
    ask: {
      readonly model: number;
      readonly method: string;
      readonly args: readonly unknown[];
      /** The method's last argument, without its signal and onPartial. */
      readonly options: object;
    };
    answer: unknown;
  };
}

export type CallName = keyof Calls;

export type ToWorker =
  | { [K in CallName]: { call: K; id: number; ask: Calls[K]["ask"] } }[CallName]
  | { readonly call: "abort"; readonly id: number };

export type FromWorker =
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown }
  | { readonly kind: "partial"; readonly id: number; readonly text: string }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorData };

/** An error on its way: its class by name, so that it is the same kind on the other side. */
export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  /** The runtime cannot be used any more. */
  readonly lost: boolean;
}

export function packError(error: unknown, lost: boolean): ErrorData {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const code = error instanceof errors.FormatError ? error.code : undefined;
  return { name, message, stack, code, lost };
}

const CLASSES: ReadonlyMap<string, new (message: string) => Error> = new Map<
  string,
  new (
    message: string,
  ) => Error
>([
  ...[
    errors.HeedError,
    errors.ShapeError,
    errors.DTypeError,
    errors.IndexError,
    errors.StateError,
  ].map((kind) => [new kind("").name, kind] as const),
  ["TypeError", TypeError],
  ["RangeError", RangeError],
]);

export function unpackError({ name, message, stack, code }: ErrorData): Error {
  const Kind = CLASSES.get(name) ?? Error;
  const error = code === undefined ? new Kind(message) : new errors.FormatError(code, message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
