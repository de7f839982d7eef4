import { floats } from "../attention/row";
import { loadFirst4, storeFirst4 } from "../gemm/lanes";
import { expNegative4 } from "../math/exp";
import { madd4 } from "../math/madd";
import { tanh4 } from "../math/tanh";
import { rowDot, rowSum } from "../reduce/rows";

/**
 * Additive attention, one query row a unit: score(s) = v·tanh(query + keys[s]),
 * weights = softmax of the first lengths[b] scores, context = Σₛ weights[s]·values[s].
 *
 * Rows of keys and values behind the length are never read, their weights are exactly 0; a length
 * of 0 gives zeros. The backward pass needs `weights` and the operands; tanh is computed again.
 *
 * @param context    out f32[B, queries, valueWidth]
 * @param weights    out f32[B, queries, positions]
 * @param energy     scratch f32[B, queries, width]
 * @param query      f32[B, queries, width], projected
 * @param keys       f32[B, positions, width], projected, with its bias
 * @param v          f32[width]
 * @param values     f32[B, positions, valueWidth]
 * @param lengths    i32[B], each within [0, positions]
 * @param begin,end  rows of [0, B·queries)
 * @source Bahdanau et al. 2015, arXiv:1409.0473, section A.1.2
 */
export function additiveAttentionF32(
  context: usize,
  weights: usize,
  energy: usize,
  query: usize,
  keys: usize,
  v: usize,
  values: usize,
  lengths: usize,
  queries: i32,
  positions: i32,
  width: i32,
  valueWidth: i32,
  begin: i32,
  end: i32,
): void {
  for (let row = begin; row < end; row++) {
    const batch = row / queries;
    const length = load<i32>(lengths + ((<usize>batch) << 2));
    const rowWeights = weights + floats(row * positions);
    const keyRows = keys + floats(batch * positions * width);
    const valueRows = values + floats(batch * positions * valueWidth);
    const rowQuery = query + floats(row * width);
    const rowEnergy = energy + floats(row * width);

    for (let s = 0; s < length; s++) {
      energyRow(rowEnergy, rowQuery, keyRows + floats(s * width), width);
      store<f32>(rowWeights + floats(s), rowDot(v, rowEnergy, width));
    }
    softmaxVisible(rowWeights, length, positions);
    weightedRows(context + floats(row * valueWidth), rowWeights, valueRows, length, valueWidth);
  }
}

/**
 * First step back: the gradient of the scores. With dw[s] = dWeights[s] + dContext·values[s],
 * dScores[s] = weights[s]·(dw[s] − Σₜ weights[t]·dw[t]); behind the length it is 0.
 *
 * @param dScores    out f32[B, queries, positions]
 * @param dContext   f32[B, queries, valueWidth]
 * @param dWeights   f32[B, queries, positions]
 * @param begin,end  rows of [0, B·queries)
 */
export function additiveAttentionGradScoresF32(
  dScores: usize,
  dContext: usize,
  dWeights: usize,
  weights: usize,
  values: usize,
  lengths: usize,
  queries: i32,
  positions: i32,
  valueWidth: i32,
  begin: i32,
  end: i32,
): void {
  for (let row = begin; row < end; row++) {
    const batch = row / queries;
    const length = load<i32>(lengths + ((<usize>batch) << 2));
    const rowStart = floats(row * positions);
    const rowContext = dContext + floats(row * valueWidth);
    const valueRows = values + floats(batch * positions * valueWidth);

    for (let s = 0; s < length; s++) {
      const dw =
        load<f32>(dWeights + rowStart + floats(s)) +
        rowDot(rowContext, valueRows + floats(s * valueWidth), valueWidth);
      store<f32>(dScores + rowStart + floats(s), dw);
    }
    softmaxGradVisible(dScores + rowStart, weights + rowStart, length, positions);
  }
}

