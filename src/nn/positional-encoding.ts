import { ShapeError } from "../errors.js";
import { exactExp, exactLog, exactSinCos } from "../exact-math.js";
import { add } from "../ops/arithmetic.js";
import { slice } from "../ops/shape.js";
import type { Runtime } from "../runtime/runtime.js";
import { expectShape } from "../tensor/check.js";
import type { Tensor } from "../tensor/tensor.js";
import { initStep } from "./init.js";
import { Module } from "./module.js";

/** Positions a table has when nothing is said. */
const LENGTH = 5000;
/** The longest wave is this many times 2π positions. */
const LONGEST = 10_000;

/**
 * Adds to each position a pattern of waves that tells it from all others: row t of a fixed table.
 *
 * pe[t, 2i] = sin(t·f), pe[t, 2i + 1] = cos(t·f), f = exp(−2i·ln(10000)/E); an odd E ends with a
 * sine. State dict: the buffer pe f32[length, E], computed in float64; a loaded table is used as it
 * is.
 *
 * @source Vaswani et al. 2017, arXiv:1706.03762, section 3.5
 */
export class PositionalEncoding extends Module {
  readonly pe: Tensor;

  constructor(runtime: Runtime, width: number, length: number = LENGTH) {
    super(runtime);
    this.pe = initStep(this.buffer("pe", [length, width]), () => waves(length, width));
  }

  /**
   * @param x  f32[B, L, E]
   * @returns f32[B, L, E]: x + pe[0 … L − 1]
   * @throws {ShapeError} L is more than the table's length
   */
  forward(x: Tensor): Tensor {
    const [length, width] = this.pe.shape as [number, number];
    expectShape("PositionalEncoding", x, [null, null, width], "x");
    const positions = x.shape[1] as number;
    if (positions > length)
      throw new ShapeError(
        `PositionalEncoding: a sequence must be at most as long as the table of ${length} positions, got ${positions}. Make the table longer`,
      );
    return add(x, slice(this.pe, 0, 0, positions));
  }
}

function waves(length: number, width: number): Float32Array {
  const table = new Float32Array(length * width);
  const step = (-2 * exactLog(LONGEST)) / width;
  for (let column = 0; column < width; column += 2) {
    const frequency = exactExp((column / 2) * step);
    for (let position = 0; position < length; position++) {
      const at = position * width + column;
      const { sin, cos } = exactSinCos(position * frequency);
      table[at] = sin;
      if (column + 1 < width) table[at + 1] = cos;
    }
  }
  return table;
}
