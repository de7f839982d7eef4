import { MultiheadAttention } from "../../src/nn/multihead-attention.js";
import { attentionWithWeights } from "../../src/ops/attention.js";
import { transpose } from "../../src/ops/shape.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { input, maybe, numberOf, type Parity, stateOf } from "./fixture.js";

const attention: Parity = {
  files: /^attention(?!-mechanism)/,
  compute(fixture, runtime) {
    const [q, k, v] = ["q", "k", "v"].map((x) => input(fixture, runtime, x)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const { output, weights } = attentionWithWeights(q, k, v, {
      mask: maybe(fixture, runtime, "mask"),
      causal: fixture.config.is_causal === true && "start",
      scale: numberOf(fixture, "scale"),
    });
    return { results: { "output.y": output, weights }, inputs: { q, k, v } };
  },
};

const multihead: Parity = {
  files: /^multihead-attention/,
  compute(fixture, runtime) {
    const { config } = fixture;
    const module = new MultiheadAttention(
      runtime,
      numberOf(fixture, "embed_dim"),
      numberOf(fixture, "num_heads"),
      { bias: config.bias === true },
    ).load(stateOf(fixture));
    const query = input(fixture, runtime, "query");
    const key = maybe(fixture, runtime, "key");
    const value = maybe(fixture, runtime, "value");
    const turn = (x: Tensor): Tensor =>
      config.batch_first === false ? transpose(x, [1, 0, 2]) : x;
    const { output, weights } = module.forward(
      turn(query),
      key && turn(key),
      value && turn(value),
      {
        keyPaddingMask: maybe(fixture, runtime, "key_padding_mask"),
        attnMask: maybe(fixture, runtime, "attn_mask"),
        needWeights: config.need_weights === true,
        averageWeights: config.average_attn_weights === true,
        causal: config.is_causal === true,
      },
    );
    return {
      results: { "output.y": turn(output), ...(weights && { weights }) },
      inputs: { query, ...(key && { key }), ...(value && { value }) },
      parameters: module.parameters(),
    };
  },
};

export const parities: Parity[] = [attention, multihead];
