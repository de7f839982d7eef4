import { beforeEach, describe, expect, test } from "vitest";
import { type LstmParameters, lstmStep } from "../reference/lstm.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

const k = loadKernels("simd");
beforeEach(() => k.reset());

// One below, at and above a group of eight units, and several groups.
const UNITS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 40];
// Every height of tile, and rows shared out over several.
const ROWS = [0, 1, 2, 3, 4, 5, 6, 9, 11];
// Sums of at most 40 products below 4, then σ or tanh of 4 ulp: a few 2⁻²² absolute.
const TOLERANCE = 2e-6;

/** A step whose gates' input is given whole: no x, biases as the rows' own. */
function operands(rows: number, units: number, seed = 1) {
  const random = seeded(seed);
  return {
    rows,
    units,
    gates: random.array(rows * 4 * units),
    hidden: random.array(rows * units, 0.5),
    cell: random.array(rows * units),
    weight: random.array(4 * units * units, 1 / Math.sqrt(units)),
  };
}
type Operands = ReturnType<typeof operands>;

/** Buffers and arguments of one step, and both states as the outputs. */
function prepareStep(x: Operands) {
  const { rows, units } = x;
  const groups = Math.ceil(units / 8);
  const panels = k.guarded(32 * groups * units);
  k.call("lstmPackF32", [panels, k.f32(x.weight), units, units], 0, 4 * groups);
  const hidden = k.guarded(rows * units);
  const cell = k.guarded(rows * units);
  const gates = inPlace(intoGroups(x.gates, rows, units));
  const cellBefore = k.f32(x.cell);
  const left = k.guarded(rows * units);
  k.call("packLeftF32", [left, k.f32(x.hidden), rows, units, units], 0, Math.ceil(rows / 5));
  return {
    args: args(hidden, cell, gates, left, cellBefore, panels, rows, units),
    addresses: { gates, cell, cellBefore },
    read: () => [...k.read(hidden, rows * units), ...k.read(cell, rows * units)],
  };
}

/** Buffers and arguments of one step backward, dGates and dCell as the outputs. */
function prepareGradient(x: Operands, dHidden: Float32Array, dCell: Float32Array) {
  const { rows, units } = x;
  const forward = prepareStep(x);
  k.call("lstmStepF32", forward.args, 0, Math.ceil(units / 8));
  const { gates, cell, cellBefore } = forward.addresses;
  const dGates = k.guarded(rows * 4 * units);
  const dState = inPlace(dCell);
  return {
    args: args(dGates, dState, k.f32(dHidden), gates, cell, cellBefore, rows, units),
    read: () => [...k.read(dGates, rows * 4 * units), ...k.read(dState, rows * units)],
  };
}

/** A guarded buffer that holds values already: one that a kernel updates. */
function inPlace(values: Float32Array): number {
  const address = k.guarded(values.length);
  k.call("copyRows", [address, k.f32(values), values.length * 4, 0, 0], 0, 1);
  return address;
}

function args<T extends number[]>(...values: T): T {
  return values;
}

/** hidden and cell of one step, in one array. */
function step(x: Operands): number[] {
  k.reset();
  const { args, read } = prepareStep(x);
  k.call("lstmStepF32", args, 0, Math.ceil(x.units / 8));
  k.checkGuards();
  return read();
}

/** The same in float64, row by row. */
function reference(x: Operands): number[] {
  const { rows, units } = x;
  const hidden: number[] = [];
  const cell: number[] = [];
  for (let row = 0; row < rows; row++) {
    const parameters: LstmParameters = {
      weightIh: [],
      weightHh: x.weight,
      biasIh: x.gates.slice(row * 4 * units, (row + 1) * 4 * units),
      biasHh: new Float64Array(4 * units),
      units,
      inputs: 0,
    };
    const state = {
      hidden: [...x.hidden.slice(row * units, (row + 1) * units)],
      cell: [...x.cell.slice(row * units, (row + 1) * units)],
    };
    const after = lstmStep([], state, parameters);
    hidden.push(...after.hidden);
    cell.push(...after.cell);
  }
  return [...hidden, ...cell];
}

