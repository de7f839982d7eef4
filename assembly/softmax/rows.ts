import { storeFirst4 } from "../gemm/lanes";
import { held, unknownZero } from "../math/held";
import { log4 } from "../math/log";
import { madd4 } from "../math/madd";
import { loadPart, rowMax, sum32, TURN } from "../reduce/rows";

/**
 * e^(x − shift) in four lanes where x ≤ shift; −∞ gives 0, NaN stays NaN, x = shift gives 1.
 *
 * With d = x − shift the relative error is at most (3.3 + 1.25·|d|)·2⁻²⁴, the absolute 2.3·2⁻²⁴:
 * rounding d to f32 costs up to |d|·2⁻²⁴ anyway, so d·log₂e may be rounded too, and the two-step
 * reduction of exp4 is spared. The constants are parameters so that a loop can hold them
 * (math/held.ts); their values stand below.
 */
// @ts-ignore: decorator
@inline
function expShifted4(
  x: v128,
  shift: v128,
  low: v128,
  log2e: v128,
  bias: v128,
  c5: v128,
  c4: v128,
  c3: v128,
  c2: v128,
  c1: v128,
): v128 {
  // Below −88 the power is 0; pmax keeps a NaN of its first operand.
  const d = f32x4.pmax(f32x4.sub(x, shift), low);
  // 1. d·log₂e = n + f; adding the bias leaves n + 127, the exponent of 2ⁿ, in the low bits
  const shifted = madd4(d, log2e, bias);
  const f = madd4(d, log2e, f32x4.sub(bias, shifted));
  const power = i32x4.shl(shifted, 23);
  // 2. 2ᶠ = 1 + f·P(f) on [−½, ½], P of degree 4: 1.54·2⁻²⁴ of relative error
  let p = madd4(c5, f, c4);
  p = madd4(p, f, c3);
  p = madd4(p, f, c2);
  p = madd4(p, f, c1);
  return madd4(f32x4.mul(power, f), p, power);
}

// The constants of expShifted4; BIAS is 1.5·2²³ + 127.
const LOW: f32 = -88;
const LOG2E: f32 = 1.44269504;
const BIAS: f32 = 12583039;
const C5: f32 = 0.0013264729;
const C4: f32 = 0.0096715132;
const C3: f32 = 0.055507337;
const C2: f32 = 0.24022242;
const C1: f32 = 0.69314698;

/** What a row's exponents are measured from: its largest, finite even where all are −∞. */
export function rowShift(x: usize, n: i32): f32 {
  return max<f32>(rowMax(x, n), -f32.MAX_VALUE);
}

/**
 * y = e^(x − shift) over a row; y may be x.
 *
 * Four vectors side by side, as one exponential is a chain of dependent steps: 0.50 ns an element
 * instead of 0.59, and eight gain nothing more.
 */
export function rowExp(y: usize, x: usize, n: i32, shift: f32): void {
  const zero = unknownZero(n);
  const low = held(LOW, zero);
  const log2e = held(LOG2E, zero);
  const bias = held(BIAS, zero);
  const c5 = held(C5, zero);
  const c4 = held(C4, zero);
  const c3 = held(C3, zero);
  const c2 = held(C2, zero);
  const c1 = held(C1, zero);
  const s = f32x4.splat(shift);
  const stop = y + ((<usize>n) << 2);
  if (y + 64 <= stop) {
    do {
      const e0 = expShifted4(v128.load(x), s, low, log2e, bias, c5, c4, c3, c2, c1);
      const e1 = expShifted4(v128.load(x, 16), s, low, log2e, bias, c5, c4, c3, c2, c1);
      const e2 = expShifted4(v128.load(x, 32), s, low, log2e, bias, c5, c4, c3, c2, c1);
      const e3 = expShifted4(v128.load(x, 48), s, low, log2e, bias, c5, c4, c3, c2, c1);
      v128.store(y, e0);
      v128.store(y, e1, 16);
      v128.store(y, e2, 32);
      v128.store(y, e3, 48);
      x += 64;
      y += 64;
    } while (y + 64 <= stop);
  }
  const toX = x - y;
  for (; y < stop; y += 16) {
    storeFirst4(y, expPart(y + toX, stop + toX, s), <i32>(stop - y) >> 2);
  }
}

