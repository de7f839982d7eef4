import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.js";
import { Dropout } from "../../src/nn/dropout.js";
import { withoutInit } from "../../src/nn/init.js";
import { Linear } from "../../src/nn/linear.js";
import { Module, type StateValues } from "../../src/nn/module.js";
import { backward } from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { ones } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { testRuntime } from "../support/runtime.js";
import { sumOf } from "../support/sum.js";

class Block extends Module {
  readonly first = this.child("first", new Linear(this.runtime, 3, 2));
  readonly second = this.child("second", new Linear(this.runtime, 2, 2, { bias: false }));
  readonly drop = this.child("drop", new Dropout(this.runtime, 0.5));
  readonly scale = this.parameter("scale", [2]).write([1, 1]);
  readonly table = this.buffer("table", [2]).write([7, 8]);
}

let runtime: Runtime;
let before: number;
beforeEach(async () => {
  runtime = await testRuntime();
  before = runtime.memory.usedBytes;
});
afterEach(() => runtime.dispose());

function state(shapes: Record<string, number[]>): Map<string, StateValues> {
  return new Map(
    Object.entries(shapes).map(([name, shape], index) => {
      const size = shape.reduce((product, length) => product * length, 1);
      return [name, { shape, values: Array.from({ length: size }, (_, i) => 10 * index + i) }];
    }),
  );
}

const SHAPES = {
  scale: [2],
  table: [2],
  "first.weight": [2, 3],
  "first.bias": [2],
  "second.weight": [2, 2],
};

describe("Module", () => {
  test("stateDict() names parameters and buffers, those of children behind a dot", () => {
    const block = new Block(runtime);
    const shapes = Object.fromEntries([...block.stateDict()].map(([name, x]) => [name, x.shape]));
    expect(shapes).toEqual(SHAPES);
  });

  test("parameters() leaves buffers out, and all want gradients", () => {
    const parameters = new Block(runtime).parameters();
    expect([...parameters.keys()].sort()).toEqual(
      Object.keys(SHAPES)
        .filter((name) => name !== "table")
        .sort(),
    );
    expect([...parameters.values()].every((x) => x.requiresGrad)).toBe(true);
  });

  test("load() takes all values over, buffers too", () => {
    const block = new Block(runtime).load(state(SHAPES));
    expect([...block.scale.read()]).toEqual([0, 1]);
    expect([...block.table.read()]).toEqual([10, 11]);
    expect([...block.first.weight.read()]).toEqual([20, 21, 22, 23, 24, 25]);
  });

  test("load() takes the state dict of another module, and keeps no memory of it", () => {
    const from = new Block(runtime);
    const to = new Block(runtime).load(from.stateDict());
    from.dispose();
    expect([...to.table.read()]).toEqual([7, 8]);
  });

  test("load() raises versions, so that packed weights are packed anew", () => {
    const block = new Block(runtime);
    const { version } = block.first.weight;
    block.load(state(SHAPES));
    expect(block.first.weight.version).toBeGreaterThan(version);
  });

  test("load() lists every missing, extra and misshapen name in one error", () => {
    const block = new Block(runtime);
    const wrong = state({
      scale: [2],
      "first.weight": [3, 2],
      "second.weight": [2, 2, 1],
      extra: [1],
      "first.gain": [1],
    });
    const load = () => block.load(wrong);
    expect(load).toThrow(StateError);
    expect(load).toThrow(
      'Block.load: the state dict must hold exactly this module\'s tensors, got missing "table", "first.bias", ' +
        'extra "extra", "first.gain", misshapen "first.weight" must be [2, 3], got [3, 2]; "second.weight" must be [2, 2], got [2, 2, 1]',
    );
    expect([...block.scale.read()], "nothing was changed").toEqual([1, 1]);
  });

  test("load() refuses values that do not fill their shape, and changes nothing", () => {
    const block = new Block(runtime);
    const short = state(SHAPES).set("second.weight", { shape: [2, 2], values: [1, 2, 3] });
    expect(() => block.load(short)).toThrow("second.weight");
    expect([...block.scale.read()]).toEqual([1, 1]);
  });

  test("load() refuses a tensor that was freed, and changes nothing", () => {
    const block = new Block(runtime);
    const freed = ones(runtime, [2, 2]);
    freed.dispose();
    const values = new Map<string, Tensor | StateValues>(state(SHAPES)).set("second.weight", freed);
    expect(() => block.load(values)).toThrow("must not be used after it was freed");
    expect([...block.scale.read()]).toEqual([1, 1]);
  });

  test("train() and eval() reach all children", () => {
    const block = new Block(runtime);
    expect(block.drop.training).toBe(false);
    block.train();
    expect([block.training, block.first.training, block.drop.training]).toEqual([true, true, true]);
    block.eval();
    expect([block.training, block.drop.training]).toEqual([false, false]);
  });

  test("lives outside of the scope it was made in", () => {
    const block = runtime.scope(() => new Block(runtime));
    expect([...block.scale.read()]).toEqual([1, 1]);
  });

  test("dispose() frees weights, gradients and caches", () => {
    const block = new Block(runtime);
    runtime.scope(() => backward(sumOf(block.first.forward(ones(runtime, [4, 3])))));
    expect(block.first.weight.grad).not.toBeNull();
    block.dispose();
    block[Symbol.dispose]();
    expect(runtime.memory.usedBytes).toBe(before);
    expect(() => block.first.weight.read()).toThrow(StateError);
  });
});

describe("initial weights", () => {
  test("come from the runtime's seed", () => {
    const draw = (seed: number): number[] => {
      runtime.seed(seed);
      return [...new Linear(runtime, 5, 4).weight.read()];
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });

  test("of Linear fill ±1/√inputs evenly", () => {
    const values = Array.from(new Linear(runtime, 100, 100).weight.read());
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    expect(values.every((value) => value >= -0.1 && value < 0.1)).toBe(true);
    expect(Math.abs(mean)).toBeLessThan(0.002); // 3.5 deviations of a mean of 10,000
    expect(square).toBeGreaterThan((0.97 * 0.01) / 3);
    expect(square).toBeLessThan((1.03 * 0.01) / 3);
  });

  test("are not drawn withoutInit(), and are again after it", () => {
    const bare = withoutInit(() => new Linear(runtime, 3, 2));
    expect(bare.weight.read().every(Number.isNaN), "poisoned memory").toBe(true);
    expect(new Linear(runtime, 3, 2).weight.read().some(Number.isNaN)).toBe(false);
  });
});
