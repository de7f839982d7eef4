import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.js";
import { mix32, type Runtime } from "../../src/runtime/runtime.js";
import { empty, full, ones, tensor, view, zeros } from "../../src/tensor/create.js";
import type { Tensor } from "../../src/tensor/tensor.js";
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

describe("Runtime.scope()", () => {
  test("frees what it made and gives back its result", () => {
    let inner: Tensor | undefined;
    const value = runtime.scope(() => {
      inner = full(runtime, [100], 3);
      return inner.read()[0];
    });
    expect(value).toBe(3);
    expect(used()).toBe(0);
    expect(() => inner?.read()).toThrow(StateError);
  });

  test("keeps a returned tensor", () => {
    const y = runtime.scope(() => {
      zeros(runtime, [1000]);
      return ones(runtime, [4]);
    });
    expect([...y.read()]).toEqual([1, 1, 1, 1]);
    expect(used()).toBe(64);
    y.dispose();
    expect(used()).toBe(0);
  });

  test("keeps tensors in arrays, maps, sets and nested objects", () => {
    const make = (): Tensor => ones(runtime, [16]);
    const kept = runtime.scope(() => ({
      list: [make(), [make()]],
      map: new Map([["a", make()]]),
      set: new Set([make()]),
      deep: { deeper: { deepest: make() } },
      none: null,
      text: "…",
    }));
    expect(used()).toBe(5 * 64);
    expect(kept.deep.deeper.deepest.read()).toHaveLength(16);
    expect(kept.map.get("a")?.read()).toHaveLength(16);
  });

  test("keeps the memory of a returned view", () => {
    const y = runtime.scope(() => view(tensor(runtime, [1, 2, 3, 4]), [2, 2]));
    expect([...y.read()]).toEqual([1, 2, 3, 4]);
  });

  test("hands a tensor that a nested scope returned to the scope around it", () => {
    runtime.scope(() => {
      const x = runtime.scope(() => ones(runtime, [4]));
      expect([...x.read()]).toEqual([1, 1, 1, 1]);
    });
    expect(used()).toBe(0);
  });

  test("leaves what was made outside alone", () => {
    const x = ones(runtime, [4]);
    runtime.scope(() => x);
    expect([...x.read()]).toEqual([1, 1, 1, 1]);
  });

  test("frees all when fn throws, and lets the error through", () => {
    expect(() =>
      runtime.scope(() => {
        ones(runtime, [4]);
        throw new RangeError("mine");
      }),
    ).toThrow(new RangeError("mine"));
    expect(used()).toBe(0);
    ones(runtime, [4]);
    expect(used(), "the scope was left").toBe(64);
  });

  test("refuses a promise and frees all", () => {
    expect(() => runtime.scope(async () => ones(runtime, [4]))).toThrow(
      "scope: fn must be synchronous, got a promise",
    );
    expect(used()).toBe(0);
  });

  test("leaves the rest of a promise that fails without a listener alone", async () => {
    const failures: unknown[] = [];
    const listen = (reason: unknown): void => void failures.push(reason);
    process.on("unhandledRejection", listen);
    const late = async (): Promise<unknown> => {
      const x = ones(runtime, [4]);
      await Promise.resolve();
      return x.read();
    };
    expect(() => runtime.scope(late)).toThrow(TypeError);
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", listen);
    expect(failures).toEqual([]);
  });

  test("looks at each object of a result once, however they refer to each other", () => {
    const start = performance.now();
    const result = runtime.scope(() => {
      const web: unknown[] = [];
      for (let i = 0; i < 100; i++) web.push(web, { web });
      return { web, x: ones(runtime, [4]), deep: [[[[[[ones(runtime, [4])]]]]]] };
    });
    // Every path of eight steps through the web would take years.
    expect(performance.now() - start).toBeLessThan(2000);
    expect([...result.x.read()]).toEqual([1, 1, 1, 1]);
    expect(used()).toBe(128);
  });

  test("does not free twice what was disposed inside", () => {
    runtime.scope(() => ones(runtime, [4]).dispose());
    expect(used()).toBe(0);
  });
});

describe("Runtime.openScope()", () => {
  test("may be entered many times before it is closed", () => {
    const scope = runtime.openScope();
    const x = scope.run(() => ones(runtime, [4]));
    const outside = ones(runtime, [4]);
    scope.run(() => ones(runtime, [4]));
    expect([...x.read()]).toEqual([1, 1, 1, 1]);
    scope.close();
    expect(used()).toBe(64);
    expect(() => x.ptr).toThrow(StateError);
    expect([...outside.read()]).toEqual([1, 1, 1, 1]);
  });
});

describe("Runtime.guarded()", () => {
  test("frees what was made outside of scopes when fn throws, and nothing else", () => {
    const kept = ones(runtime, [4]);
    const at = used();
    const make = (): Tensor => runtime.unscoped(() => ones(runtime, [100]));
    expect(() =>
      runtime.guarded(() => {
        make();
        runtime.guarded(make);
        throw new Error("enough");
      }),
    ).toThrow("enough");
    expect(used()).toBe(at);
    expect([...kept.read()]).toEqual([1, 1, 1, 1]);
  });

  test("leaves what was made to its owner when fn returns", () => {
    const y = runtime.guarded(() => runtime.unscoped(() => ones(runtime, [4])));
    expect([...y.read()]).toEqual([1, 1, 1, 1]);
    y.dispose();
    expect(used()).toBe(0);
  });
});

