/** Losses beside that of the targets: they teach an encoder-decoder to let attention do the work. */
import type { Predictions } from "../models/encoder-decoder.js";
import type { SummarizationModel } from "../models/summarization-model.js";
import { log } from "../ops/activation.js";
import { add, mul } from "../ops/arithmetic.js";
import { sum } from "../ops/reduce.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import type { Link } from "./pair-training.js";

/** Tokens of a row that are asked for: few, since each costs a row of the output layer. */
const ECHOED = 8;
/** Added to a weight before its logarithm: behind a row's length weights are 0. */
const NOUGHT = 1e-6;

/**
 * The echo loss of some source tokens of each row, drawn by the runtime's next seed, times a weight.
 *
 * @param sources  the rows as they are: hidden tokens are asked for too
 */
export function echo(
  model: SummarizationModel,
  { encoded }: Predictions,
  sources: readonly (readonly number[])[],
  weight: number,
): Tensor {
  const longest = encoded.source.values.shape[1] as number;
  const { positions, tokens } = drawn(sources, longest, model.runtime);
  return mul(model.echoLoss(encoded, positions, tokens), weight);
}

/**
 * The guide loss times a weight: −log of the attention weight at the source token that a target
 * token comes from, over all targets with a link; the mean over a target's links. Nought for rows
 * without one.
 *
 * @source Chen et al. 2016, arXiv:1607.01628
 */
export function guide(
  { weights }: Predictions,
  links: readonly (readonly Link[])[],
  weight: number,
): Tensor {
  const [, steps, positions] = weights.shape as [number, number, number];
  const shares = new Float32Array(weights.size);
  let guided = 0;
  links.forEach((row, index) => {
    const counts = new Map<number, number>();
    for (const { target } of row) counts.set(target, (counts.get(target) ?? 0) + 1);
    guided += counts.size;
    // step t predicts target[t + 1]
    for (const { source, target } of row)
      shares[(index * steps + target - 1) * positions + source] =
        1 / (counts.get(target) as number);
  });
  const wanted = tensor(weights.runtime, shares, weights.shape);
  const told = sum(mul(log(add(weights, NOUGHT)), wanted));
  return mul(told, -weight / Math.max(1, guided));
}

/** Tokens of each row, as many of all: where they stand among rows of `longest`, and their ids. */
function drawn(
  rows: readonly (readonly number[])[],
  longest: number,
  runtime: Runtime,
): { positions: Tensor; tokens: Tensor } {
  const seed = runtime.nextSeed();
  const places = rows.flatMap((row, index) =>
    Array.from({ length: ECHOED }, (_, draw) => {
      const at = mix32((mix32(index * ECHOED + draw) + seed) >>> 0) % row.length;
      return { position: index * longest + at, token: row[at] as number };
    }),
  );
  return {
    positions: tensor(
      runtime,
      Int32Array.from(places, ({ position }) => position),
    ),
    tokens: tensor(
      runtime,
      Int32Array.from(places, ({ token }) => token),
    ),
  };
}
