/** Which keys a query sees and which weights dropout keeps: checked here, written for the kernels. */
import { DTypeError, ShapeError } from "../errors.js";
import { expectDType, sameRuntime, showShape, sizeOf } from "../tensor/check.js";
import { empty } from "../tensor/create.js";
import type { Shape, Tensor } from "../tensor/tensor.js";
import type { AttentionCall, AttentionDropout, AttentionOptions } from "./attention-call.js";
import { allFinite } from "./finite.js";
import { wants } from "./tape.js";

/** What the options say, checked. */
export interface AttentionRules {
  readonly mask: MaskLayout | null;
  /** Query i sees the keys 0 … i + shift at most; the number of keys where it may see all. */
  readonly shift: number;
  readonly causal: boolean;
  readonly dropout: DropoutRule | null;
}

interface MaskLayout {
  readonly tensor: Tensor;
  /** Bytes between rows and between columns, 0 where the mask has but one. */
  readonly row: number;
  readonly column: number;
  /** For each head, the byte its first row begins at. */
  readonly starts: readonly number[];
}

interface DropoutRule {
  readonly mask: Tensor | null;
  readonly seed: number;
  readonly threshold: number;
  readonly keptScale: number;
}

/** Words of the block before the addresses of the mask: see assembly/attention/rules.ts. */
const HEADER_WORDS = 10;

export function checkRules(
  who: string,
  q: Tensor,
  lead: Shape,
  queries: number,
  keys: number,
  options: AttentionOptions,
): AttentionRules {
  const { mask, causal = false, dropout } = options;
  const shape = [...lead, queries, keys];
  return {
    mask: mask ? checkMask(who, q, mask, shape) : null,
    shift: causalShift(who, causal, queries, keys),
    causal: causal !== false,
    dropout: dropout ? checkDropout(who, q, dropout, shape) : null,
  };
}

/** May a hidden number be NaN or infinite? Only then do the kernels select instead of multiply. */
export function readsHidden({ rules }: AttentionCall, operands: readonly Tensor[]): boolean {
  return (rules.mask !== null || rules.causal) && !operands.every(allFinite);
}

/** The block of words that the kernels read: valid while its tensors live. */
export function writeRules({ q, heads, rules }: AttentionCall, selecting: boolean): Tensor {
  const { runtime } = q;
  const { mask, dropout, shift } = rules;
  const block = empty(runtime, [HEADER_WORDS + heads], "i32");
  const maskAddress = mask?.tensor.ptr ?? 0;
  const keptAddress = dropout?.mask?.ptr ?? 0;
  const words = runtime.memory.i32(block.ptr, block.size);
  words.set([
    mask ? (mask.tensor.dtype === "u8" ? 1 : 2) : 0,
    mask?.row ?? 0,
    mask?.column ?? 0,
    shift,
    selecting ? 1 : 0,
    dropout ? (dropout.mask ? 2 : 1) : 0,
    dropout?.seed ?? 0,
    dropout?.threshold ?? 0,
    keptAddress,
  ]);
  runtime.memory.f32(block.ptr, block.size)[HEADER_WORDS - 1] = dropout?.keptScale ?? 1;
  mask?.starts.forEach((start, head) => {
    words[HEADER_WORDS + head] = maskAddress + start;
  });
  return block;
}

function causalShift(
  who: string,
  causal: "start" | "end" | boolean,
  queries: number,
  keys: number,
): number {
  if (causal === "start") return 0;
  if (causal === "end") return keys - queries;
  if (causal === false) return keys;
  if (causal !== true)
    throw new TypeError(
      `${who}: causal must be "start", "end", true or false, got ${String(causal)}`,
    );
  if (queries !== keys)
    throw new ShapeError(
      `${who}: causal: true must have as many queries as keys, got ${queries} and ${keys}. ` +
        'Say "start" (query 0 faces key 0) or "end" (the last query faces the last key)',
    );
  return 0;
}

function checkMask(who: string, q: Tensor, mask: Tensor, shape: Shape): MaskLayout {
  sameRuntime(who, q, mask);
  if (mask.dtype === "i32")
    throw new DTypeError(
      `${who}: mask must be u8 (1 shows, 0 hides) or f32 (added), got i32${showShape(mask.shape)}`,
    );
  if (wants(mask))
    throw new TypeError(
      `${who}: mask must not want a gradient, got one that does. Use matmul, add and softmax`,
    );
  const lengths = [...Array(Math.max(0, shape.length - mask.rank)).fill(1), ...mask.shape];
  const fits =
    mask.rank <= shape.length &&
    lengths.every((length, axis) => length === 1 || length === shape[axis]);
  if (!fits)
    throw new ShapeError(
      `${who}: mask must broadcast to ${showShape(shape)}, got ${showShape(mask.shape)}`,
    );
  const [rows, columns] = lengths.slice(-2) as [number, number];
  const bytes = mask.dtype === "u8" ? 1 : 4;
  const starts = leadIndex(lengths.slice(0, -2), shape.slice(0, -2)).map(
    (index) => index * rows * columns * bytes,
  );
  return {
    tensor: mask,
    row: rows === 1 ? 0 : columns * bytes,
    column: columns === 1 ? 0 : bytes,
    starts,
  };
}

/** For each element of `full` in order, the element of `own` that broadcasts to it. */
function leadIndex(own: Shape, full: Shape): number[] {
  let index = [0];
  full.forEach((length, axis) => {
    const mine = own[axis] as number;
    index = index.flatMap((base) =>
      Array.from({ length }, (_, i) => base * mine + (mine === 1 ? 0 : i)),
    );
  });
  return index;
}

function checkDropout(
  who: string,
  q: Tensor,
  { p, seed, mask }: AttentionDropout,
  shape: Shape,
): DropoutRule | null {
  if (!(p >= 0 && p <= 1)) throw new RangeError(`${who}: dropout.p must lie in 0 … 1, got ${p}`);
  if (p === 0) return null;
  if (mask) {
    sameRuntime(who, q, mask);
    expectDType(who, mask, "u8", "dropout.mask");
    if (mask.rank !== shape.length || mask.shape.some((length, axis) => length !== shape[axis]))
      throw new ShapeError(
        `${who}: dropout.mask must be ${showShape(shape)}, got ${showShape(mask.shape)}`,
      );
  }
  sizeOf(shape); // the decisions are numbered like the weights, so there may be no more of them
  return {
    mask: mask ?? null,
    seed: mask ? 0 : (seed ?? q.runtime.nextSeed()),
    // At p = 1 every weight is kept, times 0.
    threshold: p === 1 ? 0 : Math.floor(p * 2 ** 32),
    keptScale: p === 1 ? 0 : 1 / (1 - p),
  };
}
