import { gelu, tanh } from "../src/ops/activation.js";
import type { Tensor } from "../src/tensor/tensor.js";
import { seeded } from "./harness/arrays.js";
import type { Bar, Bench } from "./harness/bench.js";
import type { Tfjs, TfTensor } from "./thirdparty/tfjs.js";

const ROWS = 1024;
const N = 3072;
const SHAPE = [ROWS, N];
const x = (): Float32Array => seeded(ROWS * N, 1, 1.2);

function bench(
  name: string,
  ours: (x: Tensor) => Tensor,
  onnx: string,
  tfjs: (tf: Tfjs, x: TfTensor) => TfTensor,
  bar: Bar,
): Bench {
  return {
    name: `${name} 1024 × 3072`,
    work: { bytes: 8 * ROWS * N },
    setup(heed) {
      const input = heed.tensor(x(), SHAPE);
      return () => ours(input);
    },
    peers: {
      "onnxruntime-web": () => [
        {
          name: onnx,
          nodes: [{ op: onnx, inputs: ["x"], outputs: ["y"] }],
          inputs: { x: { shape: SHAPE, values: x() } },
          shape: SHAPE,
        },
      ],
      "tfjs-wasm": (tf) => {
        const input = tf.tensor(x(), SHAPE);
        return [() => tfjs(tf, input)];
      },
    },
    bars: { "best wasm peer": bar },
  };
}

/** TensorFlow.js has no kernel for it. */
function geluOfParts(tf: Tfjs, x: TfTensor): TfTensor {
  return tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1));
}

export const benches: readonly Bench[] = [
  bench("GELU(erf)", (x) => gelu(x), "Gelu", geluOfParts, [1.5, 4]),
  bench("tanh", tanh, "Tanh", (tf, x) => tf.tanh(x), [1.1, 1.8]),
];
