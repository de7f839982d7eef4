/**
 * The tape: how results remember their inputs, and how a loss walks back to them.
 *
 * Every recorded result holds its node, and nodes hold their inputs, so an abandoned graph is
 * garbage collected and there is no list to clear. backward() visits nodes in falling sequence,
 * which is one fixed order whatever the threads did, so sums of gradients have fixed bits.
 */
import { ShapeError, StateError } from "../errors.js";
import type { Runtime } from "../runtime/runtime.js";
import { sameRuntime, showShape } from "../tensor/check.js";
import { empty, ones, zeros } from "../tensor/create.js";
import type { TapeNode, Tensor } from "../tensor/tensor.js";

type Backward = (dy: Tensor) => (Tensor | null)[];
type BackwardMany = (dys: (Tensor | null)[]) => (Tensor | null)[];

let sequence = 0;
const paused = new WeakMap<Runtime, number>(); // depth of noGrad()
const running = new WeakMap<Runtime, Gradients>(); // the backward() under way

/** Does anyone want a gradient of x? */
export function wants(x: Tensor): boolean {
  return x.requiresGrad || x.node !== null;
}

/**
 * Remembers how y came from its inputs. Returns at once when nothing wants a gradient.
 *
 * @param inputs    all that backward reads, ids and masks too: backward() refuses to go on when one
 *                  was written in between
 * @param backward  from ∂loss/∂y to one gradient an input; null where none is wanted, or where it
 *                  was added into gradientOf(input)
 */
export function record(name: string, y: Tensor, inputs: Tensor[], backward: Backward): Tensor {
  recordMany(name, [y], inputs, ([dy]) => backward(dy as Tensor));
  return y;
}

/** record() for an op of several outputs: a gradient is null where its output reached no loss. */
export function recordMany(
  name: string,
  outputs: Tensor[],
  inputs: Tensor[],
  backward: BackwardMany,
): void {
  sameRuntime(name, ...outputs, ...inputs);
  if (!recording(inputs)) return;
  const versions = versionsOf(inputs, outputs);
  const node: TapeNode = { sequence: sequence++, name, inputs, outputs, versions, backward };
  for (const y of outputs) y.node = node;
}

/** Will record() keep an op of these inputs? Lets it skip what only backward would read. */
export function recording(inputs: readonly Tensor[]): boolean {
  const runtime = inputs[0]?.runtime;
  return runtime !== undefined && (paused.get(runtime) ?? 0) === 0 && inputs.some(wants);
}

/** Runs fn without recording: inference, updates of parameters. */
export function noGrad<T>(runtime: Runtime, fn: () => T): T {
  paused.set(runtime, (paused.get(runtime) ?? 0) + 1);
  try {
    return fn();
  } finally {
    paused.set(runtime, (paused.get(runtime) ?? 1) - 1);
  }
}

/**
 * Adds ∂loss/∂x to x.grad of every leaf x that requires it. The graph is used up.
 *
 * @param loss  one element
 * @throws {ShapeError} the loss has more than one element
 * @throws {StateError} nothing was recorded, the graph was used already, or an operand was written
 *   in place since
 */
export function backward(loss: Tensor): void {
  if (loss.size !== 1)
    throw new ShapeError(
      `backward: the loss must be one number, got ${showShape(loss.shape)}. Take its mean or sum`,
    );
  loss.runtime.scope(() => void new BackwardPass(loss).run());
}

/** backward() from any tensor, with ∂loss/∂y given: tests, and losses computed outside. */
export function backwardFrom(y: Tensor, dy: Tensor): void {
  y.runtime.scope(() => void new BackwardPass(y, dy).run());
}

/** A walk from a loss to its leaves that can stop between ops: long work yields there. */
export class BackwardPass {
  readonly #gradients: Gradients;
  readonly #nodes: TapeNode[];
  #next = 0;

  constructor(y: Tensor, dy: Tensor = ones(y.runtime, y.shape)) {
    if (!wants(y))
      throw new StateError(
        "backward: the loss must depend on a tensor with requiresGrad, got one that does not",
      );
    this.#gradients = new Gradients(y.runtime);
    this.#gradients.add(y, dy);
    this.#nodes = reachable(y);
  }

