/**
 * Holds layers, losses, optimisers and models against what PyTorch computed in float64 for the same
 * weights and inputs (test/fixtures): outputs, attention weights, losses and all gradients.
 */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backward, record } from "../src/ops/tape.js";
import type { Runtime } from "../src/runtime/runtime.js";
import { tensor, zeros } from "../src/tensor/create.js";
import { Tensor } from "../src/tensor/tensor.js";
import { parities as attentions } from "./pytorch/attention.js";
import { parities as attentionMechanisms } from "./pytorch/attention-mechanism.js";
import { parities as contextAwareEmbeddings } from "./pytorch/context-aware-embedding.js";
import { type Computed, type Fixture, readFixture, valuesOf } from "./pytorch/fixture.js";
import { parities as layers } from "./pytorch/layers.js";
import { parities as longRanges } from "./pytorch/long-range-dependency-model.js";
import { parities as lstms } from "./pytorch/lstm.js";
import { parities as optimizers } from "./pytorch/optim.js";
import { parities as parallelAttentions } from "./pytorch/parallel-attention.js";
import { parities as questionAnswerings } from "./pytorch/question-answering-model.js";
import { parities as seq2seqs } from "./pytorch/seq2seq.js";
import { parities as summarizations } from "./pytorch/summarization-model.js";
import { expectClose, expectCloseNorm, expectSameBits } from "./support/compare.js";
import { testRuntime } from "./support/runtime.js";

/** Of outputs, against max(1, max |y|): a few roundings of 2⁻²⁴ in sums of up to 40 terms. */
const OUTPUT_TOLERANCE = 2e-6;
/** Of gradients, in norm: those of a whole model pass through a dozen layers. */
const GRADIENT_TOLERANCE = 1e-5;

const parities = [
  ...layers,
  ...attentions,
  ...lstms,
  ...optimizers,
  ...seq2seqs,
  ...attentionMechanisms,
  ...contextAwareEmbeddings,
  ...parallelAttentions,
  ...longRanges,
  ...questionAnswerings,
  ...summarizations,
];
const names = readdirSync(new URL("./fixtures/", import.meta.url))
  .filter((file) => file.endsWith(".safetensors"))
  .map((file) => file.slice(0, -".safetensors".length))
  .sort();

let runtimes: Runtime[];
const worst = { output: 0, gradient: 0 };
beforeAll(async () => {
  runtimes = [await testRuntime(), await testRuntime({ threads: 2 })];
});
afterAll(() => {
  for (const runtime of runtimes) runtime.dispose();
  console.log(
    `fixtures: worst error of an output ${worst.output.toExponential(1)}, of a gradient ${worst.gradient.toExponential(1)}`,
  );
});

describe("PyTorch's fixtures", () => {
  test.each(names)("%s", (name) => {
    const fixture = readFixture(name);
    const found = parities.filter(({ files }) => files.test(name));
    expect(found, `one kind must compute ${name}`).toHaveLength(1);
    const used = runtimes.map((runtime) => runtime.memory.usedBytes);
    const results = runtimes.map((runtime) =>
      runtime.scope(() =>
        readAll(fixture, (found[0] as (typeof parities)[number]).compute(fixture, runtime)),
      ),
    );
    const [one, two] = results as [Map<string, ArrayLike<number>>, Map<string, ArrayLike<number>>];
    check(fixture, one);
    for (const [key, values] of one)
      expectSameBits(two.get(key) ?? [], values, `${name}: "${key}" on two threads`);
    expect(runtimes.map((runtime) => runtime.memory.usedBytes)).toEqual(used);
  });
});

/** All that heed computed, by the fixture's keys; the backward pass included. */
function readAll(fixture: Fixture, computed: Computed): Map<string, ArrayLike<number>> {
  const { results, inputs = {}, parameters = new Map<string, Tensor>() } = computed;
  const all = new Map<string, ArrayLike<number>>();
  for (const [key, result] of Object.entries(results))
    all.set(key, result instanceof Tensor ? result.read() : result);

  const loss = lossOf(fixture, results);
  if (!loss) return all;
  backward(loss);
  const wanted = [
    ...Object.entries(inputs).map(([name, x]) => [`dinput.${name}`, x] as const),
    ...[...parameters].map(([name, weight]) => [`grad.${name}`, weight] as const),
  ];
  for (const [key, x] of wanted) {
    if (x.grad) all.set(key, x.grad.read());
    x.dispose();
  }
  return all;
}

/** The loss, or a stand-in that sends every doutput through its output; null where there is neither. */
function lossOf(fixture: Fixture, results: Computed["results"]): Tensor | null {
  if (results.loss instanceof Tensor) return results.loss;
  const outputs = Object.entries(results).flatMap(([key, result]) =>
    result instanceof Tensor && fixture.tensors.has(`d${key}`) ? [[key, result] as const] : [],
  );
  const runtime = outputs[0]?.[1].runtime;
  if (!runtime) return null;
  const inputs = outputs.map(([, y]) => y);
  return record("cotangents", zeros(runtime, []), inputs, () =>
    outputs.map(([key, y]) => tensor(runtime, valuesOf(fixture, `d${key}`).values, y.shape)),
  );
}

/** Every result and gradient that the fixture holds must be there, and close. */
function check(fixture: Fixture, computed: ReadonlyMap<string, ArrayLike<number>>): void {
  const isGradient = (key: string): boolean => /^(grad|dinput)\./.test(key);
  const largest = Math.max(
    0,
    ...[...fixture.tensors].map(([key, { values }]) => (isGradient(key) ? norm(values) : 0)),
  );
  for (const [key, { values }] of fixture.tensors) {
    if (/^(param|input|doutput)\./.test(key)) continue;
    if (key.startsWith("dinput.") && key.endsWith("mask")) continue; // refused: masks are no weights
    const what = `${fixture.name}: "${key}"`;
    const actual = computed.get(key);
    if (!actual) throw new Error(`${what} must be computed, got nothing`);
    if (isGradient(key)) {
      // A gradient that is nothing but float64's rounding (a key's bias moves all scores alike) is
      // 0, and held against the others.
      const floor = norm(values) < 1e-9 * largest ? largest : undefined;
      const error = expectCloseNorm(actual, values, GRADIENT_TOLERANCE, what, floor);
      worst.gradient = Math.max(worst.gradient, error);
    } else {
      worst.output = Math.max(worst.output, expectClose(actual, values, OUTPUT_TOLERANCE, what));
    }
  }
}

function norm(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i] as number) ** 2;
  return Math.sqrt(sum);
}
