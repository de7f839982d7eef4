import { IndexError, ShapeError } from "../errors.js";
import { asRows, expectDType, sameRuntime, showShape } from "../tensor/check.js";
import { empty, emptyLike, tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { record } from "./tape.js";

export interface CrossEntropyOptions {
  /** Rows with this target count nothing. */
  readonly ignore?: number;
  /** Share of the target's weight that is spread over all classes, 0 … 1; default 0. */
  readonly smoothing?: number;
}

/** Stands for "no id is ignored": no target can be this small. */
const NONE = -(2 ** 31);

/**
 * Mean cross-entropy of the rows whose target is not ignored: −ln softmax(logits)[target], with
 * label smoothing as in PyTorch.
 *
 * @param logits   f32[..., V]
 * @param targets  i32[...], ids in 0 … V − 1 or the ignored one
 * @returns f32[]; 0 when every row is ignored
 * @throws {IndexError} a target is no class
 * @source Szegedy et al. 2016, arXiv:1512.00567, §7 (label smoothing)
 */
export function crossEntropy(
  logits: Tensor,
  targets: Tensor,
  options: CrossEntropyOptions = {},
): Tensor {
  const [rows, n] = asRows("crossEntropy", logits);
  const { ignore = NONE, smoothing = 0 } = options;
  expectDType("crossEntropy", targets, "i32", "targets");
  sameRuntime("crossEntropy", logits, targets);
  if (targets.size !== rows || targets.rank !== logits.rank - 1)
    throw new ShapeError(
      `crossEntropy: targets must have one id a row of logits, got ${showShape(targets.shape)} and ${showShape(logits.shape)}`,
    );
  if (!(smoothing >= 0 && smoothing <= 1))
    throw new RangeError(`crossEntropy: smoothing must lie in 0 … 1, got ${smoothing}`);
  const kept = countTargets(targets, n, ignore);

  const { runtime } = logits;
  const logSums = empty(runtime, [rows]);
  const losses = empty(runtime, [rows]);
  runtime.run(
    "crossEntropyF32",
    [losses.ptr, logSums.ptr, logits.ptr, targets.ptr, n, ignore, smoothing],
    rows,
    8 * n,
  );
  // Added upwards in float64: exact enough for any count, and one fixed order.
  const total = (losses.read() as Float32Array).reduce((sum, loss) => sum + loss, 0);
  const loss = tensor(runtime, [kept === 0 ? 0 : total / kept], []);
  return record("crossEntropy", loss, [logits], (dy) => {
    const dLogits = emptyLike(logits);
    const scale = kept === 0 ? 0 : dy.item() / kept;
    runtime.run(
      "crossEntropyGradF32",
      [dLogits.ptr, logits.ptr, logSums.ptr, targets.ptr, n, ignore, smoothing, scale],
      rows,
      8 * n,
    );
    return [dLogits];
  });
}

function countTargets(targets: Tensor, classes: number, ignore: number): number {
  let kept = 0;
  targets.read().forEach((id, index) => {
    if (id === ignore) return;
    if (id < 0 || id >= classes)
      throw new IndexError(
        `crossEntropy: targets must lie in 0 … ${classes - 1}, got ${id} at position ${index}`,
      );
    kept++;
  });
  return kept;
}