describe("Runtime.unscoped()", () => {
  test("lets what it makes outlive the scope, and restores the scope", () => {
    let kept: Tensor | undefined;
    runtime.scope(() => {
      kept = runtime.unscoped(() => ones(runtime, [4]));
      ones(runtime, [4]);
    });
    expect(used()).toBe(64);
    expect([...(kept as Tensor).read()]).toEqual([1, 1, 1, 1]);
  });

  test("restores the scopes when fn throws", () => {
    runtime.scope(() => {
      expect(() =>
        runtime.unscoped(() => {
          throw new Error("mine");
        }),
      ).toThrow("mine");
      ones(runtime, [4]);
    });
    expect(used()).toBe(0);
  });
});

describe("Runtime.beside()", () => {
  test("lets what it makes live as long as its neighbour", () => {
    runtime.scope(() => {
      const x = ones(runtime, [4]);
      const y = runtime.scope(() => void runtime.beside(x.storage, () => ones(runtime, [4])));
      expect(y).toBeUndefined();
      expect(used(), "the inner scope did not free it").toBe(128);
    });
    expect(used(), "the outer one did").toBe(0);
  });

  test("is outside of every scope when its neighbour is", () => {
    const x = ones(runtime, [4]);
    runtime.scope(() => void runtime.beside(x.storage, () => ones(runtime, [4])));
    expect(used()).toBe(128);
  });
});

describe("Runtime.run()", () => {
  test("names the kernel in the error of a kernel", () => {
    expect(() => runtime.run("addF32", [2 ** 31, 2 ** 31, 2 ** 31], 1)).toThrow(/addF32/);
  });

  test("does nothing over an empty range", () => {
    runtime.run("addF32", [2 ** 31, 2 ** 31, 2 ** 31], 0);
  });

  test("refuses a kernel that this build does not have", () => {
    expect(() => runtime.run("nothingF32" as "addF32", [0, 0, 0], 1)).toThrow(
      'run: kernel "nothingF32" must be an export of this build',
    );
  });
});

describe("Runtime.dispose()", () => {
  test("makes every tensor stale and every call a StateError", () => {
    const x = ones(runtime, [4]);
    runtime.dispose();
    expect(() => x.read()).toThrow(StateError);
    expect(() => x.read()).toThrow("the runtime is disposed");
    expect(() => runtime.run("addF32", [0, 0, 0], 1)).toThrow(StateError);
  });

  test("may be called twice, and by using", () => {
    runtime.dispose();
    runtime.dispose();
    runtime[Symbol.dispose]();
    expect(runtime.lost).toBe("the runtime is disposed");
  });

  test("lets a tensor be disposed after it", () => {
    const x = ones(runtime, [4]);
    runtime.dispose();
    x.dispose();
  });
});

describe("Runtime.info()", () => {
  test("says which build runs on how many threads, and how full the memory is", () => {
    ones(runtime, [16]);
    const info = runtime.info();
    expect(info).toMatchObject({
      build: "simd",
      platform: "node",
      threads: 1,
      threadsReason: "threads: 1 was asked for",
      precision: "exact",
    });
    expect(info.memory.used - before).toBe(64);
    expect(info.memory.peak).toBeGreaterThanOrEqual(info.memory.used);
    expect(info.memory.capacity).toBe(16 * 2 ** 20);
    expect(info.memory.maximum).toBe(2 ** 28);
  });
});

describe("Runtime.nextSeed()", () => {
  test("draws one sequence from a seed, and goes on from a kept state", () => {
    runtime.seed(5);
    const first = [runtime.nextSeed(), runtime.nextSeed()];
    const state = runtime.seedState;
    const next = runtime.nextSeed();
    runtime.seed(5);
    expect([runtime.nextSeed(), runtime.nextSeed()]).toEqual(first);
    runtime.seed(state);
    expect(runtime.nextSeed()).toBe(next);
  });

  test("gives unsigned 32-bit numbers", () => {
    for (let i = 0; i < 100; i++) {
      const seed = runtime.nextSeed();
      expect(seed).toBe(seed >>> 0);
    }
  });

  test("mix32() maps no two of many numbers to one", () => {
    const seen = new Set(Array.from({ length: 20_000 }, (_, i) => mix32(i)));
    expect(seen.size).toBe(20_000);
  });
});

describe("two runtimes side by side", () => {
  test("keep their memories and scopes apart", async () => {
    const other = await testRuntime();
    const outside = other.memory.usedBytes;
    const x = full(runtime, [8], 1);
    const y = full(other, [8], 2);
    runtime.scope(() => {
      empty(other, [8]);
    });
    expect(other.memory.usedBytes - outside, "the other's tensors live on").toBe(128);
    other.dispose();
    expect([...x.read()]).toEqual(Array(8).fill(1));
    expect(() => y.read()).toThrow(StateError);
  });
});
