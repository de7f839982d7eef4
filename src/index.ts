/** What every entry re-exports: tensors, ops, modules, training and files. */
export * from "./errors.js";
export { Heed, type HeedOptions } from "./heed.js";
export { parseSafetensors, serializeSafetensors } from "./io/safetensors.js";
export { packWeights, unpackWeights } from "./io/weights.js";
export * from "./models/attention-mechanism.js";
export * from "./models/context-aware-embedding.js";
export {
  type EncodedSource,
  EncoderDecoder,
  type Features,
  type ForcingOptions,
  type Predictions,
} from "./models/encoder-decoder.js";
export * from "./models/long-range-dependency-model.js";
export * from "./models/parallel-attention.js";
export * from "./models/question-answering-model.js";
export * from "./models/recurrent-model.js";
export * from "./models/scaled-dot-product-attention.js";
export * from "./models/seq2seq.js";
export * from "./models/state-bridge.js";
export * from "./models/summarization-model.js";
export * from "./nn/index.js";
export * from "./ops/index.js";
export { AdamW } from "./optim/adam-w.js";
export { clipGradientNorm } from "./optim/clip.js";
export { SGD } from "./optim/sgd.js";
export type { RuntimeInfo } from "./runtime/runtime.js";
export * from "./tasks/answer.js";
export * from "./tasks/disambiguate.js";
export { LongRange, type Perplexity } from "./tasks/long-range.js";
export * from "./tasks/parallel.js";
export * from "./tasks/reading.js";
export {
  Recall,
  type RecallExample,
  type RecallOptions,
  type RecallScore,
} from "./tasks/recall.js";
export * from "./tasks/summarize.js";
export type { Summary, SummaryMode, SummarySentence } from "./tasks/summary.js";
export * from "./tasks/translate.js";
export * from "./tasks/translation.js";
export { empty, full, ones, tensor, zeros } from "./tensor/create.js";
export { type DType, type Shape, Tensor } from "./tensor/tensor.js";
export { batchesByLength, padRows } from "./train/batches.js";
export * from "./train/trainer.js";
