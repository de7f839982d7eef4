/**
 * 16-bit floats, by integer arithmetic on the bits: Float16Array is missing in Node 20 and in older
 * browsers, and integer moves keep the payload of a NaN.
 */

/** IEEE half precision to f32; exact. */
export function f16ToF32(source: Uint16Array): Float32Array<ArrayBuffer> {
  f16Table ??= Uint32Array.from({ length: 2 ** 16 }, (_, half) => f16Bits(half));
  const table = f16Table;
  const bits = new Uint32Array(source.length);
  for (let i = 0; i < bits.length; i++) bits[i] = table[source[i] as number] as number;
  return new Float32Array(bits.buffer);
}

/** f32 to half precision, to nearest, ties to even; 65520 and above become infinite. */
export function f32ToF16(source: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = bitsOf(source);
  const target = new Uint16Array(bits.length);
  for (let i = 0; i < target.length; i++) target[i] = halfBits(bits[i] as number);
  return target;
}

/** bfloat16 (the upper half of an f32) to f32; exact. */
export function bf16ToF32(source: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(source.length);
  for (let i = 0; i < bits.length; i++) bits[i] = (source[i] as number) << 16;
  return new Float32Array(bits.buffer);
}

/** f32 to bfloat16, to nearest, ties to even. */
export function f32ToBf16(source: Float32Array): Uint16Array<ArrayBuffer> {
  const bits = bitsOf(source);
  const target = new Uint16Array(bits.length);
  for (let i = 0; i < target.length; i++) {
    const b = bits[i] as number;
    target[i] =
      (b & MAGNITUDE) > INFINITY
        ? (b >>> 16) | ((b & 0x7f0000) === 0 ? 0x40 : 0)
        : (b + 0x7fff + ((b >>> 16) & 1)) >>> 16;
  }
  return target;
}

// f32: 1 sign, 8 exponent (bias 127), 23 fraction. f16: 1, 5 (bias 15), 10.
const MAGNITUDE = 0x7fffffff;
const INFINITY = 0x7f800000;
/** 2⁻¹⁴, the smallest normal f16, as f32 bits. */
const SMALLEST_NORMAL = 0x38800000;
/** 2⁻²⁵, half the smallest subnormal f16: a tie, and so zero. */
const HALF_SMALLEST = 0x33000000;
/** 65520, half a step above the largest f16. */
const OVERFLOW = 0x477ff000;
/** The difference of the biases, 112, as an exponent. */
const REBIAS = 0x38000000;

let f16Table: Uint32Array | undefined;

/** The f32 bits of a half. */
function f16Bits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 0x3ff;
  if (exponent === 31) return (sign | INFINITY | (fraction << 13)) >>> 0;
  if (exponent > 0) return (sign | (((half & 0x7fff) << 13) + REBIAS)) >>> 0;
  if (fraction === 0) return sign >>> 0;
  // fraction·2⁻²⁴: the leading one becomes implicit.
  const shift = Math.clz32(fraction) - 21;
  return (sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)) >>> 0;
}

/** The half nearest to f32 bits. */
function halfBits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & MAGNITUDE;
  if (magnitude >= OVERFLOW) {
    if (magnitude <= INFINITY) return sign | 0x7c00;
    // A NaN whose payload lies in the dropped bits must not become infinite.
    return sign | 0x7c00 | ((magnitude >>> 13) & 0x3ff || 0x200);
  }
  if (magnitude >= SMALLEST_NORMAL)
    return sign | ((magnitude - REBIAS + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
  if (magnitude <= HALF_SMALLEST) return sign;
  // Subnormal: the 24-bit significand in steps of 2⁻²⁴.
  const shift = 126 - (magnitude >>> 23);
  const significand = (magnitude & 0x7fffff) | 0x800000;
  const quotient = significand >>> shift;
  const rest = significand - (quotient << shift);
  const half = 1 << (shift - 1);
  return sign | (quotient + (rest > half || (rest === half && (quotient & 1) === 1) ? 1 : 0));
}

function bitsOf(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length);
}
