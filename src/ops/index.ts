/** The differentiable functions: tensors in, new tensors out. */
export * from "./activation.js";
export * from "./additive-attention.js";
export { add, div, mul, sub } from "./arithmetic.js";
export * from "./attention.js";
export * from "./cross-entropy.js";
export * from "./dropout.js";
export * from "./embedding.js";
export * from "./layer-norm.js";
export * from "./linear.js";
export * from "./lstm.js";
export * from "./lstm-cell.js";
export * from "./mask.js";
export * from "./matmul.js";
export * from "./reduce.js";
export * from "./select.js";
export * from "./shape.js";
export * from "./softmax.js";
export { backward, noGrad } from "./tape.js";
