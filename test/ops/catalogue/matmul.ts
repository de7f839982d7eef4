import { type MatmulOptions, matmul } from "../../../src/ops/matmul.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/gemm.js";
import type { OpCase } from "../op-case.js";

function matmulCase(
  name: string,
  aShape: number[],
  bShape: number[],
  options: MatmulOptions = {},
): OpCase {
  return {
    op: "matmul",
    name,
    inputs: { a: { shape: aShape, grad: true }, b: { shape: bShape, grad: true } },
    run: ({ a, b }) => matmul(a as Tensor, b as Tensor, options),
    reference: ({ a, b }) =>
      reference.matmul(
        { values: a ?? [], shape: aShape, transposed: options.transposeA ?? false },
        { values: b ?? [], shape: bShape, transposed: options.transposeB ?? false },
      ),
    // depth ≤ 70 of normal values: 71·2⁻²⁴·Σ|a·b|, where Σ|a·b| ≈ 45 and max |y| ≈ 25
    tolerance: 1e-5,
  };
}

export const cases: OpCase[] = [
  matmulCase("of two matrices", [7, 9], [9, 11]),
  matmulCase("with a transposed", [9, 7], [9, 11], { transposeA: true }),
  matmulCase("with b transposed", [7, 9], [11, 9], { transposeB: true }),
  matmulCase("with both transposed", [9, 7], [11, 9], { transposeA: true, transposeB: true }),
  matmulCase("of batches and heads", [2, 3, 5, 4], [2, 3, 4, 6]),
  matmulCase("of queries and keys", [2, 3, 5, 4], [2, 3, 6, 4], { transposeB: true }),
  matmulCase("of one matrix for a whole batch", [2, 3, 5, 4], [4, 6]),
  matmulCase("of a whole batch for one matrix", [5, 4], [3, 4, 6]),
  matmulCase("that broadcasts both ways", [3, 1, 2, 4], [1, 2, 4, 5]),
  matmulCase("that broadcasts, both transposed", [3, 1, 4, 2], [2, 5, 4], {
    transposeA: true,
    transposeB: true,
  }),
  matmulCase("over several blocks of work", [45, 70], [70, 65]),
  matmulCase("of a tall a, transposed first", [40, 130], [40, 3], { transposeA: true }),
  matmulCase("that sums over nothing", [3, 0], [0, 2]),
  matmulCase("of one row and one column", [1, 17], [17, 1]),
];
