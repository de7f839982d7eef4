/**
 * A user's journey: PyTorch trains a model of each kind and saves it (scripts/fixtures/journey.py);
 * heed loads the file by name and gives the same outputs and weights.
 *
 * Where Python has no PyTorch this is left out, loudly; with CI set that is a failure.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseSafetensors } from "../../src/io/safetensors.js";
import { toFloat32, toInt32, unpackWeights } from "../../src/io/weights.js";
import { AttentionMechanism } from "../../src/models/attention-mechanism.js";
import { ContextAwareEmbedding } from "../../src/models/context-aware-embedding.js";
import { LongRangeDependencyModel } from "../../src/models/long-range-dependency-model.js";
import { ParallelAttention } from "../../src/models/parallel-attention.js";
import { QuestionAnsweringModel } from "../../src/models/question-answering-model.js";
import { Seq2Seq } from "../../src/models/seq2seq.js";
import { SummarizationModel } from "../../src/models/summarization-model.js";
import type { Module } from "../../src/nn/module.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { expectClose } from "../support/compare.js";
import { withRuntime } from "../support/runtime.js";

/** Against max(1, max |y|): both sides compute in float32. */
const TOLERANCE = 1e-5;

type Outputs = Readonly<Record<string, Tensor | null>>;

/** How a user makes each model, and what they call. */
const KINDS: Readonly<
  Record<string, (runtime: Runtime) => [Module, (x: (name: string) => Tensor) => Outputs]>
> = {
  "attention-mechanism": (runtime) => {
    const model = new AttentionMechanism(runtime, 24);
    const run = (x: Tensor): Outputs => {
      const { output, weights } = model.forward(x, x, x);
      return { y: output, weights };
    };
    return [model, (x) => run(x("x"))];
  },
  "context-aware-embedding": (runtime) => {
    const model = new ContextAwareEmbedding(runtime, { vocab: 23, embedding: 16 });
    return [
      model,
      (x) => {
        const { output, weights } = model.forward(x("words"), x("contexts"));
        return { y: output, weights };
      },
    ];
  },
  "parallel-attention": (runtime) => {
    const model = new ParallelAttention(runtime, 32, 4);
    return [model, (x) => ({ y: model.forward(x("x")) })];
  },
  "long-range": (runtime) => {
    const config = { vocab: 23, width: 24, heads: 3, positions: 40 };
    const model = new LongRangeDependencyModel(runtime, config);
    return [
      model,
      (x) => {
        const { output, weights } = model.withWeights(x("ids"));
        return { y: output, weights };
      },
    ];
  },
  seq2seq: (runtime) => {
    const model = new Seq2Seq(runtime, {
      sourceVocab: 23,
      targetVocab: 23,
      embedding: 12,
      hidden: 16,
      layers: 2,
      bidirectional: true,
      padding: 0,
    });
    return [
      model,
      (x) => {
        const { outputs, weights } = model.forward(x("source"), x("lengths"), x("target"));
        return { y: outputs, weights };
      },
    ];
  },
  summarization: (runtime) => {
    const config = { vocab: 23, embedding: 12, hidden: 16, layers: 2, padding: 0 };
    const model = new SummarizationModel(runtime, config);
    return [
      model,
      (x) => {
        const { outputs, weights } = model.forward(x("source"), x("lengths"), x("target"));
        return { y: outputs, weights };
      },
    ];
  },
  "question-answering": (runtime) => {
    const config = { vocab: 23, embedding: 12, hidden: 16, heads: 4 };
    const model = new QuestionAnsweringModel(runtime, config);
    return [
      model,
      (x) => {
        const question = { ids: x("question"), lengths: x("question_lengths") };
        const context = { ids: x("context"), lengths: x("context_lengths") };
        return { ...model.withWeights(question, context) };
      },
    ];
  },
};

const hasTorch = spawnSync("python3", ["-c", "import torch, safetensors"]).status === 0;
if (!hasTorch)
  console.warn(
    "NOT TESTED: models that PyTorch trains and saves. It takes python3 with\n" +
      "  pip install -r scripts/fixtures/requirements.txt",
  );

test.runIf(process.env.CI)("PyTorch is there", () => expect(hasTorch).toBe(true));

describe.runIf(hasTorch)("a model that PyTorch trained and saved", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "heed-journey-"));
    execFileSync("python3", ["scripts/fixtures/journey.py", folder], { stdio: "pipe" });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(Object.keys(KINDS))("%s", async (kind) => {
    await withRuntime({}, (runtime) => {
      const saved = read(`${kind}.safetensors`);
      const values = read(`${kind}.values.safetensors`);
      const [model, run] = (KINDS[kind] as (typeof KINDS)[string])(runtime);
      model.load(unpackWeights(saved));
      const outputs = run((name) => {
        const entry = values.get(`input.${name}`);
        if (!entry) throw new Error(`${kind}: there must be an input ${name}, got none`);
        const made = entry.dtype === "I32" ? toInt32(entry) : toFloat32(entry);
        return tensor(runtime, made, entry.shape);
      });
      for (const [key, entry] of values) {
        const name = key.replace(/^output\./, "");
        if (name === key) continue;
        const found = outputs[name];
        if (!found) throw new Error(`${kind}: ${name} must be computed, got nothing`);
        expectClose(found.read(), toFloat32(entry), TOLERANCE, `${kind}: ${name}`);
      }
      model.dispose();
    });
  });

  function read(file: string) {
    return parseSafetensors(new Uint8Array(readFileSync(join(folder, file))), file).tensors;
  }
});
