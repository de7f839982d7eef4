import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ShapeError, StateError } from "../../src/errors.js";
import {
  BackwardPass,
  backward,
  backwardFrom,
  gradientOf,
  noGrad,
  record,
  recordMany,
  wants,
} from "../../src/ops/tape.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { emptyLike, ones, tensor, view } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
beforeEach(async () => {
  runtime = await testRuntime();
});
afterEach(() => runtime.dispose());

function leaf(...values: number[]): Tensor {
  const x = tensor(runtime, values);
  x.requiresGrad = true;
  return x;
}

/** a + b, whose gradient is one tensor for both. */
function add(a: Tensor, b: Tensor): Tensor {
  const y = emptyLike(a);
  runtime.run("addF32", [y.ptr, a.ptr, b.ptr], a.size);
  return record("add", y, [a, b], (dy) => [dy, dy]);
}

function mul(a: Tensor, b: Tensor): Tensor {
  const y = emptyLike(a);
  runtime.run("mulF32", [y.ptr, a.ptr, b.ptr], a.size);
  return record("mul", y, [a, b], (dy) => [product(dy, b), product(dy, a)]);
}

/** x·factor, whose gradient is added in place. */
function scale(x: Tensor, factor: number): Tensor {
  const y = emptyLike(x);
  runtime.run("scaleF32", [y.ptr, x.ptr, factor], x.size);
  return record("scale", y, [x], (dy) => {
    const dx = gradientOf(x);
    const scaled = emptyLike(dy);
    runtime.run("scaleF32", [scaled.ptr, dy.ptr, factor], x.size);
    if (dx) runtime.run("addF32", [dx.ptr, dx.ptr, scaled.ptr], x.size);
    return [null];
  });
}

/** Shares memory with x, and its gradient with dy. */
function same(x: Tensor): Tensor {
  return record("same", view(x, x.shape), [x], (dy) => [view(dy, x.shape)]);
}

function product(a: Tensor, b: Tensor): Tensor {
  const y = emptyLike(a);
  runtime.run("mulF32", [y.ptr, a.ptr, b.ptr], a.size);
  return y;
}

function grad(x: Tensor): number[] {
  return [...(x.grad as Tensor).read()];
}

