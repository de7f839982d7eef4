import { softmax } from "../src/ops/softmax.js";
import { seeded } from "./harness/arrays.js";
import type { Bench } from "./harness/bench.js";

const ROWS = 1024;
const N = 1024;
const SHAPE = [ROWS, N];
const x = (): Float32Array => seeded(ROWS * N, 1, 2);

const square: Bench = {
  name: "softmax 1024²",
  work: { bytes: 8 * ROWS * N },
  setup(heed) {
    const input = heed.tensor(x(), SHAPE);
    return () => softmax(input);
  },
  peers: {
    "onnxruntime-web": () => [
      {
        name: "Softmax",
        nodes: [{ op: "Softmax", inputs: ["x"], outputs: ["y"] }],
        inputs: { x: { shape: SHAPE, values: x() } },
        shape: SHAPE,
      },
    ],
    "tfjs-wasm": (tf) => {
      const input = tf.tensor(x(), SHAPE);
      return [() => tf.softmax(input)];
    },
  },
  bars: { "best wasm peer": [1.0, 1.3] },
};

export const benches: readonly Bench[] = [square];
