import { rowDot, rowSquares, rowSum } from "../reduce/rows";

/**
 * Layer normalisation of each row, in two passes: y = γ·(x − μ)/√(σ² + eps) + β.
 *
 * y f32[rows, n], means and scales f32[rows] (μ and 1/√(σ² + eps), kept for backward), x f32[rows, n],
 * gamma and beta f32[n]; y may be x. The variance is that of the centred row, so a large mean costs
 * no digits. Range: rows.
 */
export function layerNormF32(
  y: usize,
  means: usize,
  scales: usize,
  x: usize,
  gamma: usize,
  beta: usize,
  n: i32,
  eps: f32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    const mean = rowSum(x + from, n) / <f32>n;
    const variance = rowSquares(x + from, n, mean) / <f32>n;
    const scale: f32 = <f32>1 / sqrt<f32>(variance + eps);
    store<f32>(means + ((<usize>row) << 2), mean);
    store<f32>(scales + ((<usize>row) << 2), scale);
    normalRow(y + from, x + from, gamma, beta, n, mean, scale);
  }
}

function normalRow(
  y: usize,
  x: usize,
  gamma: usize,
  beta: usize,
  n: i32,
  mean: f32,
  scale: f32,
): void {
  const m = f32x4.splat(mean);
  const s = f32x4.splat(scale);
  const stop = x + ((<usize>n) << 2);
  for (; x + 32 <= stop; x += 32, y += 32, gamma += 32, beta += 32) {
    const a = f32x4.mul(f32x4.sub(v128.load(x), m), s);
    const b = f32x4.mul(f32x4.sub(v128.load(x, 16), m), s);
    v128.store(y, f32x4.add(f32x4.mul(a, v128.load(gamma)), v128.load(beta)));
    v128.store(y, f32x4.add(f32x4.mul(b, v128.load(gamma, 16)), v128.load(beta, 16)), 16);
  }
  for (; x < stop; x += 4, y += 4, gamma += 4, beta += 4) {
    const a = f32x4.mul(f32x4.sub(v128.load32_splat(x), m), s);
    const scaled = f32x4.mul(a, v128.load32_splat(gamma));
    v128.store32_lane(y, f32x4.add(scaled, v128.load32_splat(beta)), 0);
  }
}

/**
 * dx = (g − mean(g) − x̂·mean(g·x̂))·scale with g = dy·γ and x̂ = (x − μ)·scale.
 *
 * dx, scratch (g and x̂: 2·n floats a row), dy, x f32[rows, n]. Range: rows.
 */
export function layerNormGradF32(
  dx: usize,
  scratch: usize,
  dy: usize,
  x: usize,
  means: usize,
  scales: usize,
  gamma: usize,
  n: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>n) << 2;
  for (let row = begin; row < end; row++) {
    const from = <usize>row * bytes;
    const at = (<usize>row) << 2;
    const g = scratch + 2 * from;
    const centred = g + bytes;
    gradRowParts(g, centred, dy + from, x + from, gamma, n, load<f32>(means + at), load<f32>(scales + at));
    const shift = rowSum(g, n) / <f32>n;
    const slope = rowDot(g, centred, n) / <f32>n;
    gradRow(dx + from, g, centred, n, shift, slope, load<f32>(scales + at));
  }
}

function gradRowParts(
  g: usize,
  centred: usize,
  dy: usize,
  x: usize,
  gamma: usize,
  n: i32,
  mean: f32,
  scale: f32,
): void {
  const m = f32x4.splat(mean);
  const s = f32x4.splat(scale);
  const stop = x + ((<usize>n) << 2);
  for (; x + 16 <= stop; x += 16, dy += 16, gamma += 16, g += 16, centred += 16) {
    v128.store(g, f32x4.mul(v128.load(dy), v128.load(gamma)));
    v128.store(centred, f32x4.mul(f32x4.sub(v128.load(x), m), s));
  }
  for (; x < stop; x += 4, dy += 4, gamma += 4, g += 4, centred += 4) {
    v128.store32_lane(g, f32x4.mul(v128.load32_splat(dy), v128.load32_splat(gamma)), 0);
    v128.store32_lane(centred, f32x4.mul(f32x4.sub(v128.load32_splat(x), m), s), 0);
  }
}

function gradRow(
  dx: usize,
  g: usize,
  centred: usize,
  n: i32,
  shift: f32,
  slope: f32,
  scale: f32,
): void {
  const a = f32x4.splat(shift);
  const b = f32x4.splat(slope);
  const s = f32x4.splat(scale);
  const stop = g + ((<usize>n) << 2);
  for (; g + 16 <= stop; g += 16, centred += 16, dx += 16) {
    const part = f32x4.sub(f32x4.sub(v128.load(g), a), f32x4.mul(v128.load(centred), b));
    v128.store(dx, f32x4.mul(part, s));
  }
  for (; g < stop; g += 4, centred += 4, dx += 4) {
    const part = f32x4.sub(
      f32x4.sub(v128.load32_splat(g), a),
      f32x4.mul(v128.load32_splat(centred), b),
    );
    v128.store32_lane(dx, f32x4.mul(part, s), 0);
  }
}

/**
 * dγ += Σ dy·x̂ and dβ += Σ dy over the rows, added upwards.
 *
 * dGamma, dBeta f32[n]; dy, x f32[rows, n]. Range: blocks of four columns, ⌈n/4⌉.
 */
export function layerNormParameterGradF32(
  dGamma: usize,
  dBeta: usize,
  dy: usize,
  x: usize,
  means: usize,
  scales: usize,
  rows: i32,
  n: i32,
  begin: i32,
  end: i32,
): void {
  const bytes = (<usize>n) << 2;
  for (let column = begin * 4; column < min(end * 4, n); ) {
    const at = (<usize>column) << 2;
    if (column + 4 <= n) {
      let gamma = v128.load(dGamma + at);
      let beta = v128.load(dBeta + at);
      for (let row: usize = 0; row < <usize>rows; row++) {
        const d = v128.load(dy + row * bytes + at);
        const m = v128.load32_splat(means + (row << 2));
        const s = v128.load32_splat(scales + (row << 2));
        const centred = f32x4.mul(f32x4.sub(v128.load(x + row * bytes + at), m), s);
        gamma = f32x4.add(gamma, f32x4.mul(d, centred));
        beta = f32x4.add(beta, d);
      }
      v128.store(dGamma + at, gamma);
      v128.store(dBeta + at, beta);
      column += 4;
    } else {
      let gamma = v128.load32_splat(dGamma + at);
      let beta = v128.load32_splat(dBeta + at);
      for (let row: usize = 0; row < <usize>rows; row++) {
        const d = v128.load32_splat(dy + row * bytes + at);
        const m = v128.load32_splat(means + (row << 2));
        const s = v128.load32_splat(scales + (row << 2));
        const centred = f32x4.mul(f32x4.sub(v128.load32_splat(x + row * bytes + at), m), s);
        gamma = f32x4.add(gamma, f32x4.mul(d, centred));
        beta = f32x4.add(beta, d);
      }
      v128.store32_lane(dGamma + at, gamma, 0);
      v128.store32_lane(dBeta + at, beta, 0);
      column += 1;
    }
  }
}