/** Σ e^(x − shift) over a row, element j in accumulator j mod 32. */
export function rowExpSum(x: usize, n: i32, shift: f32): f32 {
  const zero = unknownZero(n);
  const low = held(LOW, zero);
  const log2e = held(LOG2E, zero);
  const bias = held(BIAS, zero);
  const c5 = held(C5, zero);
  const c4 = held(C4, zero);
  const c3 = held(C3, zero);
  const c2 = held(C2, zero);
  const c1 = held(C1, zero);
  const s = f32x4.splat(shift);
  const stop = x + ((<usize>n) << 2);
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let s4 = s0;
  let s5 = s0;
  let s6 = s0;
  let s7 = s0;
  if (x + TURN <= stop) {
    do {
      s0 = f32x4.add(s0, expShifted4(v128.load(x), s, low, log2e, bias, c5, c4, c3, c2, c1));
      s1 = f32x4.add(s1, expShifted4(v128.load(x, 16), s, low, log2e, bias, c5, c4, c3, c2, c1));
      s2 = f32x4.add(s2, expShifted4(v128.load(x, 32), s, low, log2e, bias, c5, c4, c3, c2, c1));
      s3 = f32x4.add(s3, expShifted4(v128.load(x, 48), s, low, log2e, bias, c5, c4, c3, c2, c1));
      s4 = f32x4.add(s4, expShifted4(v128.load(x, 64), s, low, log2e, bias, c5, c4, c3, c2, c1));
      s5 = f32x4.add(s5, expShifted4(v128.load(x, 80), s, low, log2e, bias, c5, c4, c3, c2, c1));
      s6 = f32x4.add(s6, expShifted4(v128.load(x, 96), s, low, log2e, bias, c5, c4, c3, c2, c1));
      s7 = f32x4.add(s7, expShifted4(v128.load(x, 112), s, low, log2e, bias, c5, c4, c3, c2, c1));
      x += TURN;
    } while (x + TURN <= stop);
  }
  if (x < stop) {
    s0 = f32x4.add(s0, expPart(x, stop, s));
    s1 = f32x4.add(s1, expPart(x + 16, stop, s));
    s2 = f32x4.add(s2, expPart(x + 32, stop, s));
    s3 = f32x4.add(s3, expPart(x + 48, stop, s));
    s4 = f32x4.add(s4, expPart(x + 64, stop, s));
    s5 = f32x4.add(s5, expPart(x + 80, stop, s));
    s6 = f32x4.add(s6, expPart(x + 96, stop, s));
    s7 = f32x4.add(s7, expPart(x + 112, stop, s));
  }
  return sum32(s0, s1, s2, s3, s4, s5, s6, s7);
}

/** e^(x − shift) of the vector at x, with the bits of rowExp: for loops that do more than that. */
// @ts-ignore: decorator
@inline
export function expAt(x: usize, shift: v128): v128 {
  return expPart(x, x + 16, shift);
}

/** expShifted4 of a row's last elements; lanes behind its end are 0. */
function expPart(x: usize, stop: usize, shift: v128): v128 {
  if (x >= stop) return f32x4.splat(0);
  return expShifted4(
    loadPart(x, stop, f32x4.splat(-Infinity)),
    shift,
    f32x4.splat(LOW),
    f32x4.splat(LOG2E),
    f32x4.splat(BIAS),
    f32x4.splat(C5),
    f32x4.splat(C4),
    f32x4.splat(C3),
    f32x4.splat(C2),
    f32x4.splat(C1),
  );
}

/** y = y·factor over a row. */
export function rowScale(y: usize, n: i32, factor: f32): void {
  const stop = y + ((<usize>n) << 2);
  const f = f32x4.splat(factor);
  for (; y + 32 <= stop; y += 32) {
    v128.store(y, f32x4.mul(v128.load(y), f));
    v128.store(y, f32x4.mul(v128.load(y, 16), f), 16);
  }
  for (; y < stop; y += 4) store<f32>(y, load<f32>(y) * factor);
}

/** 1/sum; 0 where no element was above −∞. */
// @ts-ignore: decorator
@inline
export function inverse(sum: f32): f32 {
  return sum == 0 ? 0 : <f32>1 / sum;
}

/** ln sum; 0 where no element was above −∞, so that those stay −∞. */
// @ts-ignore: decorator
@inline
export function logOfSum(sum: f32): f32 {
  return sum == 0 ? 0 : f32x4.extract_lane(log4(f32x4.splat(sum)), 0);
}
