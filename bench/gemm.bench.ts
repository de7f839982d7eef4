import type { Heed } from "../src/heed.js";
import { linear } from "../src/ops/linear.js";
import { matmul } from "../src/ops/matmul.js";
import { gemmCost, gemmUnits, packLeftInto, packScratch } from "../src/ops/packing.js";
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

/** A weight's gradient, dyᵀ·x: the left operand is packed from its columns. */
const gradient: Bench = {
  name: "matmul aᵀ·b, 512 × 704 × 1024",
  work: { flops: 2 * 512 * 704 * 1024 },
  setup(heed) {
    const x = heed.tensor(seeded(704 * 512, 1), [704, 512]);
    const y = heed.tensor(seeded(704 * 1024, 2), [704, 1024]);
    return () => matmul(x, y, { transposeA: true });
  },
};

/**
 * The left operand multiplied as it stands against packed first, around the sizes where
 * src/ops/product.ts changes from one to the other.
 */
function leftOperand(m: number, n: number, k: number, way: "as it stands" | "packed first"): Bench {
  return {
    name: `${m} × ${k} × ${n}, left operand ${way}`,
    work: { flops: 2 * m * k * n },
    threads: [1],
    ownScope: true,
    setup(heed): Run {
      const x = heed.tensor(seeded(m * k, 1), [m, k]);
      const left = empty(heed, [m, k]);
      const c = empty(heed, [m, n]);
      const panels = packScratch(heed, heed.tensor(seeded(k * n, 2)).ptr, n, k, "rows");
      const [units, cost] = [gemmUnits(m, n), gemmCost(m, n, k)];
      return () => {
        const packs = way === "packed first";
        const a = packs ? packLeftInto(heed, left.ptr, x.ptr, m, k, "rows") : x.ptr;
        heed.run("gemmF32", [c.ptr, a, panels, m, n, k, packs ? 0 : k, n], units, cost);
        return c;
      };
    },
  };
}

interface TileForm {
  readonly rows: number;
  /** Steps of k a turn. */
  readonly unrolled?: number;
  /** Each row of the left operand read through a pointer of its own. */
  readonly pointers?: boolean;
  /** The loop tests before its body and moves the pointers behind it. */
  readonly testsFirst?: boolean;
}

/** Register tiles of `rows` × 8: why the loop of assembly/gemm/tile.ts looks as it does. */
function tile(form: TileForm): Bench {
  const [depth, tiles] = [512, 100];
  const { rows, unrolled = 1, pointers = false, testsFirst = false } = form;
  const notes = [
    `tile of ${rows} × 8`,
    ...(pointers ? ["a pointer a row"] : []),
    ...(testsFirst ? ["tested first"] : []),
    ...(unrolled > 1 ? [`${unrolled} k a turn`] : []),
  ];
  return {
    name: notes.join(", "),
    work: { flops: tiles * rows * 8 * 2 * depth },
    threads: [1],
    ownScope: true,
    async setup(_: Heed) {
      const instance = await WebAssembly.instantiate(await compileAssembly(tileSource(form)));
      const { memory, multiply } = instance.exports as {
        memory: WebAssembly.Memory;
        multiply(c: number, a: number, panel: number, depth: number): void;
      };
      memory.grow(1);
      const floats = new Float32Array(memory.buffer);
      floats.set(seeded(16 * depth, 1, 0.01));
      const [panel, left, out] = [64, 8 * depth * 4 + 64, 14 * depth * 4 + 64];
      return () => {
        for (let i = 0; i < tiles; i++) multiply(out, left, panel, depth);
        return [];
      };
    },
  };
}

function tileSource({ rows, unrolled = 1, pointers, testsFirst }: TileForm): string {
  const all = Array.from({ length: rows }, (_, row) => row);
  const each = (line: (row: number) => string): string => all.map(line).join("\n");
  const element = (u: number, i: number): string =>
    pointers ? `a${i}, ${4 * u}` : `a0, ${4 * (u * rows + i)}`;
  const turn = (u: number): string => `
      b0 = v128.load(panel, ${u * 32});
      b1 = v128.load(panel, ${u * 32 + 16});
      ${each(
        (i) => `x = v128.load32_splat(${element(u, i)});
      s${i} = f32x4.add(f32x4.mul(x, b0), s${i});
      t${i} = f32x4.add(f32x4.mul(x, b1), t${i});`,
      )}`;
  const turns = Array.from({ length: unrolled }, (_, u) => turn(u)).join("\n");
  const walking = pointers ? all : [0];
  const step = 4 * unrolled * (pointers ? 1 : rows);
  const move = (sign: "+" | "-"): string =>
    [`panel ${sign}= ${32 * unrolled};`, ...walking.map((i) => `a${i} ${sign}= ${step};`)].join(
      " ",
    );
  const loop = testsFirst
    ? `for (const end = panel + <usize>depth * 32; panel < end;) {
      ${turns}
      ${move("+")}
    }`
    : `if (depth > 0) {
      ${move("-")}
      const last = panel + <usize>depth * 32;
      do {
        ${move("+")}
        ${turns}
      } while (panel != last);
    }`;
  return `export function multiply(c: usize, a: usize, panel: usize, depth: i32): void {
  let b0: v128, b1: v128, x: v128;
  ${walking.map((i) => `let a${i} = a + <usize>(${i} * depth * 4);`).join("\n")}
  ${each(
    (i) => `let s${i} = v128.load(c, ${i * 32});
  let t${i} = v128.load(c, ${i * 32 + 16});`,
  )}
  ${loop}
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
  gradient,
  row,
  leftOperand(704, 32, 512, "as it stands"),
  leftOperand(704, 32, 512, "packed first"),
  leftOperand(704, 64, 512, "as it stands"),
  leftOperand(704, 64, 512, "packed first"),
  leftOperand(3, 512, 512, "as it stands"),
  leftOperand(3, 512, 512, "packed first"),
  tile({ rows: 4 }),
  tile({ rows: 5 }),
  tile({ rows: 5, testsFirst: true }),
  tile({ rows: 5, pointers: true }),
  tile({ rows: 5, unrolled: 2 }),
  tile({ rows: 6 }),
];
