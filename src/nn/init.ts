import { mix32 } from "../runtime/runtime.js";
import type { Tensor } from "../tensor/tensor.js";

let skipping = false;

/** Runs fn, which makes modules, without drawing their weights: they will be loaded at once. */
export function withoutInit<T>(fn: () => T): T {
  const before = skipping;
  skipping = true;
  try {
    return fn();
  } finally {
    skipping = before;
  }
}

/** Fills x with what `values` gives. */
export function initStep(x: Tensor, values: () => ArrayLike<number>): Tensor {
  return skipping ? x : x.write(values());
}

/** Fills x with one value. */
export function fillStep(x: Tensor, value: number): Tensor {
  return initStep(x, () => new Float32Array(x.size).fill(value));
}

/**
 * Fills x with uniform values in [−bound, bound), from the runtime's seed sequence.
 *
 * Integer hashing and one exact product: the same bits in every engine.
 */
export function uniformStep(x: Tensor, bound: number): Tensor {
  if (skipping) return x;
  const seed = x.runtime.nextSeed();
  const scale = (2 * bound) / 2 ** 32;
  return x.write(Float32Array.from({ length: x.size }, (_, i) => draw(seed, i) * scale - bound));
}

/**
 * Fills x with values of mean 0 and the given deviation, nearly normal: the sum of twelve uniform
 * draws (no logarithm or cosine, which differ between engines). Its tails end at six deviations.
 */
export function normalStep(x: Tensor, deviation: number): Tensor {
  if (skipping) return x;
  const seed = x.runtime.nextSeed();
  const values = new Float32Array(x.size);
  for (let i = 0; i < values.length; i++) {
    let sum = 0;
    for (let part = 0; part < 12; part++) sum += draw(seed, 12 * i + part) / 2 ** 32;
    values[i] = (sum - 6) * deviation;
  }
  return x.write(values);
}

function draw(seed: number, index: number): number {
  return mix32((mix32(index) + seed) >>> 0);
}
