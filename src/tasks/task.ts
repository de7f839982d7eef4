import { StateError } from "../errors.js";
import type { Module } from "../nn/module.js";
import { expectOptions } from "./arguments.js";

/** What is done with a model, until the model is disposed. */
export abstract class Task<M extends Module> {
  readonly model: M;
  readonly #name: string;
  #disposed = false;

  /** @param name  what errors begin with */
  constructor(name: string, model: M) {
    this.#name = name;
    this.model = model;
  }

  /** Frees the model's weights; work that still goes on is refused. May be called twice. */
  dispose(): void {
    this.#disposed = true;
    this.model.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /**
   * Runs what a method does with its options.
   *
   * @throws {TypeError} the options are none: see expectOptions()
   * @throws {StateError} the task is disposed, or becomes so in the middle of the work
   */
  protected async use<T>(options: object, work: () => Promise<T>): Promise<T> {
    expectOptions(this.#name, options);
    this.expectLoaded();
    try {
      return await work();
    } catch (error) {
      // Freed under the work's hands, it complains of some tensor.
      if (error instanceof StateError) this.expectLoaded({ cause: error });
      throw error;
    }
  }

  /** @throws {StateError} the task is disposed; where the whole runtime is, that is said instead */
  protected expectLoaded(options?: ErrorOptions): void {
    if (this.#disposed && !this.model.runtime.lost)
      throw new StateError(`${this.#name}: the model must be loaded, got a disposed one`, options);
  }
}
