/** What ops owe their callers beside numbers: memory given back, and operands that stay as they were. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.js";
import * as ops from "../../src/ops/index.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones, tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeEach(async () => {
  runtime = await testRuntime();
});
afterEach(() => runtime.dispose());

function attentionOperands(): [Tensor, Tensor, Tensor] {
  return [ones(runtime, [2, 3, 4]), ones(runtime, [2, 5, 4]), ones(runtime, [2, 5, 6])];
}

function additiveOperands(): [Tensor, Tensor, Tensor, Tensor] {
  return [
    ones(runtime, [2, 1, 4]),
    ones(runtime, [2, 3, 4]),
    ones(runtime, [4]),
    ones(runtime, [2, 3, 5]),
  ];
}

describe("outside of every scope", () => {
  const cases: [string, () => () => Tensor[]][] = [
    [
      "mean()",
      () => {
        const x = ones(runtime, [3, 5]);
        return () => [ops.mean(x)];
      },
    ],
    [
      "attention()",
      () => {
        const operands = attentionOperands();
        return () => [ops.attention(...operands)];
      },
    ],
    [
      "attentionWithWeights()",
      () => {
        const operands = attentionOperands();
        return () => Object.values(ops.attentionWithWeights(...operands));
      },
    ],
    [
      "additiveAttention()",
      () => {
        const operands = additiveOperands();
        return () => Object.values(ops.additiveAttention(...operands));
      },
    ],
  ];

  test.each(cases)("%s leaves nothing but its results", (_, make) => {
    const run = make();
    const before = runtime.memory.usedBytes;
    for (const y of run()) y.dispose();
    expect(runtime.memory.usedBytes).toBe(before);
  });

  test.each(cases.slice(0, 3))("%s leaves nothing when memory runs out, wherever", (_, make) => {
    const run = make();
    const { memory } = runtime;
    const before = memory.usedBytes;
    const allocate = memory.allocate.bind(memory);
    let failures = 0;
    for (let denied = 0; ; denied++) {
      let count = 0;
      memory.allocate = (bytes) => {
        if (count++ === denied) throw new StateError("full");
        return allocate(bytes);
      };
      try {
        for (const y of run()) y.dispose();
        break;
      } catch (error) {
        expect(error).toEqual(new StateError("full"));
        failures++;
      } finally {
        memory.allocate = allocate;
      }
      expect(memory.usedBytes, `allocation ${denied} was denied`).toBe(before);
    }
    expect(failures).toBeGreaterThan(2);
  });
});

describe("backward() after ids, lengths or a mask were written", () => {
  /** Results that want a gradient, and what is then written. */
  const cases: [string, () => { y: Tensor; written: Tensor }][] = [
    [
      "embedding()",
      () => {
        const table = ones(runtime, [4, 2]);
        table.requiresGrad = true;
        const written = tensor(runtime, Int32Array.of(1, 3));
        return { y: ops.embedding(table, written), written };
      },
    ],
    [
      "crossEntropy()",
      () => {
        const logits = ones(runtime, [2, 4]);
        logits.requiresGrad = true;
        const written = tensor(runtime, Int32Array.of(1, 3));
        return { y: ops.crossEntropy(logits, written), written };
      },
    ],
    [
      "additiveAttention()",
      () => {
        const operands = additiveOperands();
        operands[3].requiresGrad = true;
        const written = tensor(runtime, Int32Array.of(1, 3));
        return { y: ops.additiveAttention(...operands, { lengths: written }).context, written };
      },
    ],
    [
      "attention() and its mask",
      () => {
        const operands = attentionOperands();
        operands[0].requiresGrad = true;
        const written = ones(runtime, [3, 5], "u8");
        return { y: ops.attention(...operands, { mask: written }), written };
      },
    ],
    [
      "attention() and its dropout",
      () => {
        const operands = attentionOperands();
        operands[0].requiresGrad = true;
        const written = ones(runtime, [2, 3, 5], "u8");
        const dropout = { p: 0.5, mask: written };
        return { y: ops.attentionWithWeights(...operands, { dropout }).output, written };
      },
    ],
    [
      "dropout()",
      () => {
        const x = ones(runtime, [4]);
        x.requiresGrad = true;
        const written = ones(runtime, [4], "u8");
        return { y: ops.dropout(x, 0.5, { mask: written }), written };
      },
    ],
  ];

  test.each(cases)("%s: the kernel does not run on them", (_, make) => {
    const { y, written } = make();
    written.write(new Array(written.size).fill(200));
    expect(() => ops.backward(ops.sum(y))).toThrow(StateError);
  });
});

describe("what is no tensor", () => {
  test.each([
    ["a number", 3, "number"],
    ["an array", [1], "an array"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
  ])("%s is named in a TypeError", (_, value, got) => {
    const x = ones(runtime, [1, 1]);
    const wrong = value as unknown as Tensor;
    for (const use of [
      () => ops.softmax(wrong),
      () => ops.matmul(x, wrong),
      () => ops.linear(x, wrong),
      () => ops.attention(x, x, wrong),
      () => ops.embedding(wrong, x),
    ]) {
      expect(use).toThrow(TypeError);
      expect(use).toThrow(`must be a tensor, got ${got}`);
    }
  });
});
