import { ShapeError } from "../errors.js";
import { dropout } from "../ops/dropout.js";
import { type LstmWeights, lstmLayer } from "../ops/lstm.js";
import { lstmCell } from "../ops/lstm-cell.js";
import { concat } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";
import { uniformStep } from "./init.js";
import { Module } from "./module.js";

export interface LstmOptions {
  readonly layers?: number;
  /** Probability, on the output of every layer but the last, in training. */
  readonly dropout?: number;
  readonly bidirectional?: boolean;
}

/** Hidden and cell state a layer and direction, in PyTorch's order: l0, l0 reverse, l1 … each [B, H]. */
export interface LstmState {
  readonly hidden: Tensor[];
  readonly cell: Tensor[];
}

export interface LstmResult extends LstmState {
  /** f32[B, L, H], or [B, L, 2H] when bidirectional: forward beside backward. */
  readonly output: Tensor;
}

/**
 * Long short-term memory over a padded batch, batch first, gates in the order i, f, g, o.
 *
 * State dict as torch.nn.LSTM: weight_ih_l0 [4H, I], weight_hh_l0 [4H, H], bias_ih_l0, bias_hh_l0
 * [4H], further layers l1 …, backward directions with the suffix _reverse.
 *
 * @source Hochreiter & Schmidhuber 1997; torch.nn.LSTM for names, gate order and both biases
 */
export class LSTM extends Module {
  readonly hidden: number;
  readonly layers: number;
  readonly directions: 1 | 2;
  readonly #dropout: number;
  readonly #weights: LstmWeights[] = [];

  constructor(runtime: Runtime, inputs: number, hidden: number, options: LstmOptions = {}) {
    super(runtime);
    this.hidden = hidden;
    this.layers = options.layers ?? 1;
    this.directions = options.bidirectional ? 2 : 1;
    this.#dropout = options.dropout ?? 0;
    if (!(Number.isInteger(this.layers) && this.layers >= 1))
      throw new RangeError(`LSTM: layers must be an integer from 1 up, got ${this.layers}`);
    if (!(this.#dropout >= 0 && this.#dropout <= 1))
      throw new RangeError(`LSTM: dropout must lie in 0 … 1, got ${this.#dropout}`);
    const bound = 1 / Math.sqrt(Math.max(hidden, 1));
    for (let layer = 0; layer < this.layers; layer++)
      for (let direction = 0; direction < this.directions; direction++) {
        const suffix = `l${layer}${direction ? "_reverse" : ""}`;
        const width = layer === 0 ? inputs : hidden * this.directions;
        const declare = (name: string, shape: number[]): Tensor =>
          uniformStep(this.parameter(`${name}_${suffix}`, shape), bound);
        this.#weights.push({
          weightIh: declare("weight_ih", [4 * hidden, width]),
          weightHh: declare("weight_hh", [4 * hidden, hidden]),
          biasIh: declare("bias_ih", [4 * hidden]),
          biasHh: declare("bias_hh", [4 * hidden]),
        });
      }
  }

  /**
   * @param x        f32[B, L, inputs]
   * @param options.state    starts from zeros when absent
   * @param options.lengths  i32[B]: row b has lengths[b] steps, zeros behind; all L when absent
   */
  forward(
    x: Tensor,
    options: { readonly state?: LstmState; readonly lengths?: Tensor } = {},
  ): LstmResult {
    const { state, lengths } = options;
    const hidden: Tensor[] = [];
    const cell: Tensor[] = [];
    let output = x;
    for (let layer = 0; layer < this.layers; layer++) {
      const input = layer > 0 ? this.#drop(output) : output;
      const sides = this.#weights
        .slice(layer * this.directions, (layer + 1) * this.directions)
        .map((weights, direction) => {
          const index = layer * this.directions + direction;
          return lstmLayer(input, weights, {
            ...at(state, index),
            ...(lengths && { lengths }),
            reverse: direction === 1,
          });
        });
      for (const side of sides) {
        hidden.push(side.hidden);
        cell.push(side.cell);
      }
      const outputs = sides.map((side) => side.output);
      output = outputs.length === 1 ? (outputs[0] as Tensor) : concat(outputs, 2);
    }
    return { output, hidden, cell };
  }

  /** One step: x f32[B, inputs] → the state after it; the output is hidden of the last layer. */
  step(x: Tensor, state: LstmState): LstmState {
    if (this.directions === 2)
      throw new ShapeError("LSTM.step: must run forward in time, got a bidirectional LSTM");
    const hidden: Tensor[] = [];
    const cell: Tensor[] = [];
    let input = x;
    this.#weights.forEach((weights, layer) => {
      if (layer > 0) input = this.#drop(input);
      const before = at(state, layer);
      const after = lstmCell(input, before.hidden, before.cell, weights);
      hidden.push(after.hidden);
      cell.push(after.cell);
      input = after.hidden;
    });
    return { hidden, cell };
  }

  #drop(x: Tensor): Tensor {
    return this.training && this.#dropout > 0 ? dropout(x, this.#dropout) : x;
  }
}

function at(state: LstmState, index: number): { hidden: Tensor; cell: Tensor };
function at(state: LstmState | undefined, index: number): { hidden?: Tensor; cell?: Tensor };
function at(state: LstmState | undefined, index: number): { hidden?: Tensor; cell?: Tensor } {
  if (!state) return {};
  const hidden = state.hidden[index];
  const cell = state.cell[index];
  if (!hidden || !cell)
    throw new ShapeError(
      `LSTM: the state must hold one hidden and one cell tensor a layer and direction, got ${state.hidden.length} and ${state.cell.length}`,
    );
  return { hidden, cell };
}
