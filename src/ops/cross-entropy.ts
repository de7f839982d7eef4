import { IndexError, ShapeError } from "../errors.js";
import { asRows, expectDType, sameRuntime, showShape } from "../tensor/check.js";
import { empty, emptyLike, tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { record, recording } from "./tape.js";

export interface CrossEntropyOptions {
  /** Rows with this target count nothing. */
  readonly ignore?: number;
  /** Share of the target's weight that is spread over all classes, 0 … 1; default 0. */
  readonly smoothing?: number;
  /** "mean" (default) over the rows that count, or their "sum". */
  readonly reduction?: "mean" | "sum";
}

/** Stands for "no id is ignored" in the kernels: countTargets() lets no target be this small. */
const NONE = -(2 ** 31);

/**
 * Cross-entropy of the rows whose target is not ignored: −ln softmax(logits)[target], with label
 * smoothing as in PyTorch.
 *
 * A row of −∞ alone costs ∞ and gets no gradient, as softmax() has it.
 *
 * @param logits   f32[..., V]
 * @param targets  i32[...], ids in 0 … V − 1 or the ignored one
 * @returns f32[]; 0 when every row is ignored
 * @throws {ShapeError} there is not one target a row
 * @throws {IndexError} a target is no class
 * @throws {RangeError} smoothing lies outside 0 … 1, or ignore is no 32-bit integer
 * @source Szegedy et al. 2016, arXiv:1512.00567, §7 (label smoothing)
 */
export function crossEntropy(
  logits: Tensor,
  targets: Tensor,
  options: CrossEntropyOptions = {},
): Tensor {
  const [rows, n] = asRows("crossEntropy", logits);
  expectDType("crossEntropy", targets, "i32", "targets");
  sameRuntime("crossEntropy", logits, targets);
  if (showShape(targets.shape) !== showShape(logits.shape.slice(0, -1)))
    throw new ShapeError(
      `crossEntropy: targets must have one id a row of logits, got ${showShape(targets.shape)} and ${showShape(logits.shape)}`,
    );
  const { smoothing = 0, reduction = "mean" } = options;
  checkOptions(options);
  const kept = countTargets(targets, n, options.ignore);
  const ignore = options.ignore ?? NONE;
  const share = reduction === "mean" ? 1 / Math.max(kept, 1) : 1;

  const { runtime } = logits;
  const stats = empty(runtime, [rows, 2]);
  const losses = empty(runtime, [rows]);
  runtime.run(
    "crossEntropyF32",
    [losses.ptr, stats.ptr, logits.ptr, targets.ptr, n, ignore, smoothing],
    rows,
    8 * n,
  );
  // Added upwards in float64: exact enough for any count, and one fixed order.
  let total = 0;
  for (const loss of losses.read()) total += loss;
  losses.dispose();
  if (!recording([logits])) stats.dispose();
  return record("crossEntropy", tensor(runtime, [total * share], []), [logits, targets], (dy) => {
    const dLogits = emptyLike(logits);
    const scale = dy.item() * share;
    runtime.run(
      "crossEntropyGradF32",
      [dLogits.ptr, logits.ptr, stats.ptr, targets.ptr, n, ignore, smoothing, scale],
      rows,
      8 * n,
    );
    return [dLogits, null];
  });
}

function checkOptions({
  ignore = 0,
  smoothing = 0,
  reduction = "mean",
}: CrossEntropyOptions): void {
  if (!(smoothing >= 0 && smoothing <= 1))
    throw new RangeError(`crossEntropy: smoothing must lie in 0 … 1, got ${smoothing}`);
  if ((ignore | 0) !== ignore)
    throw new RangeError(`crossEntropy: ignore must be a 32-bit integer, got ${ignore}`);
  if (reduction !== "mean" && reduction !== "sum")
    throw new TypeError(
      `crossEntropy: reduction must be "mean" or "sum", got ${String(reduction)}`,
    );
}

/** How many targets are not ignored; each of those must be a class. */
function countTargets(targets: Tensor, classes: number, ignore: number | undefined): number {
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
