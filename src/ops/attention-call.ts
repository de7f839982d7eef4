/** One call of attention: its options, its sizes, and what forward and backward share. */
import { ShapeError } from "../errors.js";
import { expectDType, sameRuntime, showShape, sizeOf } from "../tensor/check.js";
import { empty, zeros } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";
import { type AttentionRules, checkRules } from "./attention-rules.js";

/** Dropout of attention weights. */
export interface AttentionDropout {
  /** The probability of a weight to become 0, in 0 … 1; the others are divided by 1 − p. */
  readonly p: number;
  /** A u32 that fixes which: those of dropoutMask(…, p, seed). Defaults to runtime.nextSeed(). */
  readonly seed?: number;
  /** u8[..., Lq, Lk], applied instead of a random one: 1 keeps, 0 drops. */
  readonly mask?: Tensor;
}

/** What attention takes beside its tensors. */
export interface AttentionOptions {
  /** u8 (1 shows, 0 hides) or f32 (added to the scores, −∞ hides); broadcasts to [..., Lq, Lk]. */
  readonly mask?: Tensor | undefined;
  /**
   * No query looks ahead: "start" faces query 0 with key 0, "end" the last query with the last key.
   * true only where there are as many queries as keys and the two agree. Default false.
   */
  readonly causal?: "start" | "end" | boolean | undefined;
  /** Default 1/√D. */
  readonly scale?: number | undefined;
  readonly dropout?: AttentionDropout | undefined;
}

/** Queries, keys and values of one call, and what they make of each other. */
export interface AttentionCall {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly valueWidth: number;
  readonly scale: number;
  readonly rules: AttentionRules;
}

/** Units of work a thread: see CHUNKS_PER_THREAD of the pool. */
const UNITS_PER_THREAD = 4;
/** An exponential of the kernel, in floating-point operations. */
export const EXP_COST = 30;
/** Columns of a packed panel. */
const PANEL = 8;
/** Queries of a tile. */
export const TILE = 5;

/** Up to the next multiple of 32: what a row of scratch holds. */
export function padded(n: number): number {
  return Math.ceil(n / 32) * 32;
}

/** Into how many runs of tiles the work falls. It also bounds the scratch, and changes no bit. */
export function unitsFor({ q }: AttentionCall, tiles: number): number {
  const { threads } = q.runtime;
  return Math.min(tiles, threads === 1 ? 1 : threads * UNITS_PER_THREAD);
}

/** Each head's [rows, columns] in panels of eight columns. */
export function packRows(x: Tensor, heads: number, rows: number, columns: number): Tensor {
  const perHead = Math.ceil(columns / PANEL);
  const panels = empty(x.runtime, [heads, perHead, rows, PANEL]);
  const range = heads * perHead;
  x.runtime.run("packHeadsF32", [panels.ptr, x.ptr, rows, columns], range, rows * PANEL);
  return panels;
}

/** Each head's [rows, columns] transposed, in panels of eight rows. */
export function packTransposed(x: Tensor, heads: number, rows: number, columns: number): Tensor {
  const perHead = Math.ceil(rows / PANEL);
  const panels = empty(x.runtime, [heads, perHead, columns, PANEL]);
  const range = heads * perHead;
  x.runtime.run(
    "packHeadsTransposedF32",
    [panels.ptr, x.ptr, rows, columns],
    range,
    columns * PANEL,
  );
  return panels;
}

export function checkCall(
  who: string,
  q: Tensor,
  k: Tensor,
  v: Tensor,
  options: AttentionOptions,
): AttentionCall {
  sameRuntime(who, q, k, v);
  expectDType(who, q, "f32", "q");
  expectDType(who, k, "f32", "k");
  expectDType(who, v, "f32", "v");
  const lead = q.shape.slice(0, -2);
  for (const [name, x] of Object.entries({ q, k, v })) {
    const fits =
      x.rank >= 2 && x.rank === q.rank && lead.every((length, axis) => length === x.shape[axis]);
    if (!fits)
      throw new ShapeError(
        `${who}: q, k and v must be [..., Lq, D], [..., Lk, D] and [..., Lk, Dv] with the same ` +
          `leading axes, got q ${showShape(q.shape)} and ${name} ${showShape(x.shape)}`,
      );
  }
  const [queries, width] = q.shape.slice(-2) as [number, number];
  const [keys, keyWidth] = k.shape.slice(-2) as [number, number];
  const [valueRows, valueWidth] = v.shape.slice(-2) as [number, number];
  if (width !== keyWidth)
    throw new ShapeError(
      `${who}: q and k must have the same width, got q ${showShape(q.shape)} and k ${showShape(k.shape)}`,
    );
  if (keys !== valueRows)
    throw new ShapeError(
      `${who}: k and v must have the same number of keys, got k ${showShape(k.shape)} and v ${showShape(v.shape)}`,
    );
  const { scale = width > 0 ? 1 / Math.sqrt(width) : 1 } = options;
  if (!Number.isFinite(scale))
    throw new RangeError(`${who}: scale must be a finite number, got ${scale}`);
  const rules = checkRules(who, q, lead, queries, keys, options);
  const heads = sizeOf(lead);
  return { q, k, v, heads, queries, keys, width, valueWidth, scale, rules };
}

/** A zero gradient where an output reached no loss. */
export function orZeros(x: Tensor | null, call: AttentionCall, columns: number): Tensor {
  return x ?? zeros(call.q.runtime, [call.heads, call.queries, columns]);
}
