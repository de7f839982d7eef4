import { lstmLayer } from "../src/ops/lstm.js";
import { seeded, swapFirstTwo } from "./harness/arrays.js";
import type { Bench } from "./harness/bench.js";

const STEPS = 100;
const INPUTS = 256;
const UNITS = 256;
/** Where PyTorch's gates i f g o stand in ONNX, which has i o f g. Keras has PyTorch's order. */
const ONNX_GATES = [0, 3, 1, 2];

const weightIh = (): Float32Array => seeded(4 * UNITS * INPUTS, 2, 1 / Math.sqrt(UNITS));
const weightHh = (): Float32Array => seeded(4 * UNITS * UNITS, 3, 1 / Math.sqrt(UNITS));
const biasIh = (): Float32Array => seeded(4 * UNITS, 4, 0.1);
const biasHh = (): Float32Array => seeded(4 * UNITS, 5, 0.1);

function bench(batch: number, bars: NonNullable<Bench["bars"]>): Bench {
  const x = (): Float32Array => seeded(batch * STEPS * INPUTS, 1);
  return {
    name: `LSTM ${STEPS} steps ${INPUTS} → ${UNITS} batch ${batch}`,
    work: { flops: 2 * STEPS * batch * 4 * UNITS * (INPUTS + UNITS) },
    setup(heed) {
      const input = heed.tensor(x(), [batch, STEPS, INPUTS]);
      const weights = {
        weightIh: heed.tensor(weightIh(), [4 * UNITS, INPUTS]),
        weightHh: heed.tensor(weightHh(), [4 * UNITS, UNITS]),
        biasIh: heed.tensor(biasIh()),
        biasHh: heed.tensor(biasHh()),
      };
      return () => lstmLayer(input, weights).output;
    },
    peers: {
      "onnxruntime-web": () => [
        {
          name: "LSTM",
          nodes: [
            {
              op: "LSTM",
              inputs: ["x", "w", "r", "b"],
              outputs: ["y"],
              attributes: { hidden_size: UNITS },
            },
          ],
          inputs: {
            x: { shape: [STEPS, batch, INPUTS], values: swapFirstTwo(x(), batch, STEPS) },
          },
          weights: {
            w: { shape: [1, 4 * UNITS, INPUTS], values: onnxGates(weightIh()) },
            r: { shape: [1, 4 * UNITS, UNITS], values: onnxGates(weightHh()) },
            b: {
              shape: [1, 8 * UNITS],
              values: Float32Array.from([...onnxGates(biasIh()), ...onnxGates(biasHh())]),
            },
          },
          shape: [STEPS, 1, batch, UNITS],
          arrange: (y) => swapFirstTwo(y, STEPS, batch),
        },
      ],
      "tfjs-wasm": (tf) => {
        const input = tf.tensor(x(), [batch, STEPS, INPUTS]);
        const layer = tf.layers.lstm({
          units: UNITS,
          returnSequences: true,
          recurrentActivation: "sigmoid",
          kernelInitializer: "zeros",
          recurrentInitializer: "zeros",
        });
        layer.apply(input).dispose();
        const [bias, other] = [biasIh(), biasHh()];
        layer.setWeights([
          tf.transpose(tf.tensor(weightIh(), [4 * UNITS, INPUTS]), [1, 0]),
          tf.transpose(tf.tensor(weightHh(), [4 * UNITS, UNITS]), [1, 0]),
          tf.tensor(
            bias.map((value, index) => value + (other[index] as number)),
            [4 * UNITS],
          ),
        ]);
        return [() => layer.apply(input)];
      },
    },
    bars,
  };
}

/** Four blocks of rows in ONNX's order. */
function onnxGates(weight: Float32Array): Float32Array {
  const size = weight.length / 4;
  const y = new Float32Array(weight.length);
  ONNX_GATES.forEach((gate, index) => {
    y.set(weight.subarray(gate * size, (gate + 1) * size), index * size);
  });
  return y;
}

export const benches: readonly Bench[] = [
  bench(1, { "onnxruntime-web": [1.0, 1.3] }),
  bench(32, { "onnxruntime-web": [1.2, 1.6], "1 thread": [1.6, 1.8] }),
];
