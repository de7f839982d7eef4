import { beforeEach, describe, expect, test } from "vitest";
import { additiveAttention } from "../reference/additive-attention.js";
import { type KernelBench, loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

const k = loadKernels("simd");
beforeEach(() => k.reset());

/** Operands in kernel memory and as arrays. */
function operands(sizes: Sizes, lengths: readonly number[], seed = 7) {
  const random = seeded(seed);
  const { batch, queries, positions, width, valueWidth } = sizes;
  return {
    ...sizes,
    lengths,
    query: random.array(batch * queries * width),
    keys: random.array(batch * positions * width),
    v: random.array(width),
    values: random.array(batch * positions * valueWidth),
  };
}

interface Sizes {
  batch: number;
  queries: number;
  positions: number;
  width: number;
  valueWidth: number;
}
type Operands = ReturnType<typeof operands>;

function forward(bench: KernelBench, x: Operands, cuts: readonly number[] = []) {
  const { batch, queries, positions, width, valueWidth } = x;
  const rows = batch * queries;
  const context = bench.guarded(rows * valueWidth);
  const weights = bench.guarded(rows * positions);
  const energy = bench.guarded(rows * width);
  const addresses = [
    bench.f32(x.query),
    bench.f32(x.keys),
    bench.f32(x.v),
    bench.f32(x.values),
    bench.i32(x.lengths),
  ] as const;
  eachPart(rows, cuts, (begin, end) =>
    bench.call(
      "additiveAttentionF32",
      [context, weights, energy, ...addresses, queries, positions, width, valueWidth],
      begin,
      end,
    ),
  );
  bench.checkGuards();
  return {
    context: bench.read(context, rows * valueWidth),
    weights: bench.read(weights, rows * positions),
  };
}

/** All gradients for dContext and dWeights of ones times a row's number, from the three kernels. */
function gradients(bench: KernelBench, x: Operands, cuts: readonly number[] = []) {
  const { batch, queries, positions, width, valueWidth } = x;
  const rows = batch * queries;
  const random = seeded(11);
  const dContext = bench.f32(random.array(rows * valueWidth));
  const dWeights = bench.f32(random.array(rows * positions));
  const weights = bench.f32(forward(bench, x).weights);
  const query = bench.f32(x.query);
  const keys = bench.f32(x.keys);
  const v = bench.f32(x.v);
  const values = bench.f32(x.values);
  const lengths = bench.i32(x.lengths);
  const dScores = bench.guarded(rows * positions);
  const dQuery = bench.guarded(rows * width);
  const dKeys = bench.f32(new Float32Array(batch * positions * width));
  const dValues = bench.f32(new Float32Array(batch * positions * valueWidth));
  const vParts = bench.guarded(batch * width);
  eachPart(rows, cuts, (begin, end) =>
    bench.call(
      "additiveAttentionGradScoresF32",
      [dScores, dContext, dWeights, weights, values, lengths, queries, positions, valueWidth],
      begin,
      end,
    ),
  );
  eachPart(batch, cuts, (begin, end) => {
    bench.call(
      "additiveAttentionGradEnergyF32",
      [dQuery, dKeys, vParts, dScores, query, keys, v, lengths, queries, positions, width],
      begin,
      end,
    );
    bench.call(
      "additiveAttentionGradValuesF32",
      [dValues, dContext, weights, lengths, queries, positions, valueWidth],
      begin,
      end,
    );
  });
  bench.checkGuards();
  return {
    dScores: bench.read(dScores, rows * positions),
    dQuery: bench.read(dQuery, rows * width),
    dKeys: bench.read(dKeys, batch * positions * width),
    dValues: bench.read(dValues, batch * positions * valueWidth),
    vParts: bench.read(vParts, batch * width),
  };
}

/** Calls part for each piece of [0, range) between the cuts, the last piece first. */
function eachPart(
  range: number,
  cuts: readonly number[],
  part: (begin: number, end: number) => void,
): void {
  const edges = [0, ...cuts.filter((cut) => cut > 0 && cut < range), range];
  for (let i = edges.length - 1; i > 0; i--) part(edges[i - 1] as number, edges[i] as number);
}

function expectClose(got: ArrayLike<number>, want: ArrayLike<number>, tolerance: number): void {
  expect(got.length).toBe(want.length);
  for (let i = 0; i < want.length; i++)
    expect(Math.abs((got[i] as number) - (want[i] as number)), `element ${i}`).toBeLessThanOrEqual(
      tolerance,
    );
}

const SIZES: Sizes = { batch: 4, queries: 2, positions: 6, width: 37, valueWidth: 35 };

describe("additiveAttentionF32", () => {
  test("additiveAttentionF32 weighs two keys by hand", () => {
    // v·tanh(query + key) is 2·tanh(0) = 0 and 2·tanh(½·ln 3) = 2·½ = 1: weights 1 and e over 1 + e.
    const { context, weights } = forward(k, {
      batch: 1,
      queries: 1,
      positions: 2,
      width: 1,
      valueWidth: 2,
      query: Float32Array.of(1),
      keys: Float32Array.of(-1, 0.5493061443340549 - 1),
      v: Float32Array.of(2),
      values: Float32Array.of(1, 0, 0, 1),
      lengths: [2],
    });
    const second = Math.E / (1 + Math.E);
    expectClose(weights, [1 - second, second], 1e-7);
    expectClose(context, [1 - second, second], 1e-7);
  });

  test("additiveAttentionF32 agrees with the reference at every size beside a tile", () => {
    for (const width of [1, 3, 4, 15, 16, 17, 31, 32, 33, 64, 65])
      for (const valueWidth of [1, 3, 4, 31, 32, 33, 65])
        for (const positions of [1, 2, 5, 9]) {
          k.reset();
          const sizes = { batch: 2, queries: 2, positions, width, valueWidth };
          const x = operands(sizes, [positions, positions - 1]);
          const want = additiveAttention(x);
          const got = forward(k, x);
          // 65 terms below 4 with a tanh of 4 ulp: 2⁻¹⁹ absolute in a score, relative in a weight.
          expectClose(got.weights, want.weights, 8e-6);
          expectClose(got.context, want.context, 3e-5);
        }
  });

  test("additiveAttentionF32 agrees with the reference over 40 and 130 positions", () => {
    for (const positions of [31, 32, 33, 40, 130]) {
      k.reset();
      const x = operands(
        { ...SIZES, positions },
        [positions, 33, 1, 0].map((n) => Math.min(n, positions)),
      );
      const got = forward(k, x);
      const want = additiveAttention(x);
      expectClose(got.weights, want.weights, 8e-6);
      expectClose(got.context, want.context, 3e-5);
    }
  });

  test("additiveAttentionF32 returns zeros for lengths of 0 and never reads behind a length", () => {
    const x = operands(SIZES, [6, 4, 1, 0]);
    const clean = forward(k, x);
    for (let b = 0; b < 4; b++) {
      const from = x.lengths[b] as number;
      x.keys.fill(Number.NaN, (b * 6 + from) * 37, (b + 1) * 6 * 37);
      x.values.fill(Number.NaN, (b * 6 + from) * 35, (b + 1) * 6 * 35);
    }
    const dirty = forward(k, x);
    expect(dirty).toEqual(clean);
    expect(dirty.weights.slice(3 * 2 * 6)).toEqual(new Float32Array(12));
    expect(dirty.context.slice(3 * 2 * 35)).toEqual(new Float32Array(70));
    expect(dirty.weights.slice(2 * 12, 2 * 12 + 6)).toEqual(Float32Array.of(1, 0, 0, 0, 0, 0));
  });

  test("additiveAttentionF32 gives a padded row the bits it has alone", () => {
    const x = operands(SIZES, [6, 4, 1, 0]);
    const batch = forward(k, x);
    k.reset();
    const alone = forward(k, {
      ...x,
      batch: 1,
      positions: 4,
      lengths: [4],
      query: x.query.slice(2 * 37, 4 * 37),
      keys: x.keys.slice(6 * 37, 10 * 37),
      values: x.values.slice(6 * 35, 10 * 35),
    });
    expect(batch.context.slice(2 * 35, 4 * 35)).toEqual(alone.context);
    expect(batch.weights.slice(12, 16)).toEqual(alone.weights.slice(0, 4));
  });

  test("additiveAttentionF32 has the same bits for every cut", () => {
    const x = operands(SIZES, [6, 4, 1, 0]);
    const whole = forward(k, x);
    for (const cuts of [[1], [3, 4], [1, 2, 3, 4, 5, 6, 7]])
      expect(forward(k, x, cuts)).toEqual(whole);
  });

  test("additiveAttentionF32 lets NaN through where it is seen", () => {
    const x = operands(SIZES, [6, 4, 1, 0]);
    x.keys[0] = Number.NaN;
    const { context, weights } = forward(k, x);
    expect(weights[0]).toBeNaN();
    expect(context[0]).toBeNaN();
    expect(weights[12]).not.toBeNaN();
  });
});

describe("additiveAttention's gradients", () => {
  test("additiveAttentionGradScoresF32 gives rows that sum to 0", () => {
    const x = operands(SIZES, [6, 4, 1, 0]);
    const { dScores } = gradients(k, x);
    for (let row = 0; row < 8; row++) {
      const sum = dScores.slice(row * 6, row * 6 + 6).reduce((a, b) => a + b, 0);
      expect(Math.abs(sum)).toBeLessThan(1e-5); // 6 terms below 8: 6·8·2⁻²⁴
    }
  });

  test("the gradient kernels have the same bits for every cut", () => {
    const x = operands(SIZES, [6, 4, 1, 0]);
    const whole = gradients(k, x);
    for (const cuts of [[1], [2, 3], [1, 2, 3, 4, 5]]) expect(gradients(k, x, cuts)).toEqual(whole);
  });

  test("the gradient kernels never read behind a length, and add nothing there", () => {
    const x = operands(SIZES, [6, 4, 1, 0]);
    const clean = gradients(k, x);
    for (let b = 0; b < 4; b++) {
      const from = x.lengths[b] as number;
      x.keys.fill(Number.NaN, (b * 6 + from) * 37, (b + 1) * 6 * 37);
      x.values.fill(Number.NaN, (b * 6 + from) * 35, (b + 1) * 6 * 35);
    }
    expect(gradients(k, x)).toEqual(clean);
    expect(clean.dKeys.slice(3 * 6 * 37)).toEqual(new Float32Array(6 * 37));
    expect(clean.dQuery.slice(3 * 2 * 37)).toEqual(new Float32Array(2 * 37));
  });
});