/**
 * Second step back: through tanh(query + keys). With t = tanh(query + keys[s]) and
 * g = dScores[s]·v·(1 − t²): dQuery = Σₛ g, dKeys[s] += g over the queries upwards, and
 * vParts[b] = Σ dScores[s]·t over this batch row's queries and positions, both upwards: added up
 * by sumRowsAddF32.
 *
 * @param dQuery     out f32[B, queries, width]
 * @param dKeys      in and out f32[B, positions, width], added to
 * @param vParts     out f32[B, width], the gradient of v one batch row apart
 * @param begin,end  batch rows of [0, B)
 */
export function additiveAttentionGradEnergyF32(
  dQuery: usize,
  dKeys: usize,
  vParts: usize,
  dScores: usize,
  query: usize,
  keys: usize,
  v: usize,
  lengths: usize,
  queries: i32,
  positions: i32,
  width: i32,
  begin: i32,
  end: i32,
): void {
  for (let batch = begin; batch < end; batch++) {
    const length = load<i32>(lengths + ((<usize>batch) << 2));
    const keyStart = floats(batch * positions * width);
    const parts = vParts + floats(batch * width);
    memory.fill(parts, 0, floats(width));
    for (let q = 0; q < queries; q++) {
      const row = batch * queries + q;
      energyGradRow(
        dQuery + floats(row * width),
        dKeys + keyStart,
        parts,
        dScores + floats(row * positions),
        query + floats(row * width),
        keys + keyStart,
        v,
        length,
        width,
      );
    }
  }
}

/**
 * The gradient of the values: dValues[b, s] += weights[b, q, s]·dContext[b, q], q upwards.
 *
 * @param dValues    in and out f32[B, positions, valueWidth], added to
 * @param begin,end  batch rows of [0, B)
 */
export function additiveAttentionGradValuesF32(
  dValues: usize,
  dContext: usize,
  weights: usize,
  lengths: usize,
  queries: i32,
  positions: i32,
  valueWidth: i32,
  begin: i32,
  end: i32,
): void {
  for (let batch = begin; batch < end; batch++) {
    const length = load<i32>(lengths + ((<usize>batch) << 2));
    const rows = dValues + floats(batch * positions * valueWidth);
    for (let q = 0; q < queries; q++) {
      const row = batch * queries + q;
      const rowWeights = weights + floats(row * positions);
      const rowContext = dContext + floats(row * valueWidth);
      for (let s = 0; s < length; s++) {
        const weight = load<f32>(rowWeights + floats(s));
        addScaledRow(rows + floats(s * valueWidth), rowContext, weight, valueWidth);
      }
    }
  }
}

/**
 * energy = tanh(query + key) over one row. Four vectors at a time, each stored: the stores make V8
 * compute the four side by side, where sums kept in registers leave it waiting on one at a time.
 */
function energyRow(energy: usize, query: usize, key: usize, width: i32): void {
  for (; width >= 16; width -= 16) {
    const t0 = tanh4(f32x4.add(v128.load(query), v128.load(key)));
    const t1 = tanh4(f32x4.add(v128.load(query, 16), v128.load(key, 16)));
    const t2 = tanh4(f32x4.add(v128.load(query, 32), v128.load(key, 32)));
    const t3 = tanh4(f32x4.add(v128.load(query, 48), v128.load(key, 48)));
    v128.store(energy, t0);
    v128.store(energy, t1, 16);
    v128.store(energy, t2, 32);
    v128.store(energy, t3, 48);
    query += 64;
    key += 64;
    energy += 64;
  }
  for (; width > 0; width -= 4) {
    const t = tanh4(f32x4.add(loadFirst4(query, width), loadFirst4(key, width)));
    storeFirst4(energy, t, width);
    query += 16;
    key += 16;
    energy += 16;
  }
}

/** Softmax in place over the first `length` of n scores, zeros behind them. */
function softmaxVisible(scores: usize, length: i32, n: i32): void {
  let largest: f32 = -Infinity;
  for (let s = 0; s < length; s++) largest = max(largest, load<f32>(scores + floats(s)));

  const shift = f32x4.splat(largest);
  for (let s = 0; s < length; s += 4) {
    const at = scores + floats(s);
    storeFirst4(at, expNegative4(f32x4.sub(loadFirst4(at, length - s), shift)), length - s);
  }

  const total = f32x4.splat(rowSum(scores, length));
  for (let s = 0; s < length; s += 4) {
    const at = scores + floats(s);
    storeFirst4(at, f32x4.div(loadFirst4(at, length - s), total), length - s);
  }
  memory.fill(scores + floats(length), 0, floats(n - length));
}

