/**
 * Activations, element by element, and their gradients from dy and what backward keeps.
 *
 * y f32[n] = f(x f32[n]) and dx f32[n] = dy·f′; the range splits elements. An output may be one of
 * its inputs. NaN gives NaN. The words stand in map.ts.
 */
import {
  ERF_D0,
  ERF_D1,
  ERF_D2,
  ERF_D3,
  ERF_D4,
  ERF_END,
  ERF_P0,
  ERF_P1,
  ERF_P2,
  ERF_P3,
} from "../math/erf";
import {
  EXP_C2,
  EXP_C3,
  EXP_C4,
  EXP_C5,
  EXP_C6,
  EXP_LN2,
  EXP_LN2_REST,
  EXP_LOG2E,
} from "../math/exp";
import { held, unknownZero } from "../math/held";
import { SIGMOID_BIAS, SIGMOID_LOW, SIGMOID_SCALE } from "../math/sigmoid";
import {
  TANH_D0,
  TANH_D1,
  TANH_D2,
  TANH_D3,
  TANH_END,
  TANH_P0,
  TANH_P1,
  TANH_P2,
} from "../math/tanh";
import { FLOOR, INNER_1, INNER_3, NORMAL_END, ROOT_HALF } from "./gelu";
import {
  EXP,
  GELU_ERF,
  GELU_TANH,
  LOG,
  map,
  mapGrad,
  mapHeld,
  NEG,
  RELU,
  SIGMOID,
  SILU,
  SQRT,
  TANH,
} from "./map";

/** y = max(x, 0). Backward needs y. */
export function reluF32(y: usize, x: usize, begin: i32, end: i32): void {
  map(RELU, y, x, begin, end);
}

/** dx = dy where y > 0, else 0. */
export function reluGradF32(dx: usize, dy: usize, y: usize, begin: i32, end: i32): void {
  mapGrad(RELU, dx, dy, y, begin, end);
}

/** y = x·(1 + erf(x/√2))/2. Backward needs x. */
export function geluErfF32(y: usize, x: usize, begin: i32, end: i32): void {
  const zero = unknownZero(begin);
  mapHeld(
    GELU_ERF,
    y,
    x,
    begin,
    end,
    held(ROOT_HALF, zero),
    held(-ERF_END, zero),
    held(ERF_END, zero),
    held(ERF_P3, zero),
    held(ERF_P2, zero),
    held(ERF_P1, zero),
    held(ERF_P0, zero),
    held(ERF_D4, zero),
    held(ERF_D3, zero),
    held(ERF_D2, zero),
    held(ERF_D1, zero),
    held(ERF_D0, zero),
    held(NORMAL_END, zero),
    held(FLOOR, zero),
  );
}

/** dx = dy·(Φ(x) + x·φ(x)), with the normal distribution Φ and its density φ. */
export function geluErfGradF32(dx: usize, dy: usize, x: usize, begin: i32, end: i32): void {
  mapGrad(GELU_ERF, dx, dy, x, begin, end);
}

/** y = x·(1 + tanh u)/2, u = √(2/π)·(x + 0.044715·x³). Backward needs x. */
export function geluTanhF32(y: usize, x: usize, begin: i32, end: i32): void {
  const zero = unknownZero(begin);
  mapHeld(
    GELU_TANH,
    y,
    x,
    begin,
    end,
    held(INNER_1, zero),
    held(INNER_3, zero),
    held(-TANH_END, zero),
    held(TANH_END, zero),
    held(TANH_P2, zero),
    held(TANH_P1, zero),
    held(TANH_P0, zero),
    held(TANH_D3, zero),
    held(TANH_D2, zero),
    held(TANH_D1, zero),
    held(TANH_D0, zero),
    held(FLOOR, zero),
    zero,
    zero,
  );
}

/** dx = dy·(h + 2·x·h·(1 − h)·u′), h = (1 + tanh u)/2. */
export function geluTanhGradF32(dx: usize, dy: usize, x: usize, begin: i32, end: i32): void {
  mapGrad(GELU_TANH, dx, dy, x, begin, end);
}

