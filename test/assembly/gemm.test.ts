import { describe, expect, it } from "vitest";
import { gemm, gemmMagnitude, transpose } from "../reference/gemm.js";
import { type KernelBench, loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the tiles' 4, 5 and 8, the group of 32 columns and the block of 40 rows.
const SIZES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 31, 32, 33, 39, 40, 41, 64, 127];
// All sizes of one axis against a few of the others: 16³ products would take minutes.
const SHAPES = SIZES.flatMap((size) => [
  ...[1, 5, 33].flatMap((m) => [7, 40].map((k) => [m, size, k] as const)),
  ...[1, 8, 33].flatMap((n) => [7, 40].map((k) => [size, n, k] as const)),
  ...[1, 6].flatMap((m) => [3, 33].map((n) => [m, n, size] as const)),
]);
const KERNELS = ["gemmF32", "gemmBiasF32", "gemmAddF32"] as const;
type Kernel = (typeof KERNELS)[number];
/** How the left operand stands. */
const LEFTS = ["packed", "row by row"] as const;
type Left = (typeof LEFTS)[number];
const EACH = KERNELS.flatMap((kernel) => LEFTS.map((left) => [kernel, left] as const));

const kernels = loadKernels("simd");
const random = seeded(20);
const units = (m: number, n: number): number => Math.ceil(m / 40) * Math.ceil(n / 32);
const panels = (n: number): number => Math.ceil(n / 8);
const tiles = (m: number): number => Math.ceil(m / 5);

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

describe("packLeftF32() and packLeftTransposedF32()", () => {
  it("lay [7, 2] out as a tile of four rows and one of three", () => {
    kernels.reset();
    const a = [0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61];
    const expected = [0, 10, 20, 30, 1, 11, 21, 31, 40, 50, 60, 41, 51, 61];
    expect(packLeft("packLeftF32", a, 7, 2)).toEqual(expected);
    expect(packLeft("packLeftTransposedF32", transpose(a, 7, 2), 7, 2)).toEqual(expected);
  });

  it("agree at every height and depth, in one piece or tile by tile", () => {
    for (const m of [...SIZES, 83])
      for (const k of SIZES) {
        kernels.reset();
        const a = random.array(m * k);
        const whole = packLeft("packLeftF32", a, m, k);
        expect(whole.toSorted()).toEqual([...a].toSorted());
        const turned = transpose(a, m, k);
        expect(packLeft("packLeftTransposedF32", turned, m, k), `${m} rows of ${k}`).toEqual(whole);
        expect(packLeft("packLeftF32", a, m, k, 1)).toEqual(whole);
        expect(packLeft("packLeftTransposedF32", turned, m, k, 1)).toEqual(whole);
        expect(packLeft("packLeftTransposedF32", turned, m, k, 3)).toEqual(whole);
      }
  });

  it("leave a single row as it is", () => {
    kernels.reset();
    expect(packLeft("packLeftF32", [1, 2, 3], 1, 3)).toEqual([1, 2, 3]);
    expect(packLeft("packLeftTransposedF32", [1, 2, 3], 1, 3)).toEqual([1, 2, 3]);
  });

  it("read rows that stand further apart than they are long", () => {
    kernels.reset();
    const a = kernels.f32([1, 2, 99, 3, 4, 99]);
    const rows = kernels.guarded(4);
    kernels.call("packLeftF32", [rows, a, 2, 2, 3], 0, 1);
    expect([...kernels.read(rows, 4)]).toEqual([1, 3, 2, 4]);
    const columns = kernels.guarded(4);
    kernels.call("packLeftTransposedF32", [columns, a, 2, 2, 3], 0, 1);
    expect([...kernels.read(columns, 4)]).toEqual([1, 2, 3, 4]);
  });
});

