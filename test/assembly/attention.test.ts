import { beforeEach, describe, expect, test } from "vitest";
import { attention } from "../reference/attention.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

const k = loadKernels("simd");
beforeEach(() => k.reset());

interface Sizes {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly valueWidth: number;
}

/** What lies beside a tile of 5 queries, a panel of 8 keys or columns, and a group of 32. */
const LENGTHS = [1, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64];

const padded = (n: number): number => Math.ceil(n / 32) * 32;
const panels = (n: number): number => Math.ceil(n / 8);

function operands(sizes: Sizes) {
  const random = seeded(3);
  const { heads, queries, keys, width, valueWidth } = sizes;
  return {
    ...sizes,
    q: random.array(heads * queries * width),
    k: random.array(heads * keys * width),
    v: random.array(heads * keys * valueWidth),
    dy: random.array(heads * queries * valueWidth),
    dWeights: random.array(heads * queries * keys),
  };
}
type Operands = ReturnType<typeof operands>;

/** The block of words that kernels read: no mask, no dropout. */
function rulesFor(shift: number, selecting = 0): number {
  const address = k.i32([0, 0, 0, shift, selecting, 0, 0, 0, 0, 0]);
  return address;
}

function packed(
  kernel: "packHeadsF32" | "packHeadsTransposedF32",
  x: Float32Array,
  heads: number,
  rows: number,
  columns: number,
): number {
  const count = kernel === "packHeadsF32" ? panels(columns) : panels(rows);
  const depth = kernel === "packHeadsF32" ? rows : columns;
  const to = k.guarded(heads * count * depth * 8);
  k.call(kernel, [to, k.f32(x), rows, columns], 0, heads * count);
  return to;
}

/** Runs a kernel over `units` units, the last first. */
function everyUnit(units: number, call: (begin: number, end: number) => void): void {
  for (let unit = units; unit > 0; unit--) call(unit - 1, unit);
}

function forward(x: Operands, units: number, shift = x.keys) {
  const { heads, queries, keys, width, valueWidth } = x;
  const y = k.guarded(heads * queries * valueWidth);
  const weights = k.guarded(heads * queries * keys);
  const stats = k.guarded(heads * queries * 2);
  const scratch = k.guarded(units * 5 * (padded(keys) + padded(Math.max(keys, width))));
  const keyPanels = packed("packHeadsTransposedF32", x.k, heads, keys, width);
  const valuePanels = packed("packHeadsF32", x.v, heads, keys, valueWidth);
  const q = k.f32(x.q);
  const rules = rulesFor(shift);
  const scale = Math.fround(1 / Math.sqrt(width));
  everyUnit(units, (begin, end) =>
    k.call(
      "attentionF32",
      [
        y,
        weights,
        stats,
        scratch,
        q,
        keyPanels,
        valuePanels,
        rules,
        heads,
        queries,
        keys,
        width,
        valueWidth,
        units,
        scale,
      ],
      begin,
      end,
    ),
  );
  k.checkGuards();
  return {
    y: k.read(y, heads * queries * valueWidth),
    weights: k.read(weights, heads * queries * keys),
    stats: k.read(stats, heads * queries * 2),
  };
}

/** Gradients with the queries in blocks of `height` rows. */
function backward(x: Operands, units: number, height: number, shift = x.keys) {
  const { heads, queries, keys, width, valueWidth } = x;
  const stats = k.f32(forward(x, 1, shift).stats);
  const dq = k.guarded(heads * queries * width);
  const dk = k.f32(new Float32Array(heads * keys * width));
  const dv = k.f32(new Float32Array(heads * keys * valueWidth));
  const applied = k.guarded(heads * height * padded(keys));
  const dScores = k.guarded(heads * height * padded(keys));
  const scratch = k.guarded(units * 5 * padded(Math.max(keys, width, valueWidth)));
  const q = k.f32(x.q);
  const dy = k.f32(x.dy);
  const dWeights = k.f32(x.dWeights);
  const keyPanels = packed("packHeadsTransposedF32", x.k, heads, keys, width);
  const valuePanels = packed("packHeadsTransposedF32", x.v, heads, keys, valueWidth);
  const keyRows = packed("packHeadsF32", x.k, heads, keys, width);
  const queryRows = packed("packHeadsF32", x.q, heads, queries, width);
  const dyRows = packed("packHeadsF32", x.dy, heads, queries, valueWidth);
  const rules = rulesFor(shift);
  const scale = Math.fround(1 / Math.sqrt(width));
  for (let first = 0; first < queries; first += height) {
    const rows = Math.min(height, queries - first);
    everyUnit(units, (begin, end) =>
      k.call(
        "attentionGradScoresF32",
        [
          dq,
          applied,
          dScores,
          scratch,
          q,
          keyPanels,
          valuePanels,
          keyRows,
          dy,
          dWeights,
          stats,
          rules,
          0,
          heads,
          first,
          rows,
          queries,
          keys,
          width,
          valueWidth,
          units,
          scale,
        ],
        begin,
        end,
      ),
    );
    everyUnit(units, (begin, end) =>
      k.call(
        "attentionGradKeysF32",
        [
          dk,
          dv,
          scratch,
          applied,
          dScores,
          queryRows,
          dyRows,
          rules,
          0,
          heads,
          first,
          rows,
          queries,
          keys,
          width,
          valueWidth,
          units,
        ],
        begin,
        end,
      ),
    );
  }
  k.checkGuards();
  return {
    dq: k.read(dq, heads * queries * width),
    dk: k.read(dk, heads * keys * width),
    dv: k.read(dv, heads * keys * valueWidth),
  };
}

