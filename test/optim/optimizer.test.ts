import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DTypeError, StateError } from "../../src/errors.js";
import { AdamW } from "../../src/optim/adam-w.js";
import { clipGradientNorm } from "../../src/optim/clip.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import { SGD } from "../../src/optim/sgd.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { empty, tensor } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import * as reference from "../reference/optim.js";
import { expectClose, expectSameBits } from "../support/compare.js";
import { seeded } from "../support/random.js";
import { testRuntime } from "../support/runtime.js";

const SIZES = [1, 5, 37, 4097];

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testRuntime();
});
afterAll(() => runtime.dispose());

/** Parameters of several sizes with a gradient each, the same for the same seed. */
function parametersOf(on: Runtime, seed = 5): Tensor[] {
  const random = seeded(seed);
  return SIZES.map((size) => {
    const parameter = tensor(on, random.array(size));
    parameter.grad = tensor(on, random.array(size));
    return parameter;
  });
}

function values(parameters: readonly Tensor[]): number[] {
  return parameters.flatMap((parameter) => [...parameter.read()]);
}

/** A new gradient in place of the last. */
function nextGradients(parameters: readonly Tensor[], seed: number): void {
  const random = seeded(seed);
  for (const { grad, size } of parameters) grad?.write(random.array(size));
}

const RULES = {
  AdamW: (p: Tensor[]): Optimizer => new AdamW(p, { rate: 0.01, weightDecay: 0.1 }),
  SGD: (p: Tensor[]): Optimizer => new SGD(p, { rate: 0.01 }),
  "SGD with momentum": (p: Tensor[]): Optimizer => new SGD(p, { rate: 0.01, momentum: 0.9 }),
};

describe.each(Object.entries(RULES))("%s", (_, build) => {
  it("goes on from its state with the same bits as without a stop", () => {
    runtime.scope(() => {
      const whole = parametersOf(runtime);
      using straight = build(whole);
      for (let step = 0; step < 7; step++) {
        nextGradients(whole, step);
        straight.step();
      }
      const parts = parametersOf(runtime);
      using before = build(parts);
      for (let step = 0; step < 3; step++) {
        nextGradients(parts, step);
        before.step();
      }
      using after = build(parts);
      after.loadState(before.state());
      for (let step = 3; step < 7; step++) {
        nextGradients(parts, step);
        after.step();
      }
      expectSameBits(values(parts), values(whole));
    });
  });

  it("gives the same bits on one thread and three", async () => {
    const results = [];
    for (const threads of [1, 3]) {
      const on = await testRuntime({ threads });
      const parameters = parametersOf(on);
      const optimizer = build(parameters);
      for (let step = 0; step < 5; step++) {
        nextGradients(parameters, step);
        clipGradientNorm(parameters, 1);
        optimizer.step();
      }
      results.push(values(parameters));
      on.dispose();
    }
    expectSameBits(results[1] as number[], results[0] as number[]);
  });

  it("skips a step with a NaN or an infinity in any gradient, and counts it", () => {
    for (const bad of [Number.NaN, Infinity, -Infinity])
      runtime.scope(() => {
        const parameters = parametersOf(runtime);
        using optimizer = build(parameters);
        optimizer.step();
        const [before, state] = [values(parameters), optimizer.state()];
        const last = parameters.at(-1)?.grad as Tensor;
        last.write(last.read().with(4000, bad));
        expect(optimizer.step()).toBe(false);
        expect(optimizer.skipped).toBe(1);
        expectSameBits(values(parameters), before);
        for (const [name, kept] of optimizer.state())
          expectSameBits(kept, state.get(name) as Float32Array);
        nextGradients(parameters, 9);
        expect(optimizer.step()).toBe(true);
      });
  });

  it("says that the parameters changed, for caches of packed weights", () => {
    runtime.scope(() => {
      const parameters = parametersOf(runtime);
      using optimizer = build(parameters);
      const before = parameters.map(({ version }) => version);
      optimizer.step();
      parameters.forEach(({ version }, i) => {
        expect(version).toBeGreaterThan(before[i] as number);
      });
    });
  });

  it("leaves a parameter without a gradient alone", () => {
    runtime.scope(() => {
      const [first, second] = parametersOf(runtime) as [Tensor, Tensor];
      second.grad?.dispose();
      second.grad = null;
      const before = second.read();
      using optimizer = build([first, second]);
      optimizer.step();
      expectSameBits(second.read(), before);
    });
  });

  it("keeps its memory through a scope, gives it back on dispose(), and asks for no more", () => {
    const parameters = runtime.unscoped(() => parametersOf(runtime));
    const { usedBytes } = runtime.memory;
    const optimizer = runtime.scope(() => {
      const made = build(parameters);
      made.step();
      return made;
    });
    const afterFirst = runtime.memory.usedBytes;
    optimizer.step();
    optimizer.zeroGrad();
    expect(runtime.memory.usedBytes).toBe(afterFirst);
    optimizer.dispose();
    optimizer.dispose();
    expect(runtime.memory.usedBytes).toBe(usedBytes);
    for (const parameter of parameters) parameter.dispose();
  });
});

