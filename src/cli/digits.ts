/** A number for JSON, with the nine digits that tell every f32 apart. */
export function digits(x: number): number {
  return Number(x.toPrecision(9));
}
