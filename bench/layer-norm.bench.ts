import { layerNorm } from "../src/ops/layer-norm.js";
import { seeded } from "./harness/arrays.js";
import type { Bench } from "./harness/bench.js";

const ROWS = 1024;
const N = 768;
const SHAPE = [ROWS, N];
const EPS = 1e-5;
const x = (): Float32Array => seeded(ROWS * N, 1, 2);
const gamma = (): Float32Array => seeded(N, 2);
const beta = (): Float32Array => seeded(N, 3);

const rows: Bench = {
  name: "LayerNorm 1024 × 768",
  work: { bytes: 8 * ROWS * N },
  setup(heed) {
    const [input, scale, shift] = [
      heed.tensor(x(), SHAPE),
      heed.tensor(gamma()),
      heed.tensor(beta()),
    ];
    return () => layerNorm(input, scale, shift, { eps: EPS });
  },
  peers: {
    "onnxruntime-web": () => [
      {
        name: "LayerNormalization",
        nodes: [
          {
            op: "LayerNormalization",
            inputs: ["x", "gamma", "beta"],
            outputs: ["y"],
            attributes: { epsilon: { float: EPS } },
          },
        ],
        inputs: { x: { shape: SHAPE, values: x() } },
        weights: {
          gamma: { shape: [N], values: gamma() },
          beta: { shape: [N], values: beta() },
        },
        shape: SHAPE,
      },
    ],
    "tfjs-wasm": (tf) => {
      const input = tf.tensor(x(), SHAPE);
      const [scale, shift] = [tf.tensor(gamma(), [N]), tf.tensor(beta(), [N])];
      return [
        () => {
          const { mean, variance } = tf.moments(input, 1, true);
          const normal = tf.mul(tf.sub(input, mean), tf.rsqrt(tf.add(variance, EPS)));
          return tf.add(tf.mul(normal, scale), shift);
        },
      ];
    },
  },
  bars: { "best wasm peer": [1.5, 4] },
};

export const benches: readonly Bench[] = [rows];
