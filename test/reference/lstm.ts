/** The four weights of one layer and direction, row-major, gates in the order i, f, g, o. */
export interface LstmParameters {
  readonly weightIh: ArrayLike<number>; // [4·units, inputs]
  readonly weightHh: ArrayLike<number>; // [4·units, units]
  readonly biasIh: ArrayLike<number>; // [4·units]
  readonly biasHh: ArrayLike<number>; // [4·units]
  readonly units: number;
  readonly inputs: number;
}

export interface LstmState {
  readonly hidden: readonly number[];
  readonly cell: readonly number[];
}

/** One step of one row. */
export function lstmStep(x: readonly number[], state: LstmState, p: LstmParameters): LstmState {
  const { units, inputs } = p;
  const gate = (index: number, unit: number): number => {
    const row = index * units + unit;
    let sum = at(p.biasIh, row) + at(p.biasHh, row);
    for (let k = 0; k < inputs; k++) sum += at(p.weightIh, row * inputs + k) * at(x, k);
    for (let k = 0; k < units; k++) sum += at(p.weightHh, row * units + k) * at(state.hidden, k);
    return sum;
  };
  const hidden: number[] = [];
  const cell: number[] = [];
  for (let unit = 0; unit < units; unit++) {
    const i = sigmoid(gate(0, unit));
    const f = sigmoid(gate(1, unit));
    const g = Math.tanh(gate(2, unit));
    const o = sigmoid(gate(3, unit));
    const c = f * at(state.cell, unit) + i * g;
    cell.push(c);
    hidden.push(o * Math.tanh(c));
  }
  return { hidden, cell };
}

/** What a whole layer takes beside its parameters; row-major, float64. */
export interface LstmOperands {
  readonly x: ArrayLike<number>; // [batch, steps, inputs]
  readonly hidden: ArrayLike<number>; // [batch, units]
  readonly cell: ArrayLike<number>; // [batch, units]
  readonly lengths: readonly number[]; // [batch]
  readonly steps: number;
  readonly reverse: boolean;
}

/** Every row on its own, for its own length, in its own direction. */
export function lstmLayer(operands: LstmOperands, p: LstmParameters) {
  const { x, lengths, steps, reverse } = operands;
  const { units, inputs } = p;
  const batch = lengths.length;
  const output = new Float64Array(batch * steps * units);
  const hidden = new Float64Array(batch * units);
  const cell = new Float64Array(batch * units);
  lengths.forEach((length, row) => {
    let state: LstmState = {
      hidden: slice(operands.hidden, row * units, units),
      cell: slice(operands.cell, row * units, units),
    };
    for (let step = 0; step < length; step++) {
      const position = row * steps + (reverse ? length - 1 - step : step);
      state = lstmStep(slice(x, position * inputs, inputs), state, p);
      output.set(state.hidden, position * units);
    }
    hidden.set(state.hidden, row * units);
    cell.set(state.cell, row * units);
  });
  return { output, hidden, cell };
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function slice(values: ArrayLike<number>, from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => at(values, from + index));
}

function at(values: ArrayLike<number>, index: number): number {
  return values[index] as number;
}
