/**
 * Which keys a query sees, and which weights dropout keeps: what forward and backward must agree
 * on, written by the host as one block of words.
 *
 *   byte 0   maskKind     0 none, 1 u8 (0 hides), 2 f32 (added; −∞ hides)
 *        4   maskRow      bytes between the mask's rows, 0 where they are one
 *        8   maskColumn   bytes between its columns, 0 where they are one
 *       12   shift        query i sees the keys 0 … i + shift at most
 *       16   selecting    1: a hidden key or query may hold NaN or ∞
 *       20   dropoutKind  0 none, 1 drawn from the seed, 2 the given u8 (0 drops)
 *       24   seed
 *       28   threshold    as in dropoutF32
 *       32   kept         address of the given u8[heads, queries, keys]
 *       36   keptScale    f32: what a kept weight is multiplied with
 *       40   the addresses of the mask's first row, one a head
 *
 * A hidden score is −∞. Where `selecting` is on, a hidden weight is −0 inside of the scratch, which
 * no weight is by itself: the products skip it, so what it would multiply is never read.
 */
import { keepBits } from "../dropout/philox";
import { floats } from "./row";

@unmanaged
export class Rules {
  maskKind: i32;
  maskRow: i32;
  maskColumn: i32;
  shift: i32;
  selecting: i32;
  dropoutKind: i32;
  seed: i32;
  threshold: i32;
  kept: usize;
  keptScale: f32;
}

/** The bits of −0, as a lane or a word. */
export const HIDDEN: i32 = 0x80000000;

/** Where the mask's row for a query begins. */
export function maskAt(rules: Rules, head: i32, query: i32): usize {
  if (rules.maskKind == 0) return 0;
  const starts = changetype<usize>(rules) + offsetof<Rules>();
  return (<usize>load<u32>(starts + floats(head))) + <usize>query * <usize>rules.maskRow;
}

/** How many keys from 0 up a query may see: what lies behind the last visible one is never met. */
export function visibleEnd(rules: Rules, mask: usize, query: i32, keys: i32): i32 {
  let end = max(0, min(keys, query + 1 + rules.shift));
  if (rules.maskKind == 1) {
    while (end > 0 && load<u8>(mask + <usize>(end - 1) * <usize>rules.maskColumn) == 0) end--;
  } else if (rules.maskKind == 2) {
    while (end > 0 && load<f32>(mask + <usize>(end - 1) * <usize>rules.maskColumn) == -Infinity) {
      end--;
    }
  }
  return end;
}

/** Applies the mask to the scores of `end` keys, and hides the rest of the row, up to n. */
export function hideScores(rules: Rules, scores: usize, mask: usize, end: i32, n: i32): void {
  const hidden = f32x4.splat(-Infinity);
  if (rules.maskKind == 1 && rules.maskColumn > 0) {
    // The masked groups of four may reach behind the end: that part is overwritten below.
    let j = 0;
    for (; j + 4 <= end; j += 4) {
      const at = scores + floats(j);
      const bytes = v128.load32_zero(mask + <usize>j);
      const lanes = i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(bytes));
      const hides = i32x4.eq(lanes, i32x4.splat(0));
      v128.store(at, v128.bitselect(hidden, v128.load(at), hides));
    }
    for (; j < end; j++) {
      if (load<u8>(mask + <usize>j) == 0) store<f32>(scores + floats(j), -Infinity);
    }
  } else if (rules.maskKind == 2) {
    // A row of one column is a constant, and visible here: see visibleEnd.
    const step = <usize>rules.maskColumn;
    let j = 0;
    for (; j + 4 <= end; j += 4) {
      const at = scores + floats(j);
      const bias = step ? v128.load(mask + floats(j)) : v128.load32_splat(mask);
      const sum = f32x4.add(v128.load(at), bias);
      v128.store(at, v128.bitselect(hidden, sum, f32x4.eq(bias, hidden)));
    }
    for (; j < end; j++) {
      const at = scores + floats(j);
      const bias = load<f32>(mask + <usize>j * step);
      store<f32>(at, bias == -Infinity ? bias : load<f32>(at) + bias);
    }
  }
  for (; end & 3; end++) store<f32>(scores + floats(end), -Infinity);
  for (; end < n; end += 4) v128.store(scores + floats(end), hidden);
}

/**
 * Dropout on the first n weights of a row, in place: kept ones times keptScale, dropped ones times
 * 0, which leaves a hidden −0 as it is. `row` counts the rows of all heads, so that element
 * row·keys + j has the decision that dropoutF32 takes for it.
 */
export function dropRow(rules: Rules, weights: usize, row: i32, keys: i32, n: i32): void {
  if (rules.dropoutKind == 0) return;
  const scale = rules.keptScale;
  const first = <u64>row * <u64>keys;
  if (rules.dropoutKind == 2) {
    const kept = rules.kept + <usize>first;
    for (let j = 0; j < n; j++) {
      const at = weights + floats(j);
      store<f32>(at, load<f32>(at) * (load<u8>(kept + <usize>j) ? scale : 0));
    }
    return;
  }
  for (let j = 0; j < n; ) {
    // Decisions come 32 at a time; the row may begin and end inside of a block.
    const element = first + <u64>j;
    const inside = <i32>(element & 31);
    let bits = keepBits(<i32>(element >> 5), rules.seed, rules.threshold) >> inside;
    const stop = min(n, j + 32 - inside);
    for (; j < stop; j++) {
      const at = weights + floats(j);
      store<f32>(at, load<f32>(at) * (bits & 1 ? scale : 0));
      bits >>= 1;
    }
  }
}

// What follows is met only where `selecting` is on.

/** x·factor in place, but for what is hidden: a factor of NaN must not reach it. */
export function scaleShown(x: usize, n: i32, factor: f32): void {
  for (const stop = x + floats(n); x < stop; x += 4) {
    if (load<i32>(x) != HIDDEN) store<f32>(x, factor * load<f32>(x));
  }
}

/** x becomes 0 where the weight is a hidden −0. */
export function clearHidden(x: usize, weights: usize, n: i32): void {
  for (const stop = x + floats(n); x < stop; x += 4) {
    if (load<i32>(weights) == HIDDEN) store<f32>(x, 0);
    weights += 4;
  }
}

/** x becomes −0 where the weight is, and a −0 of its own becomes 0. */
export function copyHidden(x: usize, weights: usize, n: i32): void {
  for (const stop = x + floats(n); x < stop; x += 4) {
    if (load<i32>(weights) == HIDDEN) store<i32>(x, HIDDEN);
    else if (load<i32>(x) == HIDDEN) store<i32>(x, 0);
    weights += 4;
  }
}
