import type { Heed } from "../src/heed.js";
import { linear } from "../src/ops/linear.js";
import { matmul } from "../src/ops/matmul.js";
import { gemmCost, gemmUnits, packScratch } from "../src/ops/packing.js";
import { noGrad } from "../src/ops/tape.js";
import { empty } from "../src/tensor/create.js";
import { seeded } from "./harness/arrays.js";
import type { Bench, Run } from "./harness/bench.js";
import { compileAssembly } from "./harness/compile.js";

const N = 512;
const a = (): Float32Array => seeded(N * N, 1);
const b = (): Float32Array => seeded(N * N, 2, 1 / Math.sqrt(N));

const square: Bench = {
  name: "matmul 512³",
  work: { flops: 2 * N ** 3 },
  setup(heed) {
    const [x, y] = [heed.tensor(a(), [N, N]), heed.tensor(b(), [N, N])];
    return () => matmul(x, y);
  },
  peers: {
    "onnxruntime-web": () =>
      [true, false].map((constant) => {
        const right = { b: { shape: [N, N], values: b() } };
        return {
          name: constant ? "constant b" : "any b",
          nodes: [{ op: "MatMul", inputs: ["a", "b"], outputs: ["y"] }],
          inputs: { a: { shape: [N, N], values: a() }, ...(constant ? {} : right) },
          weights: constant ? right : {},
          shape: [N, N],
        };
      }),
    "tfjs-wasm": (tf) => {
      const [x, y] = [tf.tensor(a(), [N, N]), tf.tensor(b(), [N, N])];
      return [() => tf.matMul(x, y)];
    },
  },
  bars: {
    limit: [0.75, 0.85],
    "onnxruntime-web": [1.3, 1.6],
    "tfjs-wasm": [1.05, 1.25],
    "1 thread": [1.6, 1.8],
  },
};

/** Deeper than the stretch of k that a block stays in the first-level cache for. */
const deep: Bench = {
  name: "matmul 512 × 4096 × 512",
  work: { flops: 2 * N * 8 * N * N },
  threads: [1],
  setup(heed) {
    const x = heed.tensor(seeded(N * 8 * N, 1), [N, 8 * N]);
    const y = heed.tensor(seeded(N * 8 * N, 2), [8 * N, N]);
    return () => matmul(x, y);
  },
};

/** One token to the scores of a vocabulary: bound by reading the weight. */
const row: Bench = {
  name: "linear 1 × 512 → 4000",
  work: { bytes: 4 * 512 * 4000 },
  setup(heed) {
    const x = heed.tensor(seeded(512, 1), [1, 512]);
    const weight = heed.tensor(seeded(512 * 4000, 2, 0.05), [4000, 512]);
    return () => noGrad(heed, () => linear(x, weight));
  },
};

/**
 * aᵀ·b, a weight's gradient: reading a in strides against turning it first, around the sizes where
 * src/ops/product.ts changes from one to the other. c is [columns, 256], a [depth, columns].
 */
function transposed(columns: number, depth: number, way: "in strides" | "turned first"): Bench {
  const n = 256;
  return {
    name: `aᵀ·b of ${columns} columns, depth ${depth}, ${way}`,
    work: { flops: 2 * columns * depth * n },
    threads: [1],
    ownScope: true,
    setup(heed): Run {
      const x = heed.tensor(seeded(depth * columns, 1), [depth, columns]);
      const turned = empty(heed, [columns, depth]);
      const c = empty(heed, [columns, n]);
      const panels = packScratch(heed, heed.tensor(seeded(depth * n, 2)).ptr, n, depth, "rows");
      const multiply = (kernel: "gemmF32" | "gemmTransposedF32", from: number, lda: number): void =>
        heed.run(
          kernel,
          [c.ptr, from, panels, columns, n, depth, lda, n],
          gemmUnits(columns, n),
          gemmCost(columns, n, depth),
        );
      return () => {
        if (way === "in strides") multiply("gemmTransposedF32", x.ptr, columns);
        else {
          const [strips, steps] = [Math.ceil(columns / 16), 8 * depth];
          heed.run("transpose32", [turned.ptr, x.ptr, depth, columns], strips, steps);
          multiply("gemmF32", turned.ptr, depth);
        }
        return c;
      };
    },
  };
}

/** Register tiles of `rows` × 8: why assembly/gemm/tile.ts has five rows and is not unrolled over k. */
function tile(rows: number, unrolled: number): Bench {
  const [depth, tiles] = [512, 100];
  return {
    name: `tile of ${rows} × 8${unrolled > 1 ? `, ${unrolled} k a turn` : ""}`,
    work: { flops: tiles * rows * 8 * 2 * depth },
    threads: [1],
    ownScope: true,
    async setup(_: Heed) {
      const instance = await WebAssembly.instantiate(
        await compileAssembly(tileSource(rows, unrolled)),
      );
      const { memory, multiply } = instance.exports as {
        memory: WebAssembly.Memory;
        multiply(c: number, a: number, panel: number, depth: number): void;
      };
      memory.grow(1);
      const floats = new Float32Array(memory.buffer);
      floats.set(seeded(16 * depth, 1, 0.01));
      const [panel, left, out] = [0, 8 * depth * 4, 14 * depth * 4];
      return () => {
        for (let i = 0; i < tiles; i++) multiply(out, left, panel, depth);
        return [];
      };
    },
  };
}

function tileSource(rows: number, unrolled: number): string {
  const each = (line: (row: number) => string): string =>
    Array.from({ length: rows }, (_, index) => line(index)).join("\n");
  const turn = (u: number): string => `
    b0 = v128.load(panel, ${u * 32});
    b1 = v128.load(panel, ${u * 32 + 16});
    ${each(
      (i) => `x = v128.load32_splat(a${i}, ${u * 4});
    s${i} = f32x4.add(f32x4.mul(x, b0), s${i});
    t${i} = f32x4.add(f32x4.mul(x, b1), t${i});`,
    )}`;
  return `export function multiply(c: usize, a: usize, panel: usize, depth: i32): void {
  let b0: v128, b1: v128, x: v128;
  ${each(
    (i) => `let a${i} = a + <usize>(${i} * depth * 4);
  let s${i} = v128.load(c, ${i * 32});
  let t${i} = v128.load(c, ${i * 32 + 16});`,
  )}
  for (const end = panel + <usize>(depth * 32); panel < end; panel += ${32 * unrolled}) {
    ${Array.from({ length: unrolled }, (_, u) => turn(u)).join("\n")}
    ${each((i) => `a${i} += ${4 * unrolled};`)}
  }
  ${each(
    (i) => `v128.store(c, s${i}, ${i * 32});
  v128.store(c, t${i}, ${i * 32 + 16});`,
  )}
}
`;
}

export const benches: readonly Bench[] = [
  square,
  deep,
  row,
  transposed(128, 704, "in strides"),
  transposed(128, 704, "turned first"),
  transposed(256, 704, "in strides"),
  transposed(256, 704, "turned first"),
  transposed(1024, 32, "in strides"),
  transposed(1024, 32, "turned first"),
  tile(4, 1),
  tile(5, 1),
  tile(5, 2),
  tile(6, 1),
];
