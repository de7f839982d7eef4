import type { EncodedSource } from "../models/encoder-decoder.js";
import type { SummarizationModel } from "../models/summarization-model.js";
import { mul } from "../ops/arithmetic.js";
import { mix32 } from "../runtime/runtime.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** Tokens of a row that are asked for: few, since each costs a row of the output layer. */
const TOKENS = 8;

/**
 * The echo loss of some tokens of each row, drawn by the runtime's next seed, times a weight.
 *
 * @param sources  the rows as they are: hidden tokens are asked for too
 */
export function echo(
  model: SummarizationModel,
  encoded: EncodedSource,
  sources: readonly (readonly number[])[],
  weight: number,
): Tensor {
  const { runtime } = model;
  const longest = encoded.source.values.shape[1] as number;
  const seed = runtime.nextSeed();
  const positions = sources.flatMap((row, index) =>
    Array.from({ length: TOKENS }, (_, draw) => {
      const at = mix32((mix32(index * TOKENS + draw) + seed) >>> 0) % row.length;
      return { position: index * longest + at, token: row[at] as number };
    }),
  );
  const loss = model.echoLoss(
    encoded,
    tensor(
      runtime,
      Int32Array.from(positions, ({ position }) => position),
    ),
    tensor(
      runtime,
      Int32Array.from(positions, ({ token }) => token),
    ),
  );
  return mul(loss, weight);
}
