import { add } from "../ops/arithmetic.js";
import { tensor } from "../tensor/create.js";
import type { Tensor } from "../tensor/tensor.js";

/** Two masks of attention() as one that hides what either hides; they broadcast to each other. */
export function bothMasks(a: Tensor | undefined, b: Tensor | undefined): Tensor | undefined {
  return a && b ? add(added(a), added(b)) : (a ?? b);
}

/** A mask in which 0 hides → one that is added. */
function added(mask: Tensor): Tensor {
  if (mask.dtype !== "u8") return mask;
  const values = Float32Array.from(mask.read(), (shows) => (shows ? 0 : -Infinity));
  return tensor(mask.runtime, values, mask.shape);
}
