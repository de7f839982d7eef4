import { IndexError } from "../errors.js";
import { expectDType, expectShape, sameRuntime } from "../tensor/check.js";
import { empty, emptyLike, tensor, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { gradientOf, recording, recordMany, wants } from "./tape.js";

/** What additiveAttention takes beside its tensors. */
export interface AdditiveAttentionOptions {
  /** i32[B]: how many positions of each batch row exist, 0 … S; all of them by default */
  readonly lengths?: Tensor;
}

/** What additiveAttention returns. */
export interface AdditiveAttentionResult {
  /** f32[B, Lq, D] */
  readonly context: Tensor;
  /** f32[B, Lq, S] */
  readonly weights: Tensor;
}

const WHO = "additiveAttention";
/** One tanh of the kernel, in floating-point operations. */
const TANH_COST = 30;

/**
 * Additive attention: score(s) = v·tanh(query + keys[s]), weights = softmax of the scores over the
 * first lengths[b] positions, context = Σₛ weights[s]·values[s].
 *
 * Query and keys come projected, the keys with their bias. Positions behind the length are never
 * read: their weight is exactly 0. A length of 0 gives zeros. Gradients of keys, v and values are
 * added in place, so a decoder that calls this once a step pays for no copies of them.
 *
 * @param query   f32[B, Lq, A]
 * @param keys    f32[B, S, A]
 * @param v       f32[A]
 * @param values  f32[B, S, D]
 * @param options.lengths  i32[B], within 0 … S; defaults to S
 * @returns context f32[B, Lq, D] and weights f32[B, Lq, S]
 * @throws {ShapeError} the shapes above do not fit
 * @throws {DTypeError} lengths are not i32, or another operand is not f32
 * @throws {IndexError} a length lies outside 0 … S
 * @source Bahdanau et al. 2015, arXiv:1409.0473, section A.1.2
 * @example
 * const { context, weights } = additiveAttention(query, keys, v, encoded, { lengths });
 */
export function additiveAttention(
  query: Tensor,
  keys: Tensor,
  v: Tensor,
  values: Tensor,
  options: AdditiveAttentionOptions = {},
): AdditiveAttentionResult {
  const { batch, queries, positions, width, valueWidth } = sizes(query, keys, v, values);
  const { runtime } = query;
  const lengths = options.lengths
    ? checkedLengths(query, options.lengths, batch, positions)
    : tensor(runtime, new Int32Array(batch).fill(positions), [batch], "i32");

  const context = empty(runtime, [batch, queries, valueWidth]);
  const weights = empty(runtime, [batch, queries, positions]);
  const energy = emptyLike(query); // scratch
  const rows = batch * queries;
  runtime.run(
    "additiveAttentionF32",
    [
      context.ptr,
      weights.ptr,
      energy.ptr,
      query.ptr,
      keys.ptr,
      v.ptr,
      values.ptr,
      lengths.ptr,
      queries,
      positions,
      width,
      valueWidth,
    ],
    rows,
    positions * (TANH_COST * width + 2 * valueWidth),
  );
  energy.dispose();
  if (!options.lengths && !recording([query, keys, v, values])) lengths.dispose();

  recordMany(
    WHO,
    [context, weights],
    [query, keys, v, values, lengths],
    ([dContextOrNull, dWeightsOrNull]) => {
      const dContext = dContextOrNull ?? zeros(runtime, context.shape);
      const dWeights = dWeightsOrNull ?? zeros(runtime, weights.shape);

      const dValues = gradientOf(values);
      if (dValues) {
        runtime.run(
          "additiveAttentionGradValuesF32",
          [dValues.ptr, dContext.ptr, weights.ptr, lengths.ptr, queries, positions, valueWidth],
          batch,
          2 * queries * positions * valueWidth,
        );
      }
      if (!wants(query) && !wants(keys) && !wants(v)) return [null, null, null, null];

      const dScores = emptyLike(weights);
      runtime.run(
        "additiveAttentionGradScoresF32",
        [
          dScores.ptr,
          dContext.ptr,
          dWeights.ptr,
          weights.ptr,
          values.ptr,
          lengths.ptr,
          queries,
          positions,
          valueWidth,
        ],
        rows,
        2 * positions * valueWidth,
      );

      const dQuery = emptyLike(query);
      const dKeys = gradientOf(keys) ?? zeros(runtime, keys.shape);
      const vParts = empty(runtime, [batch, width]);
      runtime.run(
        "additiveAttentionGradEnergyF32",
        [
          dQuery.ptr,
          dKeys.ptr,
          vParts.ptr,
          dScores.ptr,
          query.ptr,
          keys.ptr,
          v.ptr,
          lengths.ptr,
          queries,
          positions,
          width,
        ],
        batch,
        queries * positions * TANH_COST * width,
      );

      const dV = gradientOf(v);
      if (dV) {
        runtime.run(
          "sumRowsAddF32",
          [dV.ptr, vParts.ptr, batch, width],
          Math.ceil(width / 32),
          32 * batch,
        );
      }
      return [wants(query) ? dQuery : null, null, null, null];
    },
  );
  return { context, weights };
}

function sizes(query: Tensor, keys: Tensor, v: Tensor, values: Tensor) {
  sameRuntime(WHO, query, keys, v, values);
  expectDType(WHO, query, "f32", "query");
  expectDType(WHO, keys, "f32", "keys");
  expectDType(WHO, v, "f32", "v");
  expectDType(WHO, values, "f32", "values");
  expectShape(WHO, query, [null, null, null], "query");
  const [batch, queries, width] = query.shape as [number, number, number];
  expectShape(WHO, keys, [batch, null, width], "keys");
  const positions = keys.shape[1] as number;
  expectShape(WHO, v, [width], "v");
  expectShape(WHO, values, [batch, positions, null], "values");
  return { batch, queries, positions, width, valueWidth: values.shape[2] as number };
}

function checkedLengths(query: Tensor, lengths: Tensor, batch: number, positions: number): Tensor {
  sameRuntime(WHO, query, lengths);
  expectDType(WHO, lengths, "i32", "lengths");
  expectShape(WHO, lengths, [batch], "lengths");
  for (const length of lengths.runtime.memory.i32(lengths.ptr, batch)) {
    if (length < 0 || length > positions)
      throw new IndexError(`${WHO}: each length must lie within 0 … ${positions}, got ${length}`);
  }
  return lengths;
}
