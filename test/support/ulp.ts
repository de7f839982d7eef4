/** Errors in units of the last place of f32, the spacing of f32 numbers at the exact value. */
export function ulpError(actual: number, exact: number): number {
  const rounded = Math.fround(exact);
  if (Number.isNaN(rounded) || Number.isNaN(actual) || Math.abs(rounded) === Infinity)
    return Object.is(actual, rounded) ? 0 : Infinity;
  return Math.abs(actual - exact) / ulpOf(exact);
}

const bits = new DataView(new ArrayBuffer(8));

/** The spacing of f32 numbers at x; 2⁻¹⁴⁹ among the subnormal ones. */
export function ulpOf(x: number): number {
  bits.setFloat64(0, x);
  const exponent = ((bits.getUint32(0) >>> 20) & 0x7ff) - 1023;
  return 2 ** (Math.max(exponent, -126) - 23);
}