describe("attentionF32", () => {
  test("attentionF32 agrees with the reference for every number of queries and keys beside a tile", () => {
    for (const queries of LENGTHS)
      for (const keys of LENGTHS) {
        k.reset();
        const x = operands({ heads: 2, queries, keys, width: 9, valueWidth: 7 });
        const got = forward(x, 3);
        const want = attention(x);
        // Scores are sums of 9 products below 8, errors below 9·8·2⁻²⁴ of which exp makes relative ones.
        expectClose(got.weights, want.weights, 4e-6, `weights of ${queries} × ${keys}`);
        expectClose(got.y, want.output, 4e-6, `y of ${queries} × ${keys}`);
      }
  });

  test("attentionF32 agrees with the reference for every width beside a panel", () => {
    for (const width of LENGTHS)
      for (const valueWidth of LENGTHS) {
        k.reset();
        const x = operands({ heads: 1, queries: 6, keys: 10, width, valueWidth });
        expectClose(forward(x, 1).y, attention(x).output, 4e-6, `${width}, ${valueWidth}`);
      }
  });

  test("attentionF32 has the same bits for every number of units, in any order", () => {
    const x = operands({ heads: 3, queries: 23, keys: 19, width: 8, valueWidth: 12 });
    for (const shift of [x.keys, 0, -4]) {
      k.reset();
      const one = forward(x, 1, shift);
      for (const units of [2, 3, 7, 15]) {
        const many = forward(x, units, shift);
        expectSameBits(many.y, one.y, `${units} units`);
        expectSameBits(many.weights, one.weights, `${units} units`);
      }
    }
  });

  test("attentionF32 gives zeros to a query that sees nothing", () => {
    const x = operands({ heads: 1, queries: 6, keys: 5, width: 4, valueWidth: 3 });
    const { y, weights } = forward(x, 1, -2);
    expectSameBits(y.slice(0, 6), new Float32Array(6));
    expectSameBits(weights.slice(0, 10), new Float32Array(10));
    expectSameBits(weights.slice(10, 15), Float32Array.of(1, 0, 0, 0, 0));
  });

  test("attentionF32 works without room for weights", () => {
    const x = operands({ heads: 1, queries: 3, keys: 5, width: 4, valueWidth: 3 });
    const { y } = forward(x, 1);
    const bare = k.guarded(9);
    const scratch = k.guarded(5 * 64);
    const keyPanels = packed("packHeadsTransposedF32", x.k, 1, 5, 4);
    const valuePanels = packed("packHeadsF32", x.v, 1, 5, 3);
    k.call(
      "attentionF32",
      [
        bare,
        0,
        k.guarded(6),
        scratch,
        k.f32(x.q),
        keyPanels,
        valuePanels,
        rulesFor(5),
        1,
        3,
        5,
        4,
        3,
        1,
        0.5,
      ],
      0,
      1,
    );
    k.checkGuards();
    expectSameBits(k.read(bare, 9), y);
  });
});

describe("attention's gradient kernels", () => {
  const x = operands({ heads: 2, queries: 13, keys: 11, width: 6, valueWidth: 9 });

  test("the gradients have the same bits for every number of units", () => {
    for (const shift of [x.keys, 0, -2, 3]) {
      k.reset();
      const one = backward(x, 1, 13, shift);
      for (const units of [2, 5]) {
        const many = backward(x, units, 13, shift);
        for (const name of ["dq", "dk", "dv"] as const)
          expectSameBits(many[name], one[name], `${name} of ${units} units`);
      }
    }
  });

  test("the gradients agree for every height of the blocks", () => {
    const whole = backward(x, 1, 13);
    for (const height of [1, 4, 5, 6]) {
      const blocks = backward(x, 2, height);
      expectSameBits(blocks.dq, whole.dq, `dq in blocks of ${height}`);
      // The same 13 terms, summed block by block: 13·2⁻²⁴ relative.
      expectClose(blocks.dk, whole.dk, 2e-6, `dk in blocks of ${height}`);
      expectClose(blocks.dv, whole.dv, 2e-6, `dv in blocks of ${height}`);
    }
  });

  test("the gradients stay inside of their buffers at every size beside a tile", () => {
    for (const n of LENGTHS) {
      k.reset();
      backward(operands({ heads: 1, queries: n, keys: 9, width: 5, valueWidth: 6 }), 2, n);
      backward(operands({ heads: 1, queries: 6, keys: n, width: 5, valueWidth: 6 }), 2, 4);
      backward(operands({ heads: 1, queries: 6, keys: 7, width: n, valueWidth: 6 }), 1, 6);
      backward(operands({ heads: 1, queries: 6, keys: 7, width: 5, valueWidth: n }), 1, 6);
    }
    expect(LENGTHS.length).toBe(11);
  });
});
