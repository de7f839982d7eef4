/**
 * Whole numbers that came from outside: sums, products and pads that neither wrap nor round.
 *
 * JavaScript's bit operators cut to 32 bits and its numbers round above 2⁵³, so every size and
 * offset of a file is computed here. A result that is not a safe integer ≥ 0 is undefined, and
 * undefined stays so through the next step; the caller knows the file and the tensor, and throws.
 */

/** A number that counts: a safe integer, not negative, not −0. */
export function isCount(x: unknown): x is number {
  return Number.isSafeInteger(x) && (x as number) >= 0 && !Object.is(x, -0);
}

/** The sum of counts, or undefined when a term or the sum is not one. */
export function checkedSum(...terms: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const term of terms) {
    if (!isCount(term)) return undefined;
    // Two safe integers add up to at most 2⁵⁴, where a rounded sum is still above the safe ones.
    total += term;
    if (!isCount(total)) return undefined;
  }
  return total;
}

/**
 * The product of counts, or undefined when a factor or the product is not one.
 *
 * A zero does not excuse the others: strides are products of some of the factors, so those must
 * fit in any order.
 */
export function checkedProduct(factors: readonly (number | undefined)[]): number | undefined {
  let product = 1;
  let empty = false;
  for (const factor of factors) {
    if (!isCount(factor)) return undefined;
    if (factor === 0) empty = true;
    else product *= factor;
    if (!isCount(product)) return undefined;
  }
  return empty ? 0 : product;
}

/** The next multiple of `multiple` that is not below n, or undefined. */
export function checkedPad(n: number | undefined, multiple: number): number | undefined {
  if (!isCount(n) || !isCount(multiple) || multiple === 0) return undefined;
  const rest = n % multiple;
  return rest === 0 ? n : checkedSum(n, multiple - rest);
}
