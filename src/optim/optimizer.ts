import { StateError } from "../errors.js";
import { fillStep, sumOfSquares } from "../ops/update.js";
import { expectDType, showShape } from "../tensor/check.js";
import { zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** Tensors, or pairs of name and tensor as Module.parameters() has them. */
export type Parameters = Iterable<Tensor | readonly [name: string, tensor: Tensor]>;

/** The values an optimiser remembers between steps, by name. */
export type OptimizerState = ReadonlyMap<string, Float32Array>;

/**
 * What update rules share: the parameters and what is remembered of each.
 *
 * A step with a NaN or an infinity in any gradient is skipped: parameters and memory stay as they
 * are, and `skipped` counts it. The memory lives outside of every scope until dispose().
 */
export abstract class Optimizer {
  /** The learning rate; a schedule may change it between steps. */
  rate: number;
  /** Steps left out because a gradient was not finite. */
  skipped = 0;
  protected readonly parameters: ReadonlyMap<string, Tensor>;
  readonly #who: string;
  readonly #memory = new Map<string, Tensor>();

  protected constructor(who: string, parameters: Parameters, rate: number) {
    this.#who = who;
    this.rate = rate;
    this.parameters = named(who, parameters);
  }

  /**
   * Updates every parameter that has a gradient.
   *
   * @returns false when the step was skipped
   * @throws {RangeError} the rate is negative or no number
   */
  step(): boolean {
    notNegative(this.#who, "rate", this.rate);
    const ready = [...this.parameters].flatMap(([name, parameter]) =>
      parameter.grad ? [{ name, parameter, gradient: parameter.grad }] : [],
    );
    if (!ready.every(({ gradient }) => Number.isFinite(sumOfSquares(gradient)))) {
      this.skipped++;
      return false;
    }
    for (const { name, parameter, gradient } of ready) this.update(name, parameter, gradient);
    return true;
  }

  /** Sets all gradients to zero; their memory is kept for the next step. */
  zeroGrad(): void {
    for (const { grad } of this.parameters.values()) if (grad) fillStep(grad, 0);
  }

  /** Everything remembered, copied out: with the parameters, what a checkpoint needs. */
  state(): Map<string, Float32Array> {
    return new Map(
      [...this.#memory].map(([name, tensor]) => [name, tensor.read() as Float32Array]),
    );
  }

  /**
   * Goes on from a state(): later steps have the same bits as if there had been no stop.
   *
   * @throws {StateError} with every missing, extra and misshapen name; nothing is changed then
   */
  loadState(state: OptimizerState): void {
    const missing = [...this.#memory.keys()].filter((name) => !state.has(name));
    const extra = [...state.keys()].filter((name) => !this.#memory.has(name));
    const misshapen = [...this.#memory].flatMap(([name, { size }]) => {
      const came = state.get(name)?.length ?? size;
      return came === size ? [] : [`"${name}" must have ${size} values, got ${came}`];
    });
    const faults = [
      ...(missing.length ? [`missing ${quoted(missing)}`] : []),
      ...(extra.length ? [`extra ${quoted(extra)}`] : []),
      ...(misshapen.length ? [`misshapen ${misshapen.join("; ")}`] : []),
    ];
    if (faults.length)
      throw new StateError(
        `${this.#who}.loadState: the state must be that of these parameters, got ${faults.join(", ")}. Build the optimiser as it was`,
      );
    for (const [name, tensor] of this.#memory) tensor.write(state.get(name) as Float32Array);
    this.restored();
  }

  /** Frees what is remembered; parameters and gradients stay. May be called twice. */
  dispose(): void {
    for (const tensor of this.#memory.values()) tensor.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Moves one parameter. */
  protected abstract update(name: string, parameter: Tensor, gradient: Tensor): void;

  /** Called after loadState(): what was derived from the memory must be derived anew. */
  protected restored(): void {}

  /** Zeros of a shape, kept under a name until dispose(). */
  protected remember(name: string, like: Tensor, shape = like.shape): Tensor {
    const tensor = like.runtime.unscoped(() => zeros(like.runtime, shape));
    this.#memory.set(name, tensor);
    return tensor;
  }
}

/** @throws {RangeError} the value is negative or no number */
export function notNegative(who: string, name: string, value: number): void {
  if (!(value >= 0 && value < Infinity))
    throw new RangeError(`${who}: ${name} must be a number from 0 up, got ${value}`);
}

/** A tensor that is listed twice, as tied weights are, is taken once, under its first name. */
function named(who: string, parameters: Parameters): Map<string, Tensor> {
  const byName = new Map<string, Tensor>();
  const seen = new Set<Tensor>();
  for (const item of parameters) {
    const [name, tensor] = "runtime" in item ? [String(seen.size), item] : item;
    if (seen.has(tensor)) continue;
    expectDType(who, tensor, "f32", `parameter "${name}"`);
    if (byName.has(name))
      throw new StateError(
        `${who}: names must differ, got "${name}" for ${showShape(byName.get(name)?.shape ?? [])} and ${showShape(tensor.shape)}`,
      );
    seen.add(tensor);
    byName.set(name, tensor);
  }
  if (byName.size === 0)
    throw new StateError(`${who}: there must be at least one parameter, got none`);
  return byName;
}

function quoted(names: string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}
