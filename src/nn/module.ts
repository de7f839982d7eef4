import { StateError } from "../errors.js";
import type { Runtime } from "../runtime/runtime.js";
import { showShape } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import { type Shape, Tensor } from "../tensor/tensor.js";

/** Values of one tensor of a state dict, as files hold them. */
export interface StateValues {
  readonly shape: Shape;
  readonly values: ArrayLike<number>;
}

export type StateDict = Map<string, Tensor>;

/**
 * Something with weights: parameters, buffers and child modules under PyTorch's names.
 *
 * A subclass declares them in its constructor through parameter(), buffer() and child(); the names
 * given there are the names of the state dict.
 */
export abstract class Module {
  readonly runtime: Runtime;
  /** In training dropout acts; false until train() is called. */
  training = false;
  readonly #parameters = new Map<string, Tensor>();
  readonly #buffers = new Map<string, Tensor>();
  readonly #children = new Map<string, Module>();

  constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  /** Declares a weight that training changes, its values not set yet. */
  protected parameter(name: string, shape: Shape): Tensor {
    const weight = this.runtime.unscoped(() => empty(this.runtime, shape));
    weight.requiresGrad = true;
    this.#parameters.set(name, weight);
    return weight;
  }

  /** Declares a table that is saved with the weights but not trained. */
  protected buffer(name: string, shape: Shape): Tensor {
    const table = this.runtime.unscoped(() => empty(this.runtime, shape));
    this.#buffers.set(name, table);
    return table;
  }

  protected child<M extends Module>(name: string, module: M): M {
    this.#children.set(name, module);
    return module;
  }

  /** Trainable tensors by their state-dict names, in the order of declaration. */
  parameters(): StateDict {
    return this.#collect((module) => module.#parameters);
  }

  /** Parameters and buffers by name: what a file of weights holds. The tensors are the module's own. */
  stateDict(): StateDict {
    return this.#collect((module) => new Map([...module.#parameters, ...module.#buffers]));
  }

  /**
   * Takes over all values of a state dict.
   *
   * @throws {StateError} with every missing, extra and misshapen name; nothing is changed then
   */
  load(state: ReadonlyMap<string, Tensor | StateValues>): this {
    const own = this.stateDict();
    const missing = [...own.keys()].filter((name) => !state.has(name));
    const extra = [...state.keys()].filter((name) => !own.has(name));
    const misshapen = [...own].flatMap(([name, { shape, size }]) => {
      const came = state.get(name);
      if (!came) return [];
      if (came instanceof Tensor) void came.ptr; // alive, before anything is written
      if (showShape(came.shape) !== showShape(shape))
        return [`"${name}" must be ${showShape(shape)}, got ${showShape(came.shape)}`];
      const count = came instanceof Tensor ? came.size : came.values.length;
      return count === size ? [] : [`"${name}" must have ${size} values, got ${count}`];
    });
    const faults = [
      ...(missing.length ? [`missing ${quoted(missing)}`] : []),
      ...(extra.length ? [`extra ${quoted(extra)}`] : []),
      ...(misshapen.length ? [`misshapen ${misshapen.join("; ")}`] : []),
    ];
    if (faults.length)
      throw new StateError(
        `${this.constructor.name}.load: the state dict must hold exactly this module's tensors, got ${faults.join(", ")}. Check the model's configuration`,
      );
    for (const [name, tensor] of own) {
      const source = state.get(name);
      if (source) tensor.write(source instanceof Tensor ? source.read() : source.values);
    }
    return this;
  }

  /** Turns training mode on or off, for all children too. */
  train(training = true): this {
    this.training = training;
    for (const child of this.#children.values()) child.train(training);
    return this;
  }

  eval(): this {
    return this.train(false);
  }

  /** Frees all weights and gradients. May be called twice. */
  dispose(): void {
    for (const tensor of this.stateDict().values()) tensor.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #collect(pick: (module: Module) => Map<string, Tensor>): StateDict {
    const all: StateDict = new Map(pick(this));
    for (const [name, child] of this.#children)
      for (const [inner, tensor] of child.#collect(pick)) all.set(`${name}.${inner}`, tensor);
    return all;
  }
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