/** dw becomes w·(dw − Σ w·dw) in place over the first `length` of n, zeros behind them. */
function softmaxGradVisible(dw: usize, w: usize, length: i32, n: i32): void {
  const mean = f32x4.splat(rowDot(dw, w, length));
  for (let s = 0; s < length; s += 4) {
    const rest = length - s;
    const at = dw + floats(s);
    const scaled = f32x4.sub(loadFirst4(at, rest), mean);
    storeFirst4(at, f32x4.mul(loadFirst4(w + floats(s), rest), scaled), rest);
  }
  memory.fill(dw + floats(length), 0, floats(n - length));
}

/** to = Σₛ weights[s]·rows[s], s upwards in one accumulator an element; 32 columns at a time. */
function weightedRows(to: usize, weights: usize, rows: usize, length: i32, width: i32): void {
  const whole = width & ~31;
  for (let column = 0; column < whole; column += 32) {
    weightedPanel(to + floats(column), weights, rows + floats(column), length, width);
  }
  for (let column = whole; column < width; column += 4) {
    const n = width - column;
    let from = rows + floats(column);
    let sum = f32x4.splat(0);
    for (let s = 0; s < length; s++) {
      sum = madd4(v128.load32_splat(weights + floats(s)), loadFirst4(from, n), sum);
      from += floats(width);
    }
    storeFirst4(to + floats(column), sum, n);
  }
}

function weightedPanel(to: usize, weights: usize, from: usize, length: i32, width: i32): void {
  let a0 = f32x4.splat(0);
  let a1 = a0;
  let a2 = a0;
  let a3 = a0;
  let a4 = a0;
  let a5 = a0;
  let a6 = a0;
  let a7 = a0;
  const stop = weights + floats(length);
  while (weights < stop) {
    const weight = v128.load32_splat(weights);
    a0 = madd4(weight, v128.load(from), a0);
    a1 = madd4(weight, v128.load(from, 16), a1);
    a2 = madd4(weight, v128.load(from, 32), a2);
    a3 = madd4(weight, v128.load(from, 48), a3);
    a4 = madd4(weight, v128.load(from, 64), a4);
    a5 = madd4(weight, v128.load(from, 80), a5);
    a6 = madd4(weight, v128.load(from, 96), a6);
    a7 = madd4(weight, v128.load(from, 112), a7);
    weights += 4;
    from += floats(width);
  }
  v128.store(to, a0);
  v128.store(to, a1, 16);
  v128.store(to, a2, 32);
  v128.store(to, a3, 48);
  v128.store(to, a4, 64);
  v128.store(to, a5, 80);
  v128.store(to, a6, 96);
  v128.store(to, a7, 112);
}

/**
 * One query row of the energy's gradient: columns outside, so that sums over s stay in registers;
 * sixteen columns at a time, for the latency of tanh.
 */
function energyGradRow(
  dQuery: usize,
  dKeys: usize,
  parts: usize,
  dScores: usize,
  query: usize,
  keys: usize,
  v: usize,
  length: i32,
  width: i32,
): void {
  const step = floats(width);
  for (let column = 0; column < width; column += 16) {
    const at = floats(column);
    if (width - column >= 16) {
      energyGradPanel(
        dQuery + at,
        dKeys + at,
        parts + at,
        dScores,
        query + at,
        keys + at,
        v + at,
        length,
        step,
      );
      continue;
    }
    for (let n = width - column; n > 0; n -= 4) {
      const to = floats(width - n);
      energyGradTail(
        dQuery + to,
        dKeys + to,
        parts + to,
        dScores,
        query + to,
        keys + to,
        v + to,
        length,
        step,
        n,
      );
    }
  }
}