describe("lstmStepF32()", () => {
  test("gives the states worked out by hand for one unit with zero weights", () => {
    const gates = Float32Array.of(0, 0, 1, 0);
    const x = { ...operands(1, 1), gates, cell: Float32Array.of(2), weight: new Float32Array(4) };
    // σ(0) = ½: c = ½·2 + ½·tanh 1, h = ½·tanh c
    expectClose(step(x), [0.44056481, 1.38079708], 1e-7);
  });

  test("is the reference's step for every tile and tail", () => {
    for (const units of UNITS)
      for (const rows of ROWS) {
        const x = operands(rows, units);
        expectClose(step(x), reference(x), TOLERANCE, `${rows} rows of ${units} units`);
      }
  });

  test("gives each row the bits it has alone", () => {
    for (const units of [7, 16, 33])
      for (const rows of [2, 3, 4, 5, 6, 32]) {
        const x = operands(rows, units);
        const alone = Array.from({ length: rows }, (_, row) => step(rowOf(x, row)));
        const want = [0, units].flatMap((at) => alone.flatMap((y) => y.slice(at, at + units)));
        expectSameBits(step(x), want, `${rows} rows of ${units} units`);
      }
  });

  test("gives the same bits however its range is cut", () => {
    for (const units of [9, 41]) {
      const x = operands(6, units);
      overEveryCut(k, "lstmStepF32", Math.ceil(units / 8), () => prepareStep(x));
    }
  });

  test("may write the cell where it read it", () => {
    const x = operands(5, 9);
    const want = step(x);
    k.reset();
    const { args, read } = prepareStep(x);
    const [hidden, , gates, left, , panels] = args;
    const cell = inPlace(x.cell);
    k.call("lstmStepF32", [hidden, cell, gates, left, cell, panels, 5, 9], 0, 2);
    k.checkGuards();
    expectSameBits([...read().slice(0, 45), ...k.read(cell, 45)], want);
  });

  test("saturates at gates of ±∞ and keeps NaN within its unit", () => {
    const x = operands(1, 9);
    x.weight.fill(0);
    x.gates.set([Infinity, -Infinity, Number.NaN], 0); // i of the first three units
    expectClose(step(x), reference(x), TOLERANCE);
    expect(step(x).filter(Number.isNaN)).toHaveLength(2);
  });
});

describe("lstmStepGradF32()", () => {
  const random = seeded(2);

  test("is the slope of the reference's step for every tail", () => {
    for (const units of [1, 2, 3, 4, 5, 7, 8, 9, 17])
      for (const rows of [1, 2, 5]) {
        const x = operands(rows, units);
        const dHidden = random.array(rows * units);
        const dCell = random.array(rows * units);
        const loss = (y: Operands): number => dot([...dHidden, ...dCell], reference(y));
        // Central differences in float64 over 2e-5 are off by about 1e-9.
        const want = [...slopes(x, "gates", loss), ...slopes(x, "cell", loss)];
        k.reset();
        const { args, read } = prepareGradient(x, dHidden, dCell);
        k.call("lstmStepGradF32", args, 0, Math.ceil(units / 8));
        k.checkGuards();
        expectClose(read(), want, TOLERANCE, `${rows} rows of ${units} units`);
      }
  });

  test("gives the same bits however its range is cut", () => {
    for (const units of [9, 41]) {
      const x = operands(3, units);
      const dHidden = random.array(3 * units);
      const dCell = random.array(3 * units);
      const prepare = () => prepareGradient(x, dHidden, dCell);
      overEveryCut(k, "lstmStepGradF32", Math.ceil(units / 8), prepare);
    }
  });
});

