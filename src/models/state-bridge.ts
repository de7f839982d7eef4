import { Linear } from "../nn/linear.js";
import type { LstmState } from "../nn/lstm.js";
import { Module } from "../nn/module.js";
import { add } from "../ops/arithmetic.js";
import { concat } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";

/** How both directions of a layer become one state: added, or projected. */
export type BridgeKind = "sum" | "linear";

/**
 * Hands the states of a bidirectional encoder to a decoder of as many layers, which has half as
 * many: for each layer the sum of both directions, or a learned Linear(2H, H) of both side by side.
 *
 * State dict: nothing for "sum"; hidden.weight [H, 2H], hidden.bias [H], cell.weight, cell.bias for
 * "linear", the same for every layer.
 */
export class StateBridge extends Module {
  readonly #hidden: Linear | null = null;
  readonly #cell: Linear | null = null;

  constructor(runtime: Runtime, hidden: number, kind: BridgeKind = "sum") {
    super(runtime);
    if (kind !== "sum" && kind !== "linear")
      throw new RangeError(`StateBridge: the bridge must be "sum" or "linear", got "${kind}"`);
    if (kind === "sum") return;
    this.#hidden = this.child("hidden", new Linear(runtime, 2 * hidden, hidden));
    this.#cell = this.child("cell", new Linear(runtime, 2 * hidden, hidden));
  }

  /** States in PyTorch's order, l0, l0 reverse, l1 …, each [B, H] → one a layer. */
  forward({ hidden, cell }: LstmState): LstmState {
    return { hidden: join(hidden, this.#hidden), cell: join(cell, this.#cell) };
  }
}

function join(states: readonly Tensor[], projection: Linear | null): Tensor[] {
  return states.flatMap((forward, index) => {
    if (index % 2 === 1) return [];
    const backward = states[index + 1] as Tensor;
    return [
      projection ? projection.forward(concat([forward, backward], 1)) : add(forward, backward),
    ];
  });
}
