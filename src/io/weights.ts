import { FormatError } from "../errors.js";
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "./half.js";
import { quote } from "./quote.js";
import type { FileDType, TensorData, TensorEntry } from "./safetensors.js";

/** One tensor of a state dict outside a runtime. */
export interface WeightValues {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/** Where the first value stands that is not finite; −1 when all are. */
export function firstNotFinite(values: Float32Array): number {
  // One pass without a branch: 0 times what is not finite is NaN.
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += 0 * (values[i] as number);
  return sum === 0 ? -1 : values.findIndex((value) => !Number.isFinite(value));
}

/** How a file stores weights. "int8" applies to matrices; the other tensors stay f32. */
export type Storage = "f32" | "f16" | "bf16" | "int8";

/**
 * The weights of a file as f32, by name. `<name>.scale` of an I8 matrix belongs to that matrix and
 * is no weight of its own.
 *
 * @throws {FormatError} WEIGHT_DTYPE a tensor holds whole numbers; WEIGHT_SCALE a scale is missing
 *   or does not fit
 */
export function unpackWeights(
  tensors: ReadonlyMap<string, TensorEntry>,
  fileName = "safetensors",
): Map<string, WeightValues> {
  const weights = new Map<string, WeightValues>();
  for (const [name, entry] of tensors) {
    if (isScale(name, tensors)) continue;
    const scale = tensors.get(`${name}${SCALE}`);
    const values = toFloat32(entry, scale, `${fileName}: ${quote(name)}`);
    weights.set(name, { shape: entry.shape, values });
  }
  return weights;
}

/**
 * Weights made ready for serializeSafetensors.
 *
 * @throws {FormatError} WEIGHT_RANGE a finite weight would not be finite in the file, or int8 is
 *   asked of one that is not; WEIGHT_NAME a scale's name is taken
 */
export function packWeights(
  weights: ReadonlyMap<string, WeightValues>,
  storage: Storage,
): Map<string, TensorData> {
  const tensors = new Map<string, TensorData>();
  for (const [name, { shape, values }] of weights) {
    const [rows, columns] = shape;
    if (storage === "int8" && shape.length === 2 && rows !== undefined && columns !== undefined) {
      if (weights.has(`${name}${SCALE}`))
        throw new FormatError(
          "WEIGHT_NAME",
          `packWeights: ${quote(name)} needs the name of its scale, got another weight of that name`,
        );
      const { data, scale } = quantizeRows(values, rows, columns);
      tensors.set(name, { dtype: "I8", shape, data });
      tensors.set(`${name}${SCALE}`, { dtype: "F32", shape: [rows], data: scale });
    } else tensors.set(name, { shape, ...narrow(name, values, storage) });
  }
  return tensors;
}

/**
 * A tensor of floats, or of I8 with one f32 scale a row, widened to f32.
 *
 * F32 is a view of the file; the others are new.
 *
 * @param scale  f32[rows] of an I8 matrix [rows, columns]
 * @param who    what errors begin with
 * @throws {FormatError} WEIGHT_DTYPE, WEIGHT_SCALE
 */
export function toFloat32(
  entry: TensorEntry,
  scale?: TensorEntry,
  who = "toFloat32",
): Float32Array {
  const { dtype, data } = entry;
  switch (dtype) {
    case "F32":
      return new Float32Array(data.buffer, data.byteOffset, data.byteLength / 4);
    case "F16":
      return f16ToF32(new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2));
    case "BF16":
      return bf16ToF32(new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2));
    case "I8":
      return dequantize(entry, scale, who);
    default:
      throw new FormatError(
        "WEIGHT_DTYPE",
        `${who}: the tensor must be F32, F16, BF16 or I8 with a scale, got ${dtype}`,
      );
  }
}

/**
 * A tensor of whole numbers as i32.
 *
 * @throws {FormatError} WEIGHT_DTYPE it holds floats; WEIGHT_RANGE an I64 value does not fit
 */