  /** Walks on while `more()` says so; true when the leaves are reached. */
  run(more: () => boolean = () => true): boolean {
    const { runtime } = this.#gradients;
    if (running.has(runtime)) throw new StateError("backward: must not run inside of backward");
    running.set(runtime, this.#gradients);
    try {
      noGrad(runtime, () => {
        do {
          const node = this.#nodes[this.#next];
          if (node) step(node, this.#gradients);
        } while (++this.#next < this.#nodes.length && more());
      });
    } finally {
      running.delete(runtime);
    }
    return this.#next >= this.#nodes.length;
  }
}

/**
 * Inside a backward closure: the buffer that x's gradient is added into in place, zeros at first;
 * null when x wants none. The closure then returns null in x's slot.
 */
export function gradientOf(x: Tensor): Tensor | null {
  const gradients = running.get(x.runtime);
  if (!gradients) throw new StateError("gradientOf: only valid inside of backward");
  return wants(x) ? gradients.buffer(x) : null;
}

function step(node: TapeNode, gradients: Gradients): void {
  const dys = node.outputs.map((y) => gradients.take(y));
  const run = node.backward;
  if (!run)
    throw new StateError(
      `backward: the graph of ${node.name} must not be walked twice. Compute the loss anew`,
    );
  node.backward = null;
  if (dys.every((dy) => dy === null)) return;
  expectUnchanged(node);
  const results = run(dys);
  node.inputs.forEach((x, index) => {
    const dx = results[index];
    if (dx && wants(x)) gradients.add(x, dx);
  });
}

/** Gradients of other values than the forward pass saw would be wrong; of other ids, out of range. */
function expectUnchanged({ name, inputs, outputs, versions }: TapeNode): void {
  const now = versionsOf(inputs, outputs);
  const changed = now.findIndex((version, index) => version !== versions[index]);
  if (changed >= 0)
    throw new StateError(
      `backward: what ${name} read and made must be unchanged until then, got ${[...inputs, ...outputs][changed]} written in place. Write after backward(), or compute the loss anew`,
    );
}

function versionsOf(inputs: readonly Tensor[], outputs: readonly Tensor[]): number[] {
  return [...inputs, ...outputs].map((x) => x.version);
}

function reachable(from: Tensor): TapeNode[] {
  const seen = new Set<TapeNode>();
  const open = [from];
  for (let x = open.pop(); x; x = open.pop()) {
    if (!x.node || seen.has(x.node)) continue;
    seen.add(x.node);
    for (const input of x.node.inputs) open.push(input);
  }
  return [...seen].sort((a, b) => b.sequence - a.sequence);
}

/**
 * Gradients on their way. A gradient may alias another (add passes dy on to both operands), so it
 * is only written in place once this class owns its buffer.
 */
class Gradients {
  readonly runtime: Runtime;
  readonly #pending = new Map<Tensor, { gradient: Tensor; owned: boolean }>();

  constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  take(x: Tensor): Tensor | null {
    const found = this.#pending.get(x);
    this.#pending.delete(x);
    return found?.gradient ?? null;
  }

  add(x: Tensor, dx: Tensor): void {
    if (dx.size !== x.size)
      throw new ShapeError(
        `backward: a gradient must have its tensor's shape, got ${showShape(dx.shape)} for ${showShape(x.shape)}`,
      );
    const found = this.#pending.get(x);
    if (isLeaf(x) || found?.owned) this.#addInto(this.buffer(x), dx);
    else if (!found) this.#pending.set(x, { gradient: dx, owned: false });
    else {
      const sum = empty(this.runtime, x.shape);
      this.runtime.run("addF32", [sum.ptr, found.gradient.ptr, dx.ptr], x.size);
      this.#pending.set(x, { gradient: sum, owned: true });
    }
  }

  buffer(x: Tensor): Tensor {
    if (isLeaf(x)) {
      // As long-lived as x itself.
      x.grad ??= this.runtime.beside(x.storage, () => zeros(this.runtime, x.shape));
      x.grad.touch();
      return x.grad;
    }
    const found = this.#pending.get(x);
    if (found?.owned) return found.gradient;
    const gradient = zeros(this.runtime, x.shape);
    if (found) this.#addInto(gradient, found.gradient);
    this.#pending.set(x, { gradient, owned: true });
    return gradient;
  }

  #addInto(target: Tensor, dx: Tensor): void {
    this.runtime.run("addF32", [target.ptr, target.ptr, dx.ptr], target.size);
  }
}

function isLeaf(x: Tensor): boolean {
  return x.node === null;
}
