/** Modules: layers with weights, under PyTorch's names. */
export * from "./additive-attention.js";
export * from "./dropout.js";
export * from "./embedding.js";
export * from "./layer-norm.js";
export * from "./linear.js";
export * from "./lstm.js";
export * from "./module.js";
export * from "./multihead-attention.js";
export * from "./positional-encoding.js";
