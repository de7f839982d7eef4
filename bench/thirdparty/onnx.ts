/**
 * Writes ONNX models: as much of the ModelProto as small graphs of f32 need, without a library.
 *
 * @source https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */

type Bytes = Uint8Array<ArrayBuffer>;
type Attribute = number | string | readonly number[] | { readonly float: number };

export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, Attribute>>;
  /** "com.microsoft" for onnxruntime's own operators. */
  readonly domain?: string;
}

export interface OnnxTensor {
  readonly shape: readonly number[];
  readonly values: Float32Array | BigInt64Array;
}

/** One graph that makes f32 "y" from f32 inputs. */
export interface OnnxVariant {
  readonly name: string;
  readonly nodes: readonly OnnxNode[];
  /** Given to every run. */
  readonly inputs: Readonly<Record<string, OnnxTensor>>;
  /** Stored in the graph: onnxruntime packs them once. */
  readonly weights?: Readonly<Record<string, OnnxTensor>>;
  readonly shape: readonly number[];
  /** Brings y into heed's order of elements. */
  readonly arrange?: (y: Float32Array) => Float32Array;
}

const FLOAT = 1;
const INT64 = 7;
const IR_VERSION = 11;
/** The first with Attention; Gelu and LayerNormalization are older. */
const OPSET = 23;

/** The bytes of a model with one graph. */
export function onnxModel(graph: OnnxVariant): Bytes {
  const inputs = Object.entries(graph.inputs).map(([name, { shape }]) => valueInfo(name, shape));
  const weights = Object.entries(graph.weights ?? {}).map(([name, it]) => initializer(name, it));
  const body = concat([
    ...graph.nodes.map((one) => field(1, node(one))),
    text(2, "bench"),
    ...weights.map((one) => field(5, one)),
    ...inputs.map((one) => field(11, one)),
    field(12, valueInfo("y", graph.shape)),
  ]);
  const opset = (domain: string, version: number): Bytes =>
    field(8, concat([text(1, domain), number(2, version)]));
  return concat([
    number(1, IR_VERSION),
    field(7, body),
    opset("", OPSET),
    opset("com.microsoft", 1),
  ]);
}

/** The same graph cut down to one element of its result: no large output is copied out. */
export function firstElement(graph: OnnxVariant): OnnxVariant {
  const rank = graph.shape.length;
  const nodes = graph.nodes.map((one) => ({
    ...one,
    outputs: one.outputs.map((name) => (name === "y" ? "whole" : name)),
  }));
  return {
    ...graph,
    nodes: [...nodes, { op: "Slice", inputs: ["whole", "from", "to"], outputs: ["y"] }],
    weights: {
      ...graph.weights,
      from: { shape: [rank], values: new BigInt64Array(rank) },
      to: { shape: [rank], values: new BigInt64Array(rank).fill(1n) },
    },
    shape: graph.shape.map(() => 1),
  };
}

function node({ op, inputs, outputs, attributes = {}, domain }: OnnxNode): Bytes {
  return concat([
    ...inputs.map((name) => text(1, name)),
    ...outputs.map((name) => text(2, name)),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) => field(5, attribute(name, value))),
    ...(domain ? [text(7, domain)] : []),
  ]);
}

function attribute(name: string, value: Attribute): Bytes {
  if (typeof value === "number") return concat([text(1, name), number(3, value), number(20, 2)]);
  if (typeof value === "string") return concat([text(1, name), text(4, value), number(20, 3)]);
  if ("float" in value) return concat([text(1, name), float(2, value.float), number(20, 1)]);
  return concat([text(1, name), ...value.map((one) => number(8, one)), number(20, 7)]);
}

function initializer(name: string, { shape, values }: OnnxTensor): Bytes {
  const raw = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return concat([
    ...shape.map((length) => number(1, length)),
    number(2, values instanceof Float32Array ? FLOAT : INT64),
    text(8, name),
    field(9, raw),
  ]);
}

function valueInfo(name: string, shape: readonly number[]): Bytes {
  const dimensions = concat(shape.map((length) => field(1, number(1, length))));
  const type = concat([number(1, FLOAT), field(2, dimensions)]);
  return concat([text(1, name), field(2, field(1, type))]);
}

// Protocol buffers: a field is its number and wire type (0 varint, 2 bytes, 5 four bytes), then its value.

function number(index: number, value: number): Bytes {
  return concat([varint(index << 3), varint(value)]);
}

function field(index: number, bytes: Uint8Array): Bytes {
  return concat([varint((index << 3) | 2), varint(bytes.length), bytes]);
}

function text(index: number, value: string): Bytes {
  return field(index, new TextEncoder().encode(value));
}

function float(index: number, value: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value, true);
  return concat([varint((index << 3) | 5), bytes]);
}

/** Seven bits a byte, the lowest first; negative numbers as 64 bits. */
function varint(value: number): Bytes {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

function concat(parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
