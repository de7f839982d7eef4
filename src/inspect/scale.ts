/**
 * From weights to shades. Shades follow the square root of a weight: attention is spread over many
 * keys with a few large ones, and a scale in proportion would show nothing but those.
 */
import type { AttentionMap } from "./attention-map.js";

/** Shades beside the background. */
export const LEVELS = 16;
/** Steps that a weight is written in; two characters of 64. */
export const STEPS = 4095;

// OKLCH; lightness falls evenly from 0.965 to 0.315, hue turns from 232° to 272°, chroma is 0.125 at most.
export const LIGHT: readonly string[] = [
  ..."#f1f4f6 #d6e9f5 #bddef4 #a5d2f2 #8ec6f0 #7ab9ec #69abe6 #5b9ddf".split(" "),
  ..."#5090d5 #4882c9 #4274bb #3c67ad #365a9f #314e90 #2b4282 #263674 #202a66".split(" "),
];
// Lightness rises evenly from 0.235 to 0.93, hue turns from 268° to 218°.
export const DARK: readonly string[] = [
  ..."#1c1e24 #212838 #26334c #293f60 #2b4b74 #2c5887 #2d6599 #2f73aa".split(" "),
  ..."#3382b9 #3b90c6 #4a9fcf #5cadd8 #6fbbe0 #82c9e7 #97d6ef #ade4f7 #c3f1fe".split(" "),
];
/** Text on a shade, and from which level on it is the second of the two. */
export const INKS = {
  light: { below: "#111317", above: "#ffffff", from: 10 },
  dark: { below: "#f4f6f9", above: "#0b0c0f", from: 8 },
} as const;

/** Where the legend has its marks, as parts of the scale. */
export const MARKS: readonly number[] = [0, 0.1, 0.25, 0.5, 1];

/** The weight of the last shade: the largest of the map, rounded up to 1, 2, 3 or 5 of its decimal place. */
export function topOf({ weights }: AttentionMap): number {
  let most = 0;
  for (const layer of weights)
    for (const head of layer)
      for (const row of head) for (const weight of row) if (weight > most) most = weight;
  if (most === 0) return 1;
  // Rows of f32 may sum to a little more than 1.
  most *= 1 - 1e-6;
  for (let exponent = -9; ; exponent++)
    for (const digit of [1, 2, 3, 5]) {
      const top = Number(`${digit}e${exponent}`);
      if (top >= most) return top;
    }
}

/** The largest of some numbers, none of which is below 0; Math.max cannot take very many. */
export function mostOf(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}

/** A weight as one of STEPS steps; the weight again is top · (step / STEPS)². */
export function stepOf(weight: number, top: number): number {
  return Math.min(STEPS, Math.round(STEPS * Math.sqrt(weight / top)));
}

/** The shade of a step: 0, the background, … LEVELS. */
export function levelOf(step: number): number {
  return Math.round((step * LEVELS) / STEPS);
}

export function percent(weight: number): string {
  if (weight > 0 && weight < 0.0005) return "< 0.1 %";
  return weight === 0 ? "0 %" : `${(100 * weight).toFixed(1)} %`;
}
