import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DTypeError, ShapeError, StateError } from "../../src/errors.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { empty, emptyLike, full, ones, tensor, view, zeros } from "../../src/tensor/create.js";
import { testRuntime } from "../support/runtime.js";

let runtime: Runtime;
let before: number;
beforeEach(async () => {
  runtime = await testRuntime();
  before = runtime.memory.usedBytes;
});
afterEach(() => runtime.dispose());

function used(): number {
  return runtime.memory.usedBytes - before;
}

describe("tensor()", () => {
  test("holds its values under its shape", () => {
    const x = tensor(runtime, [1, 2, 3, 4, 5, 6], [2, 3]);
    expect(x.read()).toEqual(Float32Array.of(1, 2, 3, 4, 5, 6));
    expect(x).toMatchObject({ shape: [2, 3], dtype: "f32", size: 6, rank: 2 });
    expect(String(x)).toBe("f32[2, 3]");
  });

  test("takes the element type of a typed array, or the one it is told", () => {
    expect(tensor(runtime, Int32Array.of(-7)).dtype).toBe("i32");
    expect(tensor(runtime, Uint8Array.of(1)).dtype).toBe("u8");
    expect(tensor(runtime, Float64Array.of(0.5)).dtype).toBe("f32");
    expect(tensor(runtime, [1, 0], [2], "u8").read()).toEqual(Uint8Array.of(1, 0));
    expect(tensor(runtime, [2 ** 31 - 1], [1], "i32").item()).toBe(2 ** 31 - 1);
  });

  test("takes a scalar's empty shape, and a shape without elements", () => {
    expect(tensor(runtime, [5], []).item()).toBe(5);
    expect(tensor(runtime, [], [3, 0, 2]).read()).toHaveLength(0);
  });

  test.each([
    [
      "rows of a nested array",
      [
        [1, 2],
        [3, 4],
      ],
      "an array at 0",
    ],
    ["strings", [1, "2"], "string at 1"],
    ["holes", [1, undefined], "undefined at 1"],
    ["a length without values", { length: 2 }, "undefined at 0"],
    ["bigints", new BigInt64Array(2), "bigint at 0"],
  ])("refuses %s, and gives the memory back", (_, values, got) => {
    const use = () => tensor(runtime, values as unknown as number[], [2]);
    expect(use).toThrow(TypeError);
    expect(use).toThrow(`write: every value must be a number, got ${got}`);
    expect(used()).toBe(0);
  });

  test.each(["f64", "constructor", ""])("refuses the element type %j", (dtype) => {
    expect(() => tensor(runtime, [1], [1], dtype as "f32")).toThrow(DTypeError);
    expect(used()).toBe(0);
  });

  test("says that the runtime is gone, and not that memory is full", () => {
    runtime.dispose();
    expect(() => tensor(runtime, [1])).toThrow("after its runtime was disposed");
  });

  test("does not keep the caller's array or shape", () => {
    const values = Float32Array.of(1, 2);
    const shape = [2];
    const x = tensor(runtime, values, shape);
    values[0] = 9;
    shape[0] = 9;
    expect([...x.read()]).toEqual([1, 2]);
    expect(x.shape).toEqual([2]);
  });

  test("takes a subarray for what it shows", () => {
    const whole = Float32Array.of(1, 2, 3, 4);
    expect([...tensor(runtime, whole.subarray(1, 3)).read()]).toEqual([2, 3]);
  });

  test("takes an array over shared memory", () => {
    const shared = new Float32Array(new SharedArrayBuffer(8));
    shared.set([1, 2]);
    expect([...tensor(runtime, shared).read()]).toEqual([1, 2]);
  });

  test("refuses another count of values", () => {
    expect(() => tensor(runtime, [1, 2, 3], [2, 2])).toThrow(ShapeError);
    expect(() => tensor(runtime, [1, 2, 3], [2, 2])).toThrow(
      "tensor: shape [2, 2] must get 4 values, got 3",
    );
    expect(used(), "nothing was allocated").toBe(0);
  });

  test.each([[[-1]], [[1.5]], [[2, Number.NaN]], [[2 ** 53]]])("refuses the shape %j", (shape) => {
    expect(() => empty(runtime, shape)).toThrow(ShapeError);
    expect(() => empty(runtime, shape)).toThrow("every axis must be an integer from 0 up");
  });

  test("refuses more than 2³⁰ elements before it allocates", () => {
    expect(() => empty(runtime, [2 ** 20, 2 ** 20])).toThrow(
      "a tensor must have at most 2³⁰ elements, got [1048576, 1048576]",
    );
  });
});

