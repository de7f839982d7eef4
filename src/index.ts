/** What every entry re-exports: tensors, ops, modules, training and files. */
export * from "./errors.js";
export { Heed, type HeedOptions } from "./heed.js";
export { parseSafetensors, serializeSafetensors } from "./io/safetensors.js";
export { packWeights, unpackWeights } from "./io/weights.js";
export * from "./models/seq2seq.js";
export * from "./nn/index.js";
export * from "./ops/index.js";
export { AdamW } from "./optim/adam-w.js";
export { clipGradientNorm } from "./optim/clip.js";
export { SGD } from "./optim/sgd.js";
export type { RuntimeInfo } from "./runtime/runtime.js";
export * from "./tasks/translate.js";
export * from "./tasks/translation.js";
export { empty, full, ones, tensor, zeros } from "./tensor/create.js";
export { type DType, type Shape, Tensor } from "./tensor/tensor.js";
export { batchesByLength, padRows } from "./train/batches.js";
export * from "./train/trainer.js";
