import {
  type AttentionOptions,
  attention,
  attentionWithWeights,
} from "../../../src/ops/attention.js";
import type { Tensor } from "../../../src/tensor/tensor.js";
import * as reference from "../../reference/attention.js";
import { seeded } from "../../support/random.js";
import type { OpCase, OpInput } from "../op-case.js";

interface Sizes {
  /** The axes before the last two. */
  readonly lead: readonly number[];
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly valueWidth: number;
}

interface Extra {
  readonly mask?: OpInput;
  readonly dropped?: readonly number[];
  readonly causal?: "start" | "end";
  readonly scale?: number;
}

/** The three faces of one call: attention(), and both results of attentionWithWeights(). */
function attentionCases(name: string, sizes: Sizes, extra: Extra = {}): OpCase[] {
  const { lead, queries, keys, width, valueWidth } = sizes;
  const { mask, dropped, causal, scale } = extra;
  const heads = lead.reduce((product, length) => product * length, 1);
  const inputs: Record<string, OpInput> = {
    q: { shape: [...lead, queries, width], grad: true },
    k: { shape: [...lead, keys, width], grad: true },
    v: { shape: [...lead, keys, valueWidth], grad: true },
    ...(mask && { mask }),
    ...(dropped && {
      kept: { shape: [...lead, queries, keys], dtype: "u8" as const, data: [...dropped] },
    }),
  };
  const options = (t: Record<string, Tensor>): AttentionOptions => ({
    mask: t.mask,
    causal,
    scale,
    ...(t.kept && { dropout: { p: 0.25, mask: t.kept } }),
  });
  const compute = (x: Record<string, Float64Array>) =>
    reference.attention({
      q: x.q as Float64Array,
      k: x.k as Float64Array,
      v: x.v as Float64Array,
      heads,
      queries,
      keys,
      width,
      valueWidth,
      ...(scale !== undefined && { scale }),
      bias: (head, query, key) => {
        const shift = causal === "end" ? keys - queries : 0;
        if (causal && key > query + shift) return -Infinity;
        if (!mask || !x.mask) return 0;
        const value = x.mask[broadcastIndex(mask.shape, lead, head, query, key)] as number;
        if (mask.dtype === "u8") return value ? 0 : -Infinity;
        return value;
      },
      kept: (head, query, key) =>
        x.kept ? (x.kept[(head * queries + query) * keys + key] as number) / 0.75 : 1,
    });
  // Scores below 8 with sums of up to 64 products: 64·8·2⁻²⁴ at the very worst, a tenth of that
  // in practice; exp hands it on as a relative error.
  const tolerance = 4e-6;
  const operands = (t: Record<string, Tensor>) => [t.q, t.k, t.v] as [Tensor, Tensor, Tensor];
  return [
    {
      op: "attention",
      name,
      inputs,
      tolerance,
      run: (t) => attention(...operands(t), options(t)),
      reference: (x) => compute(x).output,
    },
    {
      op: "attentionWithWeights",
      name: `gives the output ${name}`,
      inputs,
      tolerance,
      run: (t) => attentionWithWeights(...operands(t), options(t)).output,
      reference: (x) => compute(x).output,
    },
    {
      op: "attentionWithWeights",
      name: `gives the weights ${name}`,
      inputs,
      tolerance,
      run: (t) => attentionWithWeights(...operands(t), options(t)).weights,
      reference: (x) => compute(x).weights,
    },
  ];
}

/** The mask's element for a weight, by NumPy's rule. */
function broadcastIndex(
  shape: readonly number[],
  lead: readonly number[],
  head: number,
  query: number,
  key: number,
): number {
  const place = [query, key];
  let rest = head;
  for (const length of lead.toReversed()) {
    place.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return shape.reduce((index, length, axis) => {
    const at = place[axis + place.length - shape.length] as number;
    return index * length + (length === 1 ? 0 : at);
  }, 0);
}

/** Random zeros and ones; a row of `keys` given in `hidden` is all zeros. */
function bits(size: number, keys: number, hidden: readonly number[] = []): number[] {
  const random = seeded(5);
  return Array.from({ length: size }, (_, i) =>
    hidden.includes(Math.floor(i / keys)) ? 0 : random.integer(3) > 0 ? 1 : 0,
  );
}

const TWO_HEADS: Sizes = { lead: [2, 2], queries: 7, keys: 9, width: 5, valueWidth: 11 };

export const cases: OpCase[] = [
  ...attentionCases("of one query and one key", {
    lead: [],
    queries: 1,
    keys: 1,
    width: 1,
    valueWidth: 1,
  }),
  ...attentionCases("with every size off its tile", {
    lead: [3],
    queries: 11,
    keys: 37,
    width: 17,
    valueWidth: 33,
  }),
  // 85 queries: more than one block of the backward pass.
  ...attentionCases("of more queries than a block of the gradient holds", {
    lead: [2],
    queries: 85,
    keys: 12,
    width: 8,
    valueWidth: 8,
  }),
  ...attentionCases("with a scale of its own", TWO_HEADS, { scale: -0.3 }),
  ...attentionCases("with a mask of zeros and ones, two rows of it zeros", TWO_HEADS, {
    mask: { shape: [2, 2, 7, 9], dtype: "u8", data: bits(252, 9, [0, 16]) },
  }),
  ...attentionCases("with a mask of one row a batch", TWO_HEADS, {
    mask: { shape: [2, 1, 1, 9], dtype: "u8", data: bits(18, 9) },
  }),
  ...attentionCases("with a mask of one column", TWO_HEADS, {
    mask: { shape: [7, 1], dtype: "u8", data: bits(7, 1, [2]) },
  }),
  ...attentionCases("with an added mask, −∞ and −10⁴ in it, one row all −∞", TWO_HEADS, {
    mask: {
      shape: [2, 7, 9],
      data: bits(126, 9, [3]).map((bit, i) => (bit ? (i % 5) - 2 : i % 9 === 8 ? -1e4 : -Infinity)),
    },
  }),
  ...attentionCases("with an added mask of one column", TWO_HEADS, {
    mask: {
      shape: [2, 1, 7, 1],
      data: Array.from({ length: 14 }, (_, i) => (i === 4 ? -Infinity : i)),
    },
  }),
  ...attentionCases(
    "with a causal mask of as many queries as keys",
    {
      lead: [2],
      queries: 13,
      keys: 13,
      width: 4,
      valueWidth: 6,
    },
    { causal: "start" },
  ),
  ...attentionCases("with a causal mask that faces the first of fewer queries", TWO_HEADS, {
    causal: "start",
  }),
  ...attentionCases("with a causal mask that faces the last of fewer queries", TWO_HEADS, {
    causal: "end",
  }),
  ...attentionCases(
    "with a causal mask that hides all from the first of more queries",
    { lead: [2], queries: 9, keys: 6, width: 4, valueWidth: 5 },
    { causal: "end" },
  ),
  ...attentionCases("with dropout by a given mask", TWO_HEADS, { dropped: bits(252, 9) }),
  ...attentionCases("with dropout under a causal mask and another", TWO_HEADS, {
    dropped: bits(252, 9),
    causal: "end",
    mask: { shape: [1, 9], dtype: "u8", data: [1, 1, 0, 1, 1, 1, 0, 1, 1] },
  }),
];