describe("creators", () => {
  test("fill with 0, 1 and a value, in every element type", () => {
    for (const dtype of ["f32", "i32", "u8"] as const) {
      expect([...zeros(runtime, [3], dtype).read()]).toEqual([0, 0, 0]);
      expect([...ones(runtime, [3], dtype).read()]).toEqual([1, 1, 1]);
      expect([...full(runtime, [3], 7, dtype).read()]).toEqual([7, 7, 7]);
    }
  });

  test("emptyLike() takes shape and element type", () => {
    expect(emptyLike(zeros(runtime, [2, 3], "u8"))).toMatchObject({ shape: [2, 3], dtype: "u8" });
  });
});

describe("view()", () => {
  test("shares memory, version and end of life", () => {
    const x = tensor(runtime, [1, 2, 3, 4]);
    const y = view(x, [2, 2]);
    y.write([5, 6, 7, 8]);
    expect([...x.read()]).toEqual([5, 6, 7, 8]);
    expect(x.version).toBe(y.version);
    x.dispose();
    expect(() => y.read()).toThrow(StateError);
  });

  test("refuses another count of elements", () => {
    expect(() => view(ones(runtime, [4]), [3])).toThrow(
      "view: the shapes must have as many elements, got [4] and [3]",
    );
  });
});

describe("Tensor", () => {
  test("read() is a copy", () => {
    const x = ones(runtime, [2]);
    x.read()[0] = 5;
    expect([...x.read()]).toEqual([1, 1]);
  });

  test("read() is right after the memory has grown", () => {
    const x = tensor(runtime, [1, 2, 3]);
    zeros(runtime, [2 ** 23]);
    expect([...x.read()]).toEqual([1, 2, 3]);
  });

  test("readInto() fills the caller's array", () => {
    const target = new Float32Array(3);
    expect(tensor(runtime, [1, 2, 3]).readInto(target)).toBe(target);
    expect([...target]).toEqual([1, 2, 3]);
  });

  test("readInto() refuses another kind and another length", () => {
    const x = ones(runtime, [3]);
    expect(() => x.readInto(new Int32Array(3))).toThrow(DTypeError);
    expect(() => x.readInto(new Float32Array(2))).toThrow(
      "readInto: target must hold 3 values, got 2",
    );
  });

  test("item() refuses more than one value", () => {
    expect(() => ones(runtime, [2]).item()).toThrow(
      "item: the tensor must hold one value, got [2]",
    );
  });

  test("write() raises the version; touch() too", () => {
    const x = ones(runtime, [2]);
    const { version } = x;
    x.write([3, 4]);
    expect(x.version).toBe(version + 1);
    x.touch();
    expect(x.version).toBe(version + 2);
    expect([...x.read()]).toEqual([3, 4]);
  });

  test("write() refuses another count and changes nothing", () => {
    const x = ones(runtime, [2]);
    expect(() => x.write([1, 2, 3])).toThrow("write: [2] must get 2 values, got 3");
    expect([...x.read()]).toEqual([1, 1]);
  });

  test("throws StateError on every use after dispose(), which may be called twice", () => {
    const x = ones(runtime, [2]);
    x.dispose();
    x.dispose();
    x[Symbol.dispose]();
    expect(used()).toBe(0);
    for (const use of [
      () => x.read(),
      () => x.readInto(new Float32Array(2)),
      () => x.write([1, 2]),
      () => x.ptr,
    ]) {
      expect(use).toThrow(StateError);
      expect(use).toThrow("tensor f32[2]: must not be used after it was freed");
    }
    expect(x.shape, "what needs no memory still works").toEqual([2]);
  });

  test("dispose() frees the gradient and the caches too", () => {
    const x = ones(runtime, [2]);
    x.grad = zeros(runtime, [2]);
    x.storage.caches.set("packed", { address: runtime.memory.allocate(64), version: x.version });
    x.dispose();
    expect(used()).toBe(0);
  });

  test("does not free another tensor's memory when it is disposed late", () => {
    const x = ones(runtime, [2]);
    x.dispose();
    const y = full(runtime, [2], 4); // takes x's block
    x.dispose();
    expect([...y.read()]).toEqual([4, 4]);
    expect(used()).toBe(64);
  });
});
