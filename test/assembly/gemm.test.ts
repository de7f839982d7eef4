import { describe, expect, it } from "vitest";
import { gemm, gemmMagnitude, transpose } from "../reference/gemm.js";
import { type KernelBench, loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the tiles' 4, 5 and 8, the group of 32 columns and the block of 40 rows.
const SIZES = [0, 1, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 127];
// All sizes of one axis against a few of the others: 16³ products would take minutes.
const SHAPES = SIZES.flatMap((size) => [
  ...[1, 5, 33].flatMap((m) => [7, 40].map((k) => [m, size, k] as const)),
  ...[1, 8, 33].flatMap((n) => [7, 40].map((k) => [size, n, k] as const)),
  ...[1, 6].flatMap((m) => [3, 33].map((n) => [m, n, size] as const)),
]);
const KERNELS = [
  "gemmF32",
  "gemmBiasF32",
  "gemmAddF32",
  "gemmTransposedF32",
  "gemmTransposedAddF32",
] as const;
type Kernel = (typeof KERNELS)[number];

const kernels = loadKernels("simd");
const random = seeded(20);
const units = (m: number, n: number): number => Math.ceil(m / 40) * Math.ceil(n / 32);
const panels = (n: number): number => Math.ceil(n / 8);

describe("packF32() and packTransposedF32()", () => {
  it("lay [2, 9] out as two panels of eight columns", () => {
    kernels.reset();
    const b = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18];
    const expected = [
      [0, 1, 2, 3, 4, 5, 6, 7],
      [10, 11, 12, 13, 14, 15, 16, 17],
      [8, 0, 0, 0, 0, 0, 0, 0],
      [18, 0, 0, 0, 0, 0, 0, 0],
    ].flat();
    expect(pack("packF32", b, 9, 2)).toEqual(expected);
    expect(pack("packTransposedF32", transpose(b, 2, 9), 9, 2)).toEqual(expected);
  });

  it("agree at every width and depth, in one piece or panel by panel", () => {
    for (const n of SIZES)
      for (const k of SIZES) {
        kernels.reset();
        const b = random.array(k * n);
        const whole = pack("packF32", b, n, k);
        const turned = transpose(b, k, n);
        expect(pack("packTransposedF32", turned, n, k), `${n} columns, depth ${k}`).toEqual(whole);
        expect(pack("packF32", b, n, k, 1)).toEqual(whole);
        expect(pack("packTransposedF32", turned, n, k, 1)).toEqual(whole);
      }
  });

  it("read rows that stand further apart than they are long", () => {
    kernels.reset();
    const b = kernels.f32([1, 2, 99, 3, 4, 99]);
    const rows = kernels.guarded(16);
    kernels.call("packF32", [rows, b, 2, 2, 3], 0, 1);
    expect([...kernels.read(rows, 16)]).toEqual([1, 2, ...zeros(6), 3, 4, ...zeros(6)]);
    const columns = kernels.guarded(16);
    kernels.call("packTransposedF32", [columns, b, 2, 2, 3], 0, 1);
    expect([...kernels.read(columns, 16)]).toEqual([1, 3, ...zeros(6), 2, 4, ...zeros(6)]);
  });
});

