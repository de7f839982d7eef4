import { embedding } from "../../../src/ops/embedding.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/embedding.js";
import type { OpCase } from "../op-case.js";

function embeddingCase(
  name: string,
  vocab: number,
  width: number,
  ids: readonly number[],
  shape: number[],
): OpCase {
  return {
    op: "embedding",
    name,
    inputs: {
      table: { shape: [vocab, width], grad: true },
      ids: { shape, dtype: "i32", data: [...ids] },
    },
    run: (t) => embedding(t.table as Tensor, t.ids as Tensor),
    reference: (x) => reference.embedding(x.table as Float64Array, x.ids as Float64Array, width),
    // a copy
    tolerance: 0,
  };
}

export const cases: OpCase[] = [
  embeddingCase("of a batch with repeated ids", 7, 33, [3, 0, 6, 3, 3, 1], [2, 3]),
  embeddingCase("of one id without axes", 5, 4, [4], []),
  embeddingCase("of one column", 4, 1, [1, 1, 3], [3]),
  embeddingCase("of no ids", 4, 3, [], [0]),
];
