/** Losses beside that of the targets: they teach an encoder-decoder to let attention do the work. */
import type { EncoderDecoder, Predictions } from "../models/encoder-decoder.js";
import type { SummarizationModel } from "../models/summarization-model.js";
import { mul } from "../ops/arithmetic.js";
import { mix32, type Runtime } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** Tokens of a row that are asked for: few, since each costs a row of the output layer. */
const ECHOED = 8;
const LOOKED = 4;

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
  const { positions, tokens } = drawn(sources, longest, ECHOED, model.runtime);
  return mul(model.echoLoss(encoded, positions, tokens), weight);
}

/** The look loss of some target tokens of each row, drawn by the runtime's next seed, times a weight. */
export function look(
  model: EncoderDecoder,
  predictions: Predictions,
  targets: readonly (readonly number[])[],
  weight: number,
): Tensor {
  const longest = predictions.features.shape[1] as number;
  // The start token is not predicted.
  const wanted = targets.map((row) => row.slice(1));
  const { positions, tokens } = drawn(wanted, longest, LOOKED, model.runtime);
  return mul(model.lookLoss(predictions, positions, tokens), weight);
}

/** As many tokens of each row: where they stand among rows of `longest`, and their ids. */
function drawn(
  rows: readonly (readonly number[])[],
  longest: number,
  count: number,
  runtime: Runtime,
): { positions: Tensor; tokens: Tensor } {
  const seed = runtime.nextSeed();
  const places = rows.flatMap((row, index) =>
    Array.from({ length: count }, (_, draw) => {
      const at = mix32((mix32(index * count + draw) + seed) >>> 0) % row.length;
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