describe("Optimizer", () => {
  it("zeroGrad() keeps the buffers and fills them with zeros", () => {
    runtime.scope(() => {
      const parameters = parametersOf(runtime);
      const buffers = parameters.map(({ grad }) => grad);
      using optimizer = new SGD(parameters);
      optimizer.zeroGrad();
      parameters.forEach(({ grad }, i) => {
        expect(grad).toBe(buffers[i]);
        expect(grad?.read().every((value) => value === 0)).toBe(true);
      });
    });
  });

  it("takes names, as Module.parameters() gives them, and a tied weight once", () => {
    runtime.scope(() => {
      const [first, second] = parametersOf(runtime) as [Tensor, Tensor];
      const before = first.read()[0] as number;
      first.grad?.write([1]);
      const named = new Map([
        ["embedding.weight", first],
        ["output.bias", second],
        ["output.weight", first],
      ]);
      using optimizer = new SGD(named, { rate: 0.5, momentum: 0.9 });
      optimizer.step();
      expect(first.item()).toBe(Math.fround(before - 0.5));
      expect([...optimizer.state().keys()]).toEqual([
        "velocity.embedding.weight",
        "velocity.output.bias",
      ]);
    });
  });

  it("follows a rate that is changed between steps", () => {
    runtime.scope(() => {
      const x = tensor(runtime, [1]);
      x.grad = tensor(runtime, [1]);
      using optimizer = new SGD([x], { rate: 0.5 });
      optimizer.step();
      optimizer.rate = 0.25;
      optimizer.step();
      expect(x.item()).toBe(0.25);
      optimizer.rate = Number.NaN;
      expect(() => optimizer.step()).toThrow("SGD: rate must be a number from 0 up, got NaN");
      expect(x.item()).toBe(0.25);
    });
  });

  it("loadState() names every missing, extra and misshapen value, and changes nothing", () => {
    runtime.scope(() => {
      const parameters = parametersOf(runtime).slice(0, 2);
      using optimizer = new AdamW(parameters);
      optimizer.step();
      const state = optimizer.state();
      const broken = new Map(state);
      broken.delete("mean.0");
      broken.set("mean.7", new Float32Array(1));
      broken.set("variance.1", new Float32Array(3));
      expect(() => optimizer.loadState(broken)).toThrow(StateError);
      expect(() => optimizer.loadState(broken)).toThrow(
        'AdamW.loadState: the state must be that of these parameters, got missing "mean.0", ' +
          'extra "mean.7", misshapen "variance.1" must have 5 values, got 3. Build the optimiser as it was',
      );
      for (const [name, kept] of optimizer.state())
        expectSameBits(kept, state.get(name) as Float32Array);
    });
  });

  it("refuses what cannot be trained", () => {
    runtime.scope(() => {
      const x = tensor(runtime, [1]);
      expect(() => new SGD([])).toThrow(StateError);
      expect(() => new SGD([empty(runtime, [2], "i32")])).toThrow(DTypeError);
      expect(() => new AdamW([x], { betas: [0.9, 1] })).toThrow(RangeError);
      expect(() => new AdamW([x], { rate: -1 })).toThrow(RangeError);
      expect(() => new AdamW([x], { eps: Number.NaN })).toThrow(RangeError);
      expect(() => new SGD([x], { weightDecay: Infinity })).toThrow(RangeError);
      expect(() => new SGD([x], { nesterov: true })).toThrow(RangeError);
      const twice = [
        ["w", x],
        ["w", tensor(runtime, [2])],
      ] as const;
      expect(() => new SGD(twice)).toThrow(StateError);
    });
  });

  it("AdamW stays with the float64 formula over a hundred steps", () => {
    runtime.scope(() => {
      const random = seeded(77);
      const options = { rate: 0.01, betas: [0.9, 0.98], eps: 1e-8, weightDecay: 0.05 } as const;
      const start = random.array(33);
      const gradients = Array.from({ length: 100 }, () => random.array(33));
      const x = tensor(runtime, start);
      x.grad = tensor(runtime, start);
      using optimizer = new AdamW([x], options);
      for (const gradient of gradients) {
        x.grad.write(gradient);
        optimizer.step();
      }
      // a hundred steps, each of a few roundings of numbers near 1
      expectClose(x.read(), reference.adamW(start, gradients, options), 400 * 2 ** -24);
    });
  });
});

describe("clipGradientNorm()", () => {
  it("scales gradients 3 and 4 down to norm 1, and returns 5", () => {
    runtime.scope(() => {
      const parameters = [3, 4].map((gradient) => {
        const x = tensor(runtime, [0]);
        x.grad = tensor(runtime, [gradient]);
        return x;
      });
      expect(clipGradientNorm(parameters, 1)).toBe(5);
      // 3 / (5 + 10⁻⁶) and 4 / (5 + 10⁻⁶)
      expectClose(
        parameters.map(({ grad }) => grad?.item() as number),
        [0.59999988, 0.79999984],
        2 ** -23,
      );
    });
  });

  it("takes pairs of name and tensor, as an optimiser does", () => {
    runtime.scope(() => {
      const x = tensor(runtime, [0]);
      x.grad = tensor(runtime, [5]);
      expect(clipGradientNorm(new Map([["x", x]]), 1)).toBe(5);
      expect(x.grad.item()).toBeCloseTo(1, 5); // 5 / (5 + 10⁻⁶)
    });
  });

  it("leaves gradients below the maximum, and tensors without one", () => {
    runtime.scope(() => {
      const parameters = [...parametersOf(runtime), tensor(runtime, [1])];
      const before = values(parameters.flatMap(({ grad }) => grad ?? []));
      const expected = reference.norm(before);
      const norm = clipGradientNorm(parameters, 1000);
      expect(Math.abs(norm / expected - 1)).toBeLessThan(1e-12); // sums in float64
      expectSameBits(values(parameters.flatMap(({ grad }) => grad ?? [])), before);
    });
  });

  it("leaves gradients that are not finite to the optimiser", () => {
    runtime.scope(() => {
      const x = tensor(runtime, [0, 0]);
      x.grad = tensor(runtime, [1, Infinity]);
      expect(clipGradientNorm([x], 1)).toBe(Infinity);
      expect([...x.grad.read()]).toEqual([1, Infinity]);
      expect(() => clipGradientNorm([x], 0)).toThrow(RangeError);
    });
  });
});
