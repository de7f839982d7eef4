import type { Runtime } from "../runtime/runtime.js";
import { expectDType, sameRuntime, sameShape } from "../tensor/check.js";
import { empty, emptyLike, zeros } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";
import { record } from "./tape.js";

/** What dropout takes beside x and p. */
export interface DropoutOptions {
  /** A u32 that fixes the mask; defaults to runtime.nextSeed() */
  readonly seed?: number;
  /** u8 of x's shape, applied instead of a random one: 1 keeps, 0 drops */
  readonly mask?: Tensor;
}

/** Elements a unit of the random kernels owns: the words of sixteen counters. */
const BLOCK = 32;
/** Integer steps that the ten rounds of the generator take, an element. */
const HASH_COST = 24;

/**
 * Inverted dropout: each element becomes 0 with probability p, else x / (1 − p).
 *
 * The decision for element i is a hash of (seed, i), so the mask costs no memory and is the same
 * for any number of threads; the gradient draws it again.
 *
 * @param x  f32[...]
 * @param p  0 … 1; 0 returns x itself, 1 gives zeros
 * @throws {RangeError} p lies outside 0 … 1
 * @throws {ShapeError} the mask has not x's shape
 * @throws {DTypeError} x is not f32 or the mask is not u8
 * @source Srivastava et al. 2014, JMLR 15; the generator is Philox2x32-10 of Salmon et al. 2011
 */
export function dropout(x: Tensor, p: number, options: DropoutOptions = {}): Tensor {
  expectDType("dropout", x, "f32", "x");
  checkProbability("dropout", p);
  const { runtime } = x;
  if (p === 0) return x;
  if (p === 1)
    return record("dropout", zeros(runtime, x.shape), [x], () => [zeros(runtime, x.shape)]);
  const scale = 1 / (1 - p);
  const { mask } = options;
  if (mask) {
    expectDType("dropout", mask, "u8", "mask");
    sameShape("dropout", x, mask, "x and mask");
    sameRuntime("dropout", x, mask);
  }
  const seed = mask ? 0 : (options.seed ?? runtime.nextSeed());
  const apply = (from: Tensor): Tensor => {
    const to = emptyLike(from);
    if (mask) runtime.run("dropoutMaskedF32", [to.ptr, from.ptr, mask.ptr, scale], from.size);
    else
      runtime.run(
        "dropoutF32",
        [to.ptr, from.ptr, from.size, seed, threshold(p), scale],
        Math.ceil(from.size / BLOCK),
        BLOCK * HASH_COST,
      );
    return to;
  };
  return record("dropout", apply(x), mask ? [x, mask] : [x], (dy) => [apply(dy)]);
}

/**
 * The mask that dropout(x, p, { seed }) applies to an x of this shape: 1 keeps, 0 drops.
 *
 * @returns u8 of that shape
 * @throws {RangeError} p lies outside 0 … 1
 */
export function dropoutMask(runtime: Runtime, shape: Shape, p: number, seed: number): Tensor {
  checkProbability("dropoutMask", p);
  const mask = p === 1 ? zeros(runtime, shape, "u8") : empty(runtime, shape, "u8");
  if (p < 1)
    runtime.run(
      "dropoutMaskU8",
      [mask.ptr, mask.size, seed, threshold(p)],
      Math.ceil(mask.size / BLOCK),
      BLOCK * HASH_COST,
    );
  return mask;
}

/** A 32-bit word below this is dropped. */
function threshold(p: number): number {
  return Math.floor(p * 2 ** 32);
}

function checkProbability(who: string, p: number): void {
  if (!(p >= 0 && p <= 1)) throw new RangeError(`${who}: p must lie in 0 … 1, got ${p}`);
}