describe("gemm", () => {
  it("gemmF32() multiplies [2, 3] by [3, 2]", () => {
    kernels.reset();
    expect([...product("gemmF32", [1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12], 2, 2, 3)]).toEqual([
      58, 64, 139, 154,
    ]);
  });

  it.each(EACH)(
    "%s(), A %s, is within k roundings of the float64 product at every size",
    (kernel, left) => {
      for (const [m, n, k] of SHAPES) {
        kernels.reset();
        const [a, b] = [random.array(m * k), random.array(k * n)];
        const start = startOf(kernel, m, n);
        const actual = product(kernel, a, b, m, n, k, { start, left });
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
    },
  );

  it.each(EACH)(
    "%s(), A %s, adds k upwards, each product and each sum rounded once",
    (kernel, left) => {
      const deep = [1, 2, 3, 5, 6, 41].flatMap((m) =>
        [3, 9, 32, 33].flatMap((n) => [257, 512, 513].map((k) => [m, n, k] as const)),
      );
      for (const [m, n, k] of [...SHAPES, ...deep]) {
        kernels.reset();
        const [a, b] = [random.array(m * k), random.array(k * n)];
        const start = startOf(kernel, m, n);
        const actual = product(kernel, a, b, m, n, k, { start, left });
        expect(actual, `${m} × ${n} × ${k}, seed ${random.seed}`).toEqual(
          roundedSums(a, b, m, n, k, start),
        );
      }
    },
  );

  it.each(EACH)("%s(), A %s, gives the same bits for every cut of its range", (kernel, left) => {
    const [m, n, k] = [97, 101, 37];
    const [a, b] = [random.array(m * k), random.array(k * n)];
    const start = startOf(kernel, m, n);
    kernels.reset();
    const whole = product(kernel, a, b, m, n, k, { start, left });
    expect(units(m, n)).toBe(12);
    for (let cut = 0; cut <= 12; cut++) {
      kernels.reset();
      expect(product(kernel, a, b, m, n, k, { start, left, cuts: [cut] })).toEqual(whole);
    }
    kernels.reset();
    const backwards = product(kernel, a, b, m, n, k, { start, left, backwards: true });
    expect(backwards).toEqual(whole);
  });

  it("gives a row the same bits alone as in a batch, in every tile", () => {
    const [n, k] = [45, 270];
    const b = random.array(k * n);
    for (const m of [2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 40, 43]) {
      kernels.reset();
      const a = random.array(m * k);
      const batch = product("gemmF32", a, b, m, n, k);
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

  it.each(EACH)("%s(), A %s, leaves the gaps between rows of c alone", (kernel, left) => {
    for (const [m, n] of [
      [2, 2],
      [2, 32],
      [6, 33],
    ] as const) {
      kernels.reset();
      const [k, ldc] = [3, n + 3];
      const [a, b] = [random.array(m * k), random.array(k * n)];
      const start = startOf(kernel, m, n);
      const c = product(kernel, a, b, m, n, k, { start, left, ldc });
      const expected = roundedSums(a, b, m, n, k, start);
      for (let i = 0; i < m; i++) {
        expect(c.subarray(i * ldc, i * ldc + n)).toEqual(expected.subarray(i * n, i * n + n));
        const gap = i < m - 1 ? [Number.NaN, Number.NaN, Number.NaN] : [];
        expect([...c.subarray(i * ldc + n, i * ldc + ldc)]).toEqual(gap);
      }
    }
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

  it.each(["threads", "debug"] as const)("gives the same bits in the %s build", (build) => {
    const bench = loadKernels(build);
    for (const kernel of KERNELS)
      for (const [m, n, k] of [
        [1, 45, 30],
        [2, 45, 30],
        [43, 45, 530],
      ] as const) {
        kernels.reset();
        bench.reset();
        const [a, b] = [random.array(m * k), random.array(k * n)];
        const start = startOf(kernel, m, n);
        for (const left of LEFTS)
          expect(product(kernel, a, b, m, n, k, { start, left, bench })).toEqual(
            product(kernel, a, b, m, n, k, { start, left }),
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
  readonly left?: Left;
  /** Floats between rows of c. */
  readonly ldc?: number;
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
  { start = [], left = "packed", ldc = n, cuts = [], backwards = false, bench = kernels }: Run = {},
): Float32Array {
  // Rows that are not packed stand one float further apart than they are long.
  const lda = left === "packed" ? 0 : k + 1;
  const address = bench.guarded(m * Math.max(k, lda));
  if (left === "packed") bench.call("packLeftF32", [address, bench.f32(a), m, k, k], 0, tiles(m));
  else writeRows(bench, address, a, m, k, lda);
  const right = bench.guarded(panels(n) * k * 8);
  bench.call("packF32", [right, bench.f32(b), n, k, n], 0, panels(n));
  const length = m > 0 ? (m - 1) * ldc + n : 0;
  const c = bench.guarded(length);
  if (kernel === "gemmAddF32") writeRows(bench, c, start, m, n, ldc);
  const bounds = [0, ...cuts, units(m, n)];
  const parts = backwards
    ? Array.from({ length: units(m, n) }, (_, i) => [units(m, n) - 1 - i, units(m, n) - i])
    : bounds.slice(1).map((end, i) => [bounds[i] as number, end]);
  for (const [begin = 0, end = 0] of parts) {
    if (kernel === "gemmBiasF32") {
      const bias = bench.f32(Array.from({ length: n }, (_, j) => start[j] ?? 0));
      bench.call(kernel, [c, address, right, bias, m, n, k, lda, ldc], begin, end);
    } else bench.call(kernel, [c, address, right, m, n, k, lda, ldc], begin, end);
  }
  bench.checkGuards();
  return bench.read(c, length);
}

/** Rows of `width` floats, `step` floats apart. */
function writeRows(
  bench: KernelBench,
  address: number,
  values: ArrayLike<number>,
  rows: number,
  width: number,
  step: number,
): void {
  const all = Float32Array.from(values);
  for (let i = 0; i < rows; i++)
    bench.write(address + i * step * 4, all.subarray(i * width, i * width + width));
}

/** start + a·b, k upwards, every product and every sum rounded to f32. */
function roundedSums(
  a: Float32Array,
  b: Float32Array,
  m: number,
  n: number,
  k: number,
  start: ArrayLike<number>,
): Float32Array {
  const c = Float32Array.from({ length: m * n }, (_, i) => start[i] ?? 0);
  for (let i = 0; i < m; i++)
    for (let kk = 0; kk < k; kk++) {
      const x = a[i * k + kk] as number;
      // An element of c rounds what is stored: only the product needs it said.
      for (let j = 0; j < n; j++)
        c[i * n + j] = (c[i * n + j] as number) + Math.fround(x * (b[kk * n + j] as number));
    }
  return c;
}

/** What a kernel starts from: one bias for all rows, any c, or nothing. */
function startOf(kernel: Kernel, m: number, n: number): ArrayLike<number> {
  if (kernel === "gemmAddF32") return random.array(m * n);
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

function packLeft(
  kernel: "packLeftF32" | "packLeftTransposedF32",
  a: ArrayLike<number>,
  m: number,
  k: number,
  step = tiles(m),
): number[] {
  const address = kernels.guarded(m * k);
  const from = kernels.f32(a);
  const stride = kernel === "packLeftF32" ? k : m;
  for (let tile = 0; tile < tiles(m); tile += step)
    kernels.call(kernel, [address, from, m, k, stride], tile, Math.min(tiles(m), tile + step));
  kernels.checkGuards();
  return [...kernels.read(address, m * k)];
}

/** Columns [from, to) of x [·, width]. */
function columns(x: Float32Array, width: number, from: number, to: number): Float32Array {
  return x.filter((_, i) => i % width >= from && i % width < to);
}

function zeros(n: number): number[] {
  return Array(n).fill(0);
}
