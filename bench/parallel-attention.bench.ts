import { ParallelAttention } from "../src/models/parallel-attention.js";
import { seeded } from "./harness/arrays.js";
import type { Bench } from "./harness/bench.js";
import type { OnnxNode, OnnxTensor, OnnxVariant } from "./thirdparty/onnx.js";

const [BATCH, LENGTH, WIDTH, HEADS] = [32, 100, 256, 8];
const HEAD_WIDTH = WIDTH / HEADS;
const SCALE = 1 / Math.sqrt(HEAD_WIDTH);
const SHAPE = [BATCH, LENGTH, WIDTH];

const input = (): Float32Array => seeded(BATCH * LENGTH * WIDTH, 1);

/** Weight [E, E] as PyTorch has it and bias [E] of each projection. */
const PROJECTIONS = ["q", "k", "v", "out"].map((name, index) => ({
  name,
  weight: seeded(WIDTH * WIDTH, 2 + index, 1 / Math.sqrt(WIDTH)),
  bias: seeded(WIDTH, 12 + index, 0.1),
}));

const bench: Bench = {
  name: `ParallelAttention ${BATCH} × ${LENGTH} × ${WIDTH}, ${HEADS} heads`,
  work: {
    flops: BATCH * LENGTH * (4 * 2 * WIDTH * WIDTH + 4 * LENGTH * WIDTH),
  },
  setup(heed) {
    const model = new ParallelAttention(heed, WIDTH, HEADS).load(
      new Map(
        PROJECTIONS.flatMap(({ name, weight, bias }) => [
          [`${name}_linear.weight`, { shape: [WIDTH, WIDTH], values: weight }],
          [`${name}_linear.bias`, { shape: [WIDTH], values: bias }],
        ]),
      ),
    );
    for (const weight of model.parameters().values()) weight.requiresGrad = false;
    const x = heed.tensor(input(), SHAPE);
    return () => model.forward(x);
  },
  peers: { "onnxruntime-web": onnxVariants },
  bars: { "onnxruntime-web": [1.3, 1.7], "1 thread": [1.6, 1.8] },
};

/** onnxruntime's ways: plain operators, its multi-head operator, and the one that projects too. */
function onnxVariants(): OnnxVariant[] {
  const x = { shape: SHAPE, values: input() };
  const shared = { inputs: { x }, shape: SHAPE };
  const projections = Object.assign({}, ...PROJECTIONS.map(weightsOf)) as Record<
    string,
    OnnxTensor
  >;
  const last = project("out", "joined", "y");
  return [
    {
      name: "MatMul, Softmax, MatMul",
      ...shared,
      nodes: [
        ...["q", "k", "v"].flatMap((name) => [
          ...project(name, "x", `${name}_flat`),
          ...split(name, name === "k" ? [0, 2, 3, 1] : [0, 2, 1, 3]),
        ]),
        { op: "MatMul", inputs: ["q", "k"], outputs: ["scores"] },
        { op: "Mul", inputs: ["scores", "scale"], outputs: ["scaled"] },
        { op: "Softmax", inputs: ["scaled"], outputs: ["weights"] },
        { op: "MatMul", inputs: ["weights", "v"], outputs: ["heads"] },
        {
          op: "Transpose",
          inputs: ["heads"],
          outputs: ["turned"],
          attributes: { perm: [0, 2, 1, 3] },
        },
        { op: "Reshape", inputs: ["turned", "joined_shape"], outputs: ["joined"] },
        ...last,
      ],
      weights: {
        ...projections,
        scale: { shape: [], values: Float32Array.of(SCALE) },
        split_shape: numbers([BATCH, LENGTH, HEADS, HEAD_WIDTH]),
        joined_shape: numbers(SHAPE),
      },
    },
    {
      name: "MultiHeadAttention",
      ...shared,
      nodes: [
        ...["q", "k", "v"].flatMap((name) => project(name, "x", name)),
        {
          op: "MultiHeadAttention",
          inputs: ["q", "k", "v"],
          outputs: ["joined"],
          attributes: { num_heads: HEADS },
          domain: "com.microsoft",
        },
        ...last,
      ],
      weights: projections,
    },
    {
      name: "Attention",
      ...shared,
      nodes: [
        {
          op: "Attention",
          inputs: ["x", "qkv_weight", "qkv_bias"],
          outputs: ["joined"],
          attributes: { num_heads: HEADS },
          domain: "com.microsoft",
        },
        ...last,
      ],
      weights: {
        qkv_weight: { shape: [WIDTH, 3 * WIDTH], values: besides() },
        qkv_bias: {
          shape: [3 * WIDTH],
          values: Float32Array.from(PROJECTIONS.slice(0, 3).flatMap(({ bias }) => [...bias])),
        },
        ...weightsOf(PROJECTIONS[3] as (typeof PROJECTIONS)[0]),
      },
    },
  ];
}

/** y = x·Wᵀ + bias. */
function project(name: string, from: string, to: string): OnnxNode[] {
  return [
    { op: "MatMul", inputs: [from, `${name}_weight`], outputs: [`${to}_bare`] },
    { op: "Add", inputs: [`${to}_bare`, `${name}_bias`], outputs: [to] },
  ];
}

function split(name: string, perm: readonly number[]): OnnxNode[] {
  return [
    { op: "Reshape", inputs: [`${name}_flat`, "split_shape"], outputs: [`${name}_split`] },
    { op: "Transpose", inputs: [`${name}_split`], outputs: [name], attributes: { perm } },
  ];
}

/** ONNX multiplies from the right: a weight is [in, out] there. */
function weightsOf({ name, weight, bias }: (typeof PROJECTIONS)[0]): Record<string, OnnxTensor> {
  return {
    [`${name}_weight`]: { shape: [WIDTH, WIDTH], values: turned(weight) },
    [`${name}_bias`]: { shape: [WIDTH], values: bias },
  };
}

function turned(weight: Float32Array): Float32Array {
  return weight.map((_, i) => weight[(i % WIDTH) * WIDTH + Math.floor(i / WIDTH)] as number);
}

/** The turned weights of queries, keys and values beside each other: [E, 3E]. */
function besides(): Float32Array {
  const y = new Float32Array(3 * WIDTH * WIDTH);
  PROJECTIONS.slice(0, 3).forEach(({ weight }, part) => {
    const values = turned(weight);
    for (let row = 0; row < WIDTH; row++)
      y.set(values.subarray(row * WIDTH, (row + 1) * WIDTH), row * 3 * WIDTH + part * WIDTH);
  });
  return y;
}

function numbers(values: readonly number[]): OnnxTensor {
  return { shape: [values.length], values: BigInt64Array.from(values, BigInt) };
}

export const benches: readonly Bench[] = [bench];
