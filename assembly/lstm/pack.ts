import { packTransposedF32 } from "../gemm/pack";
import { PANEL, PANEL_ROW } from "../gemm/tile";

/**
 * Packs a weight [4·units, k] of an LSTM for the recurrent step and for gemm: eight-column panels
 * as packTransposedF32 makes them, but in the order group 0: i f g o, group 1: i f g o, …, so that
 * the four gates of the same eight units lie together. Missing units give zero columns.
 *
 * @param panels  f32[4·⌈units/8⌉, k, 8]
 * @param weight  f32[4·units, k], gates in PyTorch's order i, f, g, o
 * range: 4·⌈units/8⌉ panels
 */
export function lstmPackF32(
  panels: usize,
  weight: usize,
  units: i32,
  k: i32,
  begin: i32,
  end: i32,
): void {
  const rowBytes = <usize>k << 2;
  for (let panel = begin; panel < end; panel++) {
    const unit = (panel >> 2) * PANEL;
    const row = (panel & 3) * units + unit;
    const to = panels + <usize>panel * <usize>k * PANEL_ROW;
    packTransposedF32(to, weight + <usize>row * rowBytes, min(PANEL, units - unit), k, k, 0, 1);
  }
}

/**
 * The two biases added, in the order of lstmPackF32's columns; missing units give zeros.
 *
 * @param bias    f32[⌈units/8⌉, 4, 8]
 * @param biasIh, biasHh  f32[4·units]
 * range: 4·⌈units/8⌉ panels of eight columns
 */
export function lstmPackBiasF32(
  bias: usize,
  biasIh: usize,
  biasHh: usize,
  units: i32,
  begin: i32,
  end: i32,
): void {
  for (let panel = begin; panel < end; panel++) {
    const unit = (panel >> 2) * PANEL;
    const first = (panel & 3) * units + unit;
    for (let column: i32 = 0; column < PANEL; column++) {
      let sum: f32 = 0;
      if (unit + column < units) {
        const at = <usize>(first + column) << 2;
        sum = load<f32>(biasIh + at) + load<f32>(biasHh + at);
      }
      store<f32>(bias + (<usize>(panel * PANEL + column) << 2), sum);
    }
  }
}