describe("backward()", () => {
  test("of a leaf is 1", () => {
    const x = leaf(3);
    backward(x);
    expect(grad(x)).toEqual([1]);
  });

  test("follows a chain", () => {
    const x = leaf(3);
    backward(mul(scale(x, 2), scale(x, 5))); // 10·x²
    expect(grad(x)).toEqual([60]);
  });

  test("sums over both sides of a diamond", () => {
    const x = leaf(2);
    const middle = scale(x, 3);
    backward(add(mul(middle, middle), middle)); // 9x² + 3x
    expect(grad(x)).toEqual([18 * 2 + 3]);
  });

  test("sums when an op takes one tensor twice", () => {
    const x = leaf(4);
    backward(add(x, x));
    expect(grad(x)).toEqual([2]);
    const y = leaf(4);
    backward(mul(y, y));
    expect(grad(y)).toEqual([8]);
  });

  test("does not let an aliased gradient be written through", () => {
    // add hands the same dy to a and b; a's is then added to in place.
    const x = leaf(1);
    const z = leaf(1);
    const a = scale(x, 1);
    const b = scale(z, 1);
    const later = scale(a, 10); // reaches a first, in place
    backward(add(later, add(a, b)));
    expect(grad(x)).toEqual([11]);
    expect(grad(z)).toEqual([1]);
  });

  test("keeps aliased gradients apart in either order of use", () => {
    const x = leaf(1);
    const z = leaf(1);
    const a = scale(x, 1);
    const b = scale(z, 1);
    const sum = add(a, b);
    const more = scale(a, 10);
    backward(add(sum, more));
    expect(grad(x)).toEqual([11]);
    expect(grad(z)).toEqual([1]);
  });

  test("goes through shared memory", () => {
    const x = leaf(3);
    const y = same(scale(x, 2));
    backward(add(same(y), y));
    expect(grad(x)).toEqual([4]);
  });

  test("adds to the gradient that is there", () => {
    const x = leaf(3);
    backward(scale(x, 2));
    const first = x.grad;
    backward(scale(x, 5));
    expect(grad(x)).toEqual([7]);
    expect(x.grad).toBe(first);
  });

  test("leaves what wants no gradient without one", () => {
    const x = leaf(3);
    const constant = tensor(runtime, [7]);
    backward(mul(x, constant));
    expect(grad(x)).toEqual([7]);
    expect(constant.grad).toBeNull();
  });

  test("walks in one order: the op recorded last comes first", () => {
    const order: string[] = [];
    const mark = (name: string, x: Tensor): Tensor =>
      record(name, scale(x, 1), [x], (dy) => {
        order.push(name);
        return [dy];
      });
    const x = leaf(1);
    const a = mark("a", x);
    const b = mark("b", x);
    const c = mark("c", a);
    backward(add(add(b, c), a));
    expect(order).toEqual(["c", "b", "a"]);
  });

  test("lets gradients of leaves outlive every scope, and frees all else", () => {
    const x = leaf(3);
    const before = runtime.memory.usedBytes;
    runtime.scope(() => backward(mul(scale(x, 2), x)));
    expect(grad(x)).toEqual([12]);
    expect(runtime.memory.usedBytes - before, "one gradient").toBe(64);
    x.dispose();
  });

  test("uses the graph up", () => {
    const x = leaf(3);
    const y = scale(x, 2);
    backward(y);
    expect(() => backward(y)).toThrow(StateError);
    expect(() => backward(y)).toThrow("the graph of scale must not be walked twice");
    expect(grad(x), "the first gradient stands").toEqual([2]);
  });

  test("refuses a graph whose part was used", () => {
    const middle = scale(leaf(3), 2);
    backward(scale(middle, 2));
    expect(() => backward(scale(middle, 3))).toThrow("must not be walked twice");
  });

  test("refuses more than one number", () => {
    expect(() => backward(leaf(1, 2))).toThrow(ShapeError);
    expect(() => backward(leaf(1, 2))).toThrow("the loss must be one number, got [2]");
  });

  test("refuses a loss that depends on nothing", () => {
    expect(() => backward(tensor(runtime, [1]))).toThrow(StateError);
  });

  test("refuses to run inside of itself, and runs again after an error", () => {
    const x = leaf(3);
    const nested = record("nested", scale(x, 1), [x], (dy) => {
      backward(leaf(1));
      return [dy];
    });
    expect(() => backward(nested)).toThrow("backward: must not run inside of backward");
    backward(scale(x, 2));
    expect(grad(x)).toEqual([2]);
  });

  test("refuses a gradient of another size", () => {
    const x = leaf(1, 2);
    const odd = record("odd", tensor(runtime, [1]), [x], (dy) => [dy]);
    expect(() => backward(odd)).toThrow("a gradient must have its tensor's shape, got [1] for [2]");
  });

  test("says what was freed when the graph outlives a scope", () => {
    const x = leaf(3);
    const y = runtime.scope(() => {
      const inner = scale(x, 2);
      return mul(inner, inner);
    });
    expect(() => backward(y)).toThrow("must not be used after it was freed");
  });
});

describe("backwardFrom()", () => {
  test("starts from the given gradient", () => {
    const x = leaf(1, 2);
    backwardFrom(scale(x, 3), tensor(runtime, [10, 100]));
    expect(grad(x)).toEqual([30, 300]);
  });

  test("leaves the given gradient as it is", () => {
    const x = leaf(1);
    const dy = tensor(runtime, [1]);
    const y = scale(x, 1);
    backwardFrom(add(y, y), dy);
    expect([...dy.read()]).toEqual([1]);
    expect(grad(x)).toEqual([2]);
  });
});

describe("BackwardPass", () => {
  test("stops between ops and goes on to the same gradient", () => {
    const x = leaf(3);
    let steps = 0;
    const pass = new BackwardPass(mul(scale(x, 2), scale(x, 5)));
    while (!pass.run(() => false)) steps++;
    expect(steps).toBe(2);
    expect(grad(x)).toEqual([60]);
  });
});