/** Sixteen columns; rows are `step` bytes apart. */
function energyGradPanel(
  dQuery: usize,
  dKeys: usize,
  parts: usize,
  dScores: usize,
  query: usize,
  keys: usize,
  v: usize,
  length: i32,
  step: usize,
): void {
  let sum0 = f32x4.splat(0);
  let sum1 = sum0;
  let sum2 = sum0;
  let sum3 = sum0;
  for (const stop = dScores + floats(length); dScores < stop; dScores += 4) {
    const t0 = tanh4(f32x4.add(v128.load(query), v128.load(keys)));
    const t1 = tanh4(f32x4.add(v128.load(query, 16), v128.load(keys, 16)));
    const t2 = tanh4(f32x4.add(v128.load(query, 32), v128.load(keys, 32)));
    const t3 = tanh4(f32x4.add(v128.load(query, 48), v128.load(keys, 48)));
    const dScore = v128.load32_splat(dScores);
    v128.store(parts, madd4(dScore, t0, v128.load(parts)));
    v128.store(parts, madd4(dScore, t1, v128.load(parts, 16)), 16);
    v128.store(parts, madd4(dScore, t2, v128.load(parts, 32)), 32);
    v128.store(parts, madd4(dScore, t3, v128.load(parts, 48)), 48);
    const g0 = energyGrad(dScore, v128.load(v), t0);
    const g1 = energyGrad(dScore, v128.load(v, 16), t1);
    const g2 = energyGrad(dScore, v128.load(v, 32), t2);
    const g3 = energyGrad(dScore, v128.load(v, 48), t3);
    sum0 = f32x4.add(sum0, g0);
    sum1 = f32x4.add(sum1, g1);
    sum2 = f32x4.add(sum2, g2);
    sum3 = f32x4.add(sum3, g3);
    v128.store(dKeys, f32x4.add(v128.load(dKeys), g0));
    v128.store(dKeys, f32x4.add(v128.load(dKeys, 16), g1), 16);
    v128.store(dKeys, f32x4.add(v128.load(dKeys, 32), g2), 32);
    v128.store(dKeys, f32x4.add(v128.load(dKeys, 48), g3), 48);
    keys += step;
    dKeys += step;
  }
  v128.store(dQuery, sum0);
  v128.store(dQuery, sum1, 16);
  v128.store(dQuery, sum2, 32);
  v128.store(dQuery, sum3, 48);
}

/** The first n ≤ 4 columns from here. */
function energyGradTail(
  dQuery: usize,
  dKeys: usize,
  parts: usize,
  dScores: usize,
  query: usize,
  keys: usize,
  v: usize,
  length: i32,
  step: usize,
  n: i32,
): void {
  const q = loadFirst4(query, n);
  const scale = loadFirst4(v, n);
  let sum = f32x4.splat(0);
  let part = loadFirst4(parts, n);
  for (const stop = dScores + floats(length); dScores < stop; dScores += 4) {
    const dScore = v128.load32_splat(dScores);
    const t = tanh4(f32x4.add(q, loadFirst4(keys, n)));
    const g = energyGrad(dScore, scale, t);
    sum = f32x4.add(sum, g);
    part = madd4(dScore, t, part);
    storeFirst4(dKeys, f32x4.add(loadFirst4(dKeys, n), g), n);
    keys += step;
    dKeys += step;
  }
  storeFirst4(dQuery, sum, n);
  storeFirst4(parts, part, n);
}

/** dScore·v·(1 − t²) */
// @ts-ignore: decorator
@inline
function energyGrad(dScore: v128, v: v128, t: v128): v128 {
  const slope = f32x4.sub(f32x4.splat(1), f32x4.mul(t, t));
  return f32x4.mul(f32x4.mul(dScore, v), slope);
}

/** to += scale·from over one row. */
function addScaledRow(to: usize, from: usize, scale: f32, n: i32): void {
  const factor = f32x4.splat(scale);
  const stop = from + floats(n & ~3);
  while (from < stop) {
    v128.store(to, madd4(factor, v128.load(from), v128.load(to)));
    to += 16;
    from += 16;
  }
  const rest = n & 3;
  if (rest > 0) {
    storeFirst4(to, madd4(factor, loadFirst4(from, rest), loadFirst4(to, rest)), rest);
  }
}