/** y = x·σ(x). Backward needs x. */
export function siluF32(y: usize, x: usize, begin: i32, end: i32): void {
  mapSigmoid(SILU, y, x, begin, end);
}

/** dx = dy·σ·(1 + x·(1 − σ)). */
export function siluGradF32(dx: usize, dy: usize, x: usize, begin: i32, end: i32): void {
  mapGrad(SILU, dx, dy, x, begin, end);
}

/** y = tanh x. Backward needs y. */
export function tanhF32(y: usize, x: usize, begin: i32, end: i32): void {
  const zero = unknownZero(begin);
  mapHeld(
    TANH,
    y,
    x,
    begin,
    end,
    held(-TANH_END, zero),
    held(TANH_END, zero),
    held(TANH_P2, zero),
    held(TANH_P1, zero),
    held(TANH_P0, zero),
    held(TANH_D3, zero),
    held(TANH_D2, zero),
    held(TANH_D1, zero),
    held(TANH_D0, zero),
    zero,
    zero,
    zero,
    zero,
    zero,
  );
}

/** dx = dy·(1 − y²). */
export function tanhGradF32(dx: usize, dy: usize, y: usize, begin: i32, end: i32): void {
  mapGrad(TANH, dx, dy, y, begin, end);
}

/** y = 1/(1 + e⁻ˣ). Backward needs y. */
export function sigmoidF32(y: usize, x: usize, begin: i32, end: i32): void {
  mapSigmoid(SIGMOID, y, x, begin, end);
}

/** dx = dy·y·(1 − y). */
export function sigmoidGradF32(dx: usize, dy: usize, y: usize, begin: i32, end: i32): void {
  mapGrad(SIGMOID, dx, dy, y, begin, end);
}

/** y = eˣ. Backward needs y. */
export function expF32(y: usize, x: usize, begin: i32, end: i32): void {
  map(EXP, y, x, begin, end);
}

/** dx = dy·y. */
export function expGradF32(dx: usize, dy: usize, y: usize, begin: i32, end: i32): void {
  mapGrad(EXP, dx, dy, y, begin, end);
}

/** y = ln x. Backward needs x. */
export function logF32(y: usize, x: usize, begin: i32, end: i32): void {
  map(LOG, y, x, begin, end);
}

/** dx = dy/x. */
export function logGradF32(dx: usize, dy: usize, x: usize, begin: i32, end: i32): void {
  mapGrad(LOG, dx, dy, x, begin, end);
}

/** y = √x. Backward needs y. */
export function sqrtF32(y: usize, x: usize, begin: i32, end: i32): void {
  map(SQRT, y, x, begin, end);
}

/** dx = dy/(2·y). */
export function sqrtGradF32(dx: usize, dy: usize, y: usize, begin: i32, end: i32): void {
  mapGrad(SQRT, dx, dy, y, begin, end);
}

/** y = −x. Its gradient is the same kernel. */
export function negF32(y: usize, x: usize, begin: i32, end: i32): void {
  map(NEG, y, x, begin, end);
}

/** σ(x), or x·σ(x). */
// @ts-ignore: decorator
@inline
function mapSigmoid(word: i32, y: usize, x: usize, begin: i32, end: i32): void {
  const zero = unknownZero(begin);
  mapHeld(
    word,
    y,
    x,
    begin,
    end,
    held(SIGMOID_LOW, zero),
    held(EXP_LOG2E, zero),
    held(SIGMOID_BIAS, zero),
    held(EXP_LN2, zero),
    held(EXP_LN2_REST, zero),
    held(EXP_C6, zero),
    held(EXP_C5, zero),
    held(EXP_C4, zero),
    held(EXP_C3, zero),
    held(EXP_C2, zero),
    held(SIGMOID_SCALE, zero),
    held(1, zero),
    zero,
    zero,
  );
}
