import { type CrossEntropyOptions, crossEntropy } from "../../../src/ops/cross-entropy.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/cross-entropy.js";
import type { OpCase, OpInput } from "../op-case.js";

const { POSITIVE_INFINITY: inf } = Number;

function crossEntropyCase(
  name: string,
  logits: OpInput,
  targets: readonly number[],
  options: CrossEntropyOptions = {},
): OpCase {
  const n = logits.shape.at(-1) as number;
  const { ignore, smoothing = 0, reduction = "mean" } = options;
  const rules = ignore === undefined ? { smoothing } : { ignore, smoothing };
  const kept = targets.filter((id) => id !== ignore).length;
  return {
    op: "crossEntropy",
    name,
    inputs: {
      logits,
      targets: { shape: logits.shape.slice(0, -1), data: targets, dtype: "i32" },
    },
    run: (t) => crossEntropy(t.logits as Tensor, t.targets as Tensor, options),
    reference: (x) => {
      const losses = reference.crossEntropy(x.logits as Float64Array, targets, n, rules);
      const total = losses.reduce((sum, loss) => sum + loss, 0);
      return [reduction === "sum" ? total : total / Math.max(kept, 1)];
    },
    // each loss is a logarithm of 4 ulp and a few differences; the total rounds once
    tolerance: 12 * 2 ** -24,
  };
}

const TARGETS = [4, 0, 36, 7, 7, 12];
const LOGITS: OpInput = { shape: [2, 3, 37], scale: 2, grad: true };

export const cases: OpCase[] = [
  crossEntropyCase("is a mean over rows", LOGITS, TARGETS),
  crossEntropyCase("without the rows of one target", LOGITS, TARGETS, { ignore: 7 }),
  crossEntropyCase("with an ignored id that is no class", LOGITS, TARGETS.with(1, -100), {
    ignore: -100,
  }),
  crossEntropyCase("with smoothing", LOGITS, TARGETS, { smoothing: 0.1 }),
  crossEntropyCase("with smoothing and ignored rows, as a sum", LOGITS, TARGETS, {
    ignore: 7,
    smoothing: 0.2,
    reduction: "sum",
  }),
  crossEntropyCase("with all of the weight spread", LOGITS, TARGETS, { smoothing: 1 }),
  crossEntropyCase("of one row without other axes", { shape: [5], grad: true }, [2]),
  crossEntropyCase("of one class, which costs nothing", { shape: [3, 1], grad: true }, [0, 0, 0]),
  crossEntropyCase("of many rows", { shape: [200, 9], grad: true }, new Array<number>(200).fill(3)),
  crossEntropyCase("of a large vocabulary", { shape: [2, 4001], grad: true }, [4000, 17]),
  crossEntropyCase("with every row ignored", { shape: [2, 4], grad: true }, [1, 1], { ignore: 1 }),
  crossEntropyCase("without rows", { shape: [0, 4], grad: true }, []),
  crossEntropyCase(
    "with classes that cannot be",
    { shape: [2, 4], data: [1, -inf, 2, 3, -inf, -inf, 0, -inf], grad: true },
    [3, 2],
  ),
  crossEntropyCase(
    "of a target that cannot be, which costs ∞",
    { shape: [2, 3], data: [1, 2, 3, -inf, 0, 1] },
    [0, 0],
  ),
];