describe("recordMany()", () => {
  function split(x: Tensor, seen: (Tensor | null)[][]): [Tensor, Tensor] {
    const outputs: [Tensor, Tensor] = [scale(x, 1), scale(x, 1)];
    recordMany("split", outputs, [x], (dys) => {
      seen.push(dys);
      const [a, b] = dys;
      return [a && b ? add(a, b) : (a ?? b ?? null)];
    });
    return outputs;
  }

  test("hands over null for an output that reached no loss", () => {
    const x = leaf(3);
    const seen: (Tensor | null)[][] = [];
    const [a] = split(x, seen);
    backward(scale(a, 2));
    expect(seen[0]?.[1]).toBeNull();
    expect(grad(x)).toEqual([2]);
  });

  test("waits for all outputs", () => {
    const x = leaf(3);
    const seen: (Tensor | null)[][] = [];
    const [a, b] = split(x, seen);
    backward(add(scale(a, 2), scale(b, 5)));
    expect(seen).toHaveLength(1);
    expect(grad(x)).toEqual([7]);
  });
});

describe("noGrad()", () => {
  test("records nothing, gives back fn's result, and ends", () => {
    const x = leaf(3);
    const y = noGrad(runtime, () => noGrad(runtime, () => scale(x, 2)));
    expect(wants(y)).toBe(false);
    expect(wants(scale(x, 2))).toBe(true);
  });

  test("ends when fn throws", () => {
    const x = leaf(3);
    expect(() =>
      noGrad(runtime, () => {
        throw new Error("mine");
      }),
    ).toThrow("mine");
    expect(wants(scale(x, 2))).toBe(true);
  });

  test("holds inside of backward", () => {
    const x = leaf(3);
    let inner: Tensor | undefined;
    const y = record("outer", scale(x, 1), [x], (dy) => {
      inner = scale(x, 2);
      expect(wants(inner)).toBe(false);
      return [dy];
    });
    backward(y);
    expect(inner).toBeDefined();
  });
});

describe("gradientOf()", () => {
  test("is only valid inside of backward", () => {
    expect(() => gradientOf(leaf(1))).toThrow("gradientOf: only valid inside of backward");
  });

  test("is null for what wants none", () => {
    const x = leaf(3);
    const constant = ones(runtime, [1]);
    let asked: Tensor | null | undefined;
    const y = record("y", scale(x, 1), [x, constant], (dy) => {
      asked = gradientOf(constant);
      return [dy, null];
    });
    backward(y);
    expect(asked).toBeNull();
  });
});

describe("record()", () => {
  test("refuses tensors of two runtimes", async () => {
    const other = await testRuntime();
    const x = leaf(1);
    expect(() => record("mix", x, [ones(other, [1])], () => [null])).toThrow(StateError);
    other.dispose();
  });
});

describe("gradients of leaves", () => {
  test("are freed with a leaf that a scope made", () => {
    const before = runtime.memory.usedBytes;
    runtime.scope(() => {
      const x = leaf(3);
      runtime.scope(() => backward(mul(x, x)));
      expect(x.grad?.item(), "the scope around backward() leaves it").toBe(6);
    });
    expect(runtime.memory.usedBytes).toBe(before);
  });

  test("are kept with a leaf that is returned, and alone when they are returned", () => {
    const x = runtime.scope(() => {
      const inner = leaf(3);
      backward(mul(inner, inner));
      return inner;
    });
    expect(x.grad?.item()).toBe(6);
    const grad = runtime.scope(() => {
      const inner = leaf(4);
      backward(mul(inner, inner));
      return inner.grad;
    });
    expect(grad?.item()).toBe(8);
  });

  test("tell those who keep something derived from them that they have changed", () => {
    const x = leaf(3);
    backward(mul(x, x));
    const version = x.grad?.version as number;
    backward(mul(x, x));
    expect(x.grad?.version).toBeGreaterThan(version);
  });
});

describe("backward() after a write in place", () => {
  test("refuses an operand that was written, and a view of one", () => {
    for (const write of [(x: Tensor) => x.write([7]), (x: Tensor) => view(x, []).write([7])]) {
      const x = leaf(3);
      const y = mul(x, x);
      write(x);
      expect(() => backward(y)).toThrow(StateError);
      expect(x.grad, "nothing was added").toBeNull();
    }
  });

  test("refuses a result that was written, and names the op", () => {
    const x = leaf(3);
    const y = mul(x, x);
    const z = scale(y, 2);
    y.write([7]);
    expect(() => backward(z)).toThrow(
      "backward: what scale read and made must be unchanged until then, got f32[1] written in place",
    );
  });

  test("takes operands that are written afterwards, before they are used again", () => {
    const x = leaf(3);
    backward(mul(x, x));
    x.write([4]);
    backward(mul(x, x));
    expect(x.grad?.item()).toBe(6 + 8);
  });
});
