import { describe, expect, test } from "vitest";
import { compareParallel } from "../../src/tasks/parallel.js";
import { withRuntime } from "../support/runtime.js";

const SIZES = { batch: 2, length: 5, width: 8, heads: 2, runs: 3 };

describe("compareParallel()", () => {
  test("times one call, calls of one position and an LSTM, and frees what it made", async () => {
    await withRuntime({ splitting: false }, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const told: [number, number][] = [];
      const found = await compareParallel(runtime, {
        ...SIZES,
        onProgress: (done, total) => told.push([done, total]),
      });
      expect(runtime.memory.usedBytes).toBe(before);
      expect(found).toMatchObject({ ...SIZES, threads: 1 });
      expect(found.timings.map(({ what }) => what)).toEqual(["oneCall", "singleCalls", "lstm"]);
      for (const { best, median, slowest, times } of found.timings) {
        expect(times).toHaveLength(3);
        expect([best, median, slowest]).toEqual(times.toSorted((a, b) => a - b));
        expect(best).toBeGreaterThan(0);
      }
      // 4·(8·8 + 8) and 4·8·(8 + 8) + 2·4·8
      expect(found.timings.map(({ weights }) => weights)).toEqual([288, 288, 576]);
      expect(told).toEqual(Array.from({ length: 12 }, (_, i) => [i + 1, 12]));
      expect(JSON.parse(JSON.stringify(found))).toEqual(found);
    });
  });

  test("tells by how much calls of one position are another function", async () => {
    await withRuntime({ splitting: false }, async (runtime) => {
      const { difference } = await compareParallel(runtime, SIZES);
      expect(difference).toBeGreaterThan(0.01);
      const alone = await compareParallel(runtime, { ...SIZES, length: 1 });
      expect(alone.difference, "a sequence of one position").toBe(0);
    });
  });

  test("says on how many threads it ran", async () => {
    await withRuntime({ threads: 2 }, async (runtime) => {
      expect((await compareParallel(runtime, SIZES)).threads).toBe(2);
    });
  });

  test("stops at a signal and leaves nothing behind", async () => {
    await withRuntime({ splitting: false }, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const reason = new Error("enough");
      for (const after of [0, 4]) {
        const controller = new AbortController();
        if (after === 0) controller.abort(reason);
        const comparing = compareParallel(runtime, {
          ...SIZES,
          signal: controller.signal,
          onProgress: (done) => done === after && controller.abort(reason),
        });
        await expect(comparing).rejects.toBe(reason);
        expect(runtime.memory.usedBytes).toBe(before);
      }
    });
  });

  test.each([
    [{ runs: 0 }, "parallel: runs must be a whole number from 1 up, got 0"],
    [{ length: 2.5 }, "parallel: length must be a whole number from 1 up, got 2.5"],
    [{ heads: 3 }, "width must be a multiple of heads, got width 8 and 3 heads"],
  ])("refuses %o", async (wrong, message) => {
    await withRuntime({}, async (runtime) => {
      const before = runtime.memory.usedBytes;
      const comparing = compareParallel(runtime, { ...SIZES, ...wrong });
      await expect(comparing).rejects.toThrow(RangeError);
      await expect(compareParallel(runtime, { ...SIZES, ...wrong })).rejects.toThrow(message);
      expect(runtime.memory.usedBytes).toBe(before);
    });
  });
});