describe("gemm", () => {
  it("gemmF32() multiplies [2, 3] by [3, 2]", () => {
    kernels.reset();
    expect([...product("gemmF32", [1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12], 2, 2, 3)]).toEqual([
      58, 64, 139, 154,
    ]);
  });

  it.each(KERNELS)("%s() is within k roundings of the float64 product at every size", (kernel) => {
    for (const [m, n, k] of SHAPES) {
      kernels.reset();
      const [a, b] = [random.array(m * k), random.array(k * n)];
      const start = startOf(kernel, m, n);
      const actual = product(kernel, a, b, m, n, k, { start });
      const exact = gemm(a, b, m, n, k);
      const magnitude = gemmMagnitude(a, b, m, n, k);
      const worst = actual.reduce((most, value, i) => {
        const first = start[i] ?? 0;
        // k products and k sums of f32, first order: (k + 1)·2⁻²⁴ of the summed magnitudes
        const bound = (k + 1) * 2 ** -24 * ((magnitude[i] ?? 0) + Math.abs(first));
        return Math.max(most, Math.abs(value - first - (exact[i] ?? 0)) - bound);
      }, -1);
      expect(worst, `${m} × ${n} × ${k}, seed ${random.seed}`).toBeLessThanOrEqual(0);
    }
  });

  it("gemmF32() adds k upwards, each product and each sum rounded once", () => {
    for (const [m, n, k] of [
      [1, 33, 300],
      [6, 9, 257],
      [41, 3, 520],
    ] as const) {
      kernels.reset();
      const [a, b] = [random.array(m * k), random.array(k * n)];
      const actual = product("gemmF32", a, b, m, n, k);
      for (let i = 0; i < m; i++)
        for (let j = 0; j < n; j++) {
          let sum = 0;
          for (let kk = 0; kk < k; kk++)
            sum = Math.fround(
              sum + Math.fround((a[i * k + kk] as number) * (b[kk * n + j] as number)),
            );
          expect(actual[i * n + j]).toBe(sum);
        }
    }
  });

  it.each(KERNELS)("%s() gives the same bits for every cut of its range", (kernel) => {
    const [m, n, k] = [97, 101, 37];
    const [a, b] = [random.array(m * k), random.array(k * n)];
    const start = startOf(kernel, m, n);
    kernels.reset();
    const whole = product(kernel, a, b, m, n, k, { start });
    expect(units(m, n)).toBe(12);
    for (let cut = 0; cut <= 12; cut++) {
      kernels.reset();
      expect(product(kernel, a, b, m, n, k, { start, cuts: [cut] })).toEqual(whole);
    }
    kernels.reset();
    const backwards = product(kernel, a, b, m, n, k, { start, backwards: true });
    expect(backwards).toEqual(whole);
  });

  it("gives a row the same bits alone as in a batch, in every tile", () => {
    const [n, k] = [45, 270];
    const b = random.array(k * n);
    for (const m of [2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 40, 43]) {
      kernels.reset();
      const a = random.array(m * k);
      const batch = product("gemmF32", a, b, m, n, k);
      const turned = product("gemmTransposedF32", a, b, m, n, k);
      expect(turned).toEqual(batch);
      for (let i = 0; i < m; i++) {
        const row = product("gemmF32", a.subarray(i * k, i * k + k), b, 1, n, k);
        expect(row, `row ${i} of ${m}`).toEqual(batch.subarray(i * n, i * n + n));
      }
    }
  });

  it("gives the same bits when k is cut into parts that are added", () => {
    const [m, n, k] = [6, 21, 90];
    const [a, b] = [random.array(m * k), random.array(k * n)];
    kernels.reset();
    const whole = product("gemmF32", a, b, m, n, k);
    let sum = product("gemmF32", columns(a, k, 0, 31), b.subarray(0, 31 * n), m, n, 31);
    sum = product("gemmAddF32", columns(a, k, 31, k), b.subarray(31 * n), m, n, k - 31, {
      start: sum,
    });
    expect(sum).toEqual(whole);
  });

  it("leaves the gaps between rows of c alone, and skips those of a", () => {
    kernels.reset();
    const a = kernels.f32([1, 2, 99, 3, 4, 99]);
    const b = kernels.guarded(16);
    kernels.call("packF32", [b, kernels.f32([1, 0, 0, 1]), 2, 2, 2], 0, 1);
    const c = kernels.guarded(6);
    kernels.call("gemmF32", [c, a, b, 2, 2, 2, 3, 3], 0, 1);
    expect([...kernels.read(c, 6)]).toEqual([1, 2, Number.NaN, 3, 4, Number.NaN]);
    kernels.checkGuards();
  });

  it("lets NaN and infinity reach exactly the elements they belong to", () => {
    kernels.reset();
    const [m, n, k] = [6, 9, 5];
    const a = new Float32Array(m * k).fill(1);
    const b = new Float32Array(k * n).fill(1);
    a[2 * k + 4] = Number.NaN;
    b[3 * n + 8] = Number.POSITIVE_INFINITY;
    const c = product("gemmF32", a, b, m, n, k);
    c.forEach((value, index) => {
      const [i, j] = [Math.floor(index / n), index % n];
      expect(value).toBe(i === 2 ? Number.NaN : j === 8 ? Number.POSITIVE_INFINITY : k);
    });
  });

  it("gives the same bits in the threads build", () => {
    kernels.reset();
    const [m, n, k] = [43, 45, 300];
    const [a, b] = [random.array(m * k), random.array(k * n)];
    const threads = loadKernels("threads");
    for (const kernel of KERNELS) {
      const start = startOf(kernel, m, n);
      expect(product(kernel, a, b, m, n, k, { start, bench: threads })).toEqual(
        product(kernel, a, b, m, n, k, { start }),
      );
    }
  });
});