describe("lstmPackF32()", () => {
  test("puts the four gates of eight units side by side, zeros for missing units", () => {
    const units = 9;
    const width = 3;
    const weight = Float32Array.from({ length: 4 * units * width }, (_, index) => index + 1);
    const got = overEveryCut(k, "lstmPackF32", 8, () => {
      const panels = k.guarded(8 * width * 8);
      return {
        args: [panels, k.f32(weight), units, width],
        read: () => k.read(panels, 8 * width * 8),
      };
    });
    for (let panel = 0; panel < 8; panel++)
      for (let kk = 0; kk < width; kk++)
        for (let column = 0; column < 8; column++) {
          const unit = (panel >> 2) * 8 + column;
          const row = (panel & 3) * units + unit;
          const want = unit < units ? weight[row * width + kk] : 0;
          expect(got[(panel * width + kk) * 8 + column]).toBe(want);
        }
  });
});

describe("lstmPackBiasF32()", () => {
  test("adds both biases in the order of the panels", () => {
    const first = Float32Array.from({ length: 36 }, (_, index) => index);
    const second = Float32Array.from({ length: 36 }, (_, index) => 100 * index);
    const got = overEveryCut(k, "lstmPackBiasF32", 8, () => {
      const bias = k.guarded(64);
      return { args: [bias, k.f32(first), k.f32(second), 9], read: () => k.read(bias, 64) };
    });
    expect(got.slice(0, 10)).toEqual([0, 101, 202, 303, 404, 505, 606, 707, 909, 1010]);
    expect(got.slice(32, 42)).toEqual([808, 0, 0, 0, 0, 0, 0, 0, 1717, 0]);
  });
});

describe("lstmGatherF32()", () => {
  test("copies the rows that are named, zeros where −1 is", () => {
    for (const width of [1, 3, 4, 9]) {
      const x = seeded(3).array(5 * width);
      const index = [4, -1, 0, 0];
      const got = overEveryCut(k, "lstmGatherF32", 4, () => {
        const y = k.guarded(4 * width);
        return { args: [y, k.f32(x), k.i32(index), width], read: () => k.read(y, 4 * width) };
      });
      const want = index.flatMap((row) =>
        row < 0 ? Array(width).fill(0) : [...x.slice(row * width, (row + 1) * width)],
      );
      expect(got).toEqual(want);
    }
  });
});

describe("lstmScatterAddF32()", () => {
  test("adds each row to the row that is named", () => {
    const got = overEveryCut(k, "lstmScatterAddF32", 2, () => {
      const y = inPlace(Float32Array.of(1, 2, 3, 4, 5, 6));
      return { args: [y, k.f32([10, 20, 30, 40]), k.i32([2, 0]), 2], read: () => k.read(y, 6) };
    });
    expect(got).toEqual([31, 42, 3, 4, 15, 26]);
  });
});

/** PyTorch's order [rows, 4, units] → the kernels' order [rows, groups, 4, 8], with its gap. */
function intoGroups(gates: ArrayLike<number>, rows: number, units: number): Float32Array {
  const groups = Math.ceil(units / 8);
  const stride = groups * 32 + 16;
  const grouped = new Float32Array(rows * stride);
  for (let row = 0; row < rows; row++)
    for (let gate = 0; gate < 4; gate++)
      for (let unit = 0; unit < units; unit++) {
        const to = row * stride + ((unit >> 3) * 4 + gate) * 8 + (unit & 7);
        grouped[to] = gates[(row * 4 + gate) * units + unit] as number;
      }
  return grouped;
}

function rowOf(x: Operands, row: number): Operands {
  const { units } = x;
  const part = (values: Float32Array, width: number): Float32Array =>
    values.slice(row * width, (row + 1) * width);
  return {
    ...x,
    rows: 1,
    gates: part(x.gates, 4 * units),
    hidden: part(x.hidden, units),
    cell: part(x.cell, units),
  };
}

function slopes(x: Operands, name: "gates" | "cell", loss: (y: Operands) => number): number[] {
  const values = Float64Array.from(x[name]);
  const moved = { ...x, [name]: values } as unknown as Operands;
  return [...values].map((value, index) => {
    values[index] = value + 1e-5;
    const above = loss(moved);
    values[index] = value - 1e-5;
    const below = loss(moved);
    values[index] = value;
    return (above - below) / 2e-5;
  });
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a).reduce((sum, value, index) => sum + value * (b[index] as number), 0);
}
