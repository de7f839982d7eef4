import { attention } from "../src/ops/attention.js";
import { seeded, swapFirstTwo } from "./harness/arrays.js";
import type { Bench } from "./harness/bench.js";
import type { OnnxNode, OnnxVariant } from "./thirdparty/onnx.js";

const HEADS = 8;
const WIDTH = 64;
const SCALE = 1 / Math.sqrt(WIDTH);
/** Hides a key from peers that know no causal attention; −∞ would do too. */
const HIDDEN = -3e38;

interface Size {
  readonly length: number;
  readonly causal: boolean;
}

type Operands = Readonly<Record<"q" | "k" | "v", Float32Array>>;

function bench({ length, causal }: Size, bars: NonNullable<Bench["bars"]>): Bench {
  const pairs = causal ? (length * (length + 1)) / 2 : length * length;
  const shape = [HEADS, length, WIDTH];
  const operands = (): Operands => {
    const [q, k, v] = [1, 2, 3].map((seed) => seeded(HEADS * length * WIDTH, seed));
    return { q, k, v } as Operands;
  };
  return {
    name: `attention ${HEADS} × ${length} × ${WIDTH}${causal ? " causal" : ""}`,
    work: { flops: 4 * HEADS * pairs * WIDTH },
    setup(heed) {
      const { q, k, v } = operands();
      const [x, y, z] = [heed.tensor(q, shape), heed.tensor(k, shape), heed.tensor(v, shape)];
      return () => attention(x, y, z, { causal });
    },
    peers: {
      "onnxruntime-web": () => onnxVariants({ length, causal }, operands()),
      "tfjs-wasm": (tf) => {
        // Head by head: its product of stacks of matrices is many times slower than of single ones.
        const { q, k, v } = operands();
        const heads = (values: Float32Array) => tf.unstack(tf.tensor(values, shape));
        const queries = heads(q).map((head) => tf.mul(head, SCALE));
        const keys = heads(k).map((head) => tf.transpose(head, [1, 0]));
        const values = heads(v);
        const mask = causal ? tf.tensor(causalMask(length), [length, length]) : null;
        const one = (head: number) => {
          const scores = tf.matMul(at(queries, head), at(keys, head));
          return tf.matMul(tf.softmax(mask ? tf.add(scores, mask) : scores), at(values, head));
        };
        return [() => tf.stack(queries.map((_, head) => one(head)))];
      },
    },
    bars,
  };
}

/** onnxruntime's ways to attention; none of them skips the keys that causal hides. */
function onnxVariants({ length, causal }: Size, { q, k, v }: Operands): OnnxVariant[] {
  const stacked = [1, HEADS, length, WIDTH];
  const flat = [1, length, HEADS * WIDTH];
  const inputs = (shape: number[], arrange: (x: Float32Array) => Float32Array) => ({
    q: { shape, values: arrange(q) },
    k: { shape, values: arrange(k) },
    v: { shape, values: arrange(v) },
  });
  const masked: OnnxNode = { op: "Add", inputs: ["scaled", "mask"], outputs: ["masked"] };
  return [
    {
      name: "MatMul, Softmax, MatMul",
      nodes: [
        { op: "Transpose", inputs: ["k"], outputs: ["kt"], attributes: { perm: [0, 1, 3, 2] } },
        { op: "MatMul", inputs: ["q", "kt"], outputs: ["scores"] },
        { op: "Mul", inputs: ["scores", "scale"], outputs: ["scaled"] },
        ...(causal ? [masked] : []),
        { op: "Softmax", inputs: [causal ? "masked" : "scaled"], outputs: ["weights"] },
        { op: "MatMul", inputs: ["weights", "v"], outputs: ["y"] },
      ],
      inputs: inputs(stacked, (x) => x),
      weights: {
        scale: { shape: [], values: Float32Array.of(SCALE) },
        ...(causal && { mask: { shape: [length, length], values: causalMask(length) } }),
      },
      shape: stacked,
    },
    {
      name: "Attention",
      nodes: [
        {
          op: "Attention",
          inputs: ["q", "k", "v"],
          outputs: ["y"],
          attributes: causal ? { is_causal: 1 } : {},
        },
      ],
      inputs: inputs(stacked, (x) => x),
      shape: stacked,
    },
    {
      name: "MultiHeadAttention",
      nodes: [
        {
          op: "MultiHeadAttention",
          inputs: ["q", "k", "v"],
          outputs: ["y"],
          attributes: { num_heads: HEADS, ...(causal && { unidirectional: 1 }) },
          domain: "com.microsoft",
        },
      ],
      inputs: inputs(flat, (x) => swapFirstTwo(x, HEADS, length)),
      shape: flat,
      arrange: (y) => swapFirstTwo(y, length, HEADS),
    },
  ];
}

function causalMask(length: number): Float32Array {
  const mask = new Float32Array(length * length);
  for (let i = 0; i < length; i++) mask.fill(HIDDEN, i * length + i + 1, (i + 1) * length);
  return mask;
}

function at<T>(items: readonly T[], index: number): T {
  return items[index] as T;
}

export const benches: readonly Bench[] = [
  bench({ length: 512, causal: false }, { "onnxruntime-web": [1.3, 1.7], "1 thread": [1.6, 1.8] }),
  bench({ length: 1024, causal: true }, { "onnxruntime-web": [2.5, 3.5], "1 thread": [1.6, 1.8] }),
];