describe("sumRowsAddF32()", () => {
  it("adds the rows upwards to what y holds, at every width", () => {
    for (const n of SIZES)
      for (const rows of [0, 1, 2, 9]) {
        kernels.reset();
        const [x, first] = [random.array(rows * n), random.array(n)];
        const y = kernels.guarded(n);
        kernels.write(y, first);
        kernels.call("sumRowsAddF32", [y, kernels.f32(x), rows, n], 0, Math.ceil(n / 32));
        const expected = first.map((start, j) => {
          let sum = start;
          for (let i = 0; i < rows; i++) sum = Math.fround(sum + (x[i * n + j] as number));
          return sum;
        });
        expect(kernels.read(y, n), `${rows} rows of ${n}`).toEqual(expected);
        kernels.checkGuards();
      }
  });
});

interface Run {
  /** c before the products are added: the bias repeated, or c itself. */
  readonly start?: ArrayLike<number>;
  readonly cuts?: readonly number[];
  readonly backwards?: boolean;
  readonly bench?: KernelBench;
}

/** One product through packing and kernel, from plain arrays a [m, k] and b [k, n]. */
function product(
  kernel: Kernel,
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  m: number,
  n: number,
  k: number,
  { start = [], cuts = [], backwards = false, bench = kernels }: Run = {},
): Float32Array {
  const transposed = kernel.startsWith("gemmTransposed");
  const left = bench.f32(transposed ? transpose(a, m, k) : a);
  const right = bench.guarded(panels(n) * k * 8);
  bench.call("packF32", [right, bench.f32(b), n, k, n], 0, panels(n));
  const c = bench.guarded(m * n);
  if (kernel.endsWith("AddF32")) bench.write(c, start);
  const bounds = [0, ...cuts, units(m, n)];
  const parts = backwards
    ? Array.from({ length: units(m, n) }, (_, i) => [units(m, n) - 1 - i, units(m, n) - i])
    : bounds.slice(1).map((end, i) => [bounds[i] as number, end]);
  for (const [begin = 0, end = 0] of parts) {
    if (kernel === "gemmBiasF32") {
      const bias = bench.f32(Array.from({ length: n }, (_, j) => start[j] ?? 0));
      bench.call(kernel, [c, left, right, bias, m, n, k, k, n], begin, end);
    } else bench.call(kernel, [c, left, right, m, n, k, transposed ? m : k, n], begin, end);
  }
  bench.checkGuards();
  return bench.read(c, m * n);
}

/** What a kernel starts from: one bias for all rows, any c, or nothing. */
function startOf(kernel: Kernel, m: number, n: number): ArrayLike<number> {
  if (kernel.endsWith("AddF32")) return random.array(m * n);
  if (kernel !== "gemmBiasF32") return [];
  const bias = random.array(n);
  return Float32Array.from({ length: m * n }, (_, i) => bias[i % n] as number);
}

function pack(
  kernel: "packF32" | "packTransposedF32",
  b: ArrayLike<number>,
  n: number,
  k: number,
  step = panels(n),
): number[] {
  const address = kernels.guarded(panels(n) * k * 8);
  const from = kernels.f32(b);
  const stride = kernel === "packF32" ? n : k;
  for (let panel = 0; panel < panels(n); panel += step)
    kernels.call(kernel, [address, from, n, k, stride], panel, Math.min(panels(n), panel + step));
  kernels.checkGuards();
  return [...kernels.read(address, panels(n) * k * 8)];
}

/** Columns [from, to) of x [·, width]. */
function columns(x: Float32Array, width: number, from: number, to: number): Float32Array {
  return x.filter((_, i) => i % width >= from && i % width < to);
}

function zeros(n: number): number[] {
  return Array(n).fill(0);
}