export function toInt32(entry: TensorEntry): Int32Array {
  const { dtype, data } = entry;
  switch (dtype) {
    case "I32":
      return new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4);
    case "U8":
      return Int32Array.from(data);
    case "I8":
      return Int32Array.from(new Int8Array(data.buffer, data.byteOffset, data.byteLength));
    case "I64":
      return narrowI64(new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4));
    default:
      throw new FormatError(
        "WEIGHT_DTYPE",
        `toInt32: the tensor must be I32, I64, I8 or U8, got ${dtype}`,
      );
  }
}

/**
 * int8 weights with one f32 scale a row: value ≈ data·scale, |data| ≤ 127.
 *
 * scale = max|row| / 127, so the error is at most half a scale. A row of zeros has scale 0.
 *
 * @param values  f32[rows, columns]
 * @throws {FormatError} WEIGHT_RANGE a value is not finite
 */
export function quantizeRows(
  values: Float32Array,
  rows: number,
  columns: number,
): { data: Int8Array<ArrayBuffer>; scale: Float32Array<ArrayBuffer> } {
  const data = new Int8Array(values.length);
  const scale = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    const line = values.subarray(row * columns, (row + 1) * columns);
    let largest = 0;
    for (const x of line) {
      if (!Number.isFinite(x))
        throw new FormatError("WEIGHT_RANGE", `quantizeRows: weights must be finite, got ${x}`);
      largest = Math.max(largest, Math.abs(x));
    }
    const step = Math.fround(largest / 127);
    scale[row] = step;
    if (step === 0) continue;
    for (let i = 0; i < columns; i++) {
      // Only a subnormal step is rounded enough for more than 127.
      const level = Math.round((line[i] as number) / step);
      data[row * columns + i] = Math.min(127, Math.max(-127, level));
    }
  }
  return { data, scale };
}

const SCALE = ".scale";

function isScale(name: string, tensors: ReadonlyMap<string, TensorEntry>): boolean {
  return name.endsWith(SCALE) && tensors.get(name.slice(0, -SCALE.length))?.dtype === "I8";
}

function dequantize(entry: TensorEntry, scale: TensorEntry | undefined, who: string): Float32Array {
  const { shape, data } = entry;
  const [rows, columns] = shape;
  if (
    scale?.dtype !== "F32" ||
    shape.length !== 2 ||
    rows === undefined ||
    columns === undefined ||
    scale.shape.length !== 1 ||
    scale.shape[0] !== rows
  )
    throw new FormatError(
      "WEIGHT_SCALE",
      `${who}: an I8 tensor must be a matrix with a scale F32 [rows] beside it, got [${shape.join(", ")}] and ${
        scale ? `${scale.dtype} [${scale.shape.join(", ")}]` : "no scale"
      }`,
    );
  const levels = new Int8Array(data.buffer, data.byteOffset, data.byteLength);
  const steps = toFloat32(scale, undefined, who);
  const values = new Float32Array(levels.length);
  for (let row = 0; row < rows; row++) {
    const step = steps[row] as number;
    for (let i = row * columns; i < (row + 1) * columns; i++)
      values[i] = (levels[i] as number) * step;
  }
  return values;
}

function narrow(
  name: string,
  values: Float32Array,
  storage: Storage,
): { dtype: FileDType; data: Float32Array | Uint16Array } {
  if (storage === "f32" || storage === "int8") return { dtype: "F32", data: values };
  const [dtype, data, infinity] =
    storage === "f16"
      ? (["F16", f32ToF16(values), 0x7c00] as const)
      : (["BF16", f32ToBf16(values), 0x7f80] as const);
  const lost = data.findIndex((b, i) => (b & 0x7fff) === infinity && Number.isFinite(values[i]));
  if (lost >= 0)
    throw new FormatError(
      "WEIGHT_RANGE",
      `packWeights: ${quote(name)} must fit ${dtype}, got ${values[lost]}. Store it as f32`,
    );
  return { dtype, data };
}

/** Little-endian pairs of (low, high) words. */
function narrowI64(words: Int32Array): Int32Array {
  const values = new Int32Array(words.length / 2);
  for (let i = 0; i < values.length; i++) {
    const low = words[2 * i] as number;
    if (words[2 * i + 1] !== low >> 31)
      throw new FormatError(
        "WEIGHT_RANGE",
        `toInt32: I64 values must fit 32 bits, got one at ${i} that does not`,
      );
    values[i] = low;
  }
  return values;
}
