import { afterEach, describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.js";
import { nodePlatform } from "../../src/platform/node.js";
import type { Platform } from "../../src/platform/platform.js";
import { Runtime } from "../../src/runtime/runtime.js";
import { type RuntimeOptions, startRuntime } from "../../src/runtime/start.js";

const started: Runtime[] = [];
afterEach(() => {
  for (const runtime of started.splice(0)) runtime.dispose();
});

async function start(
  options: RuntimeOptions = {},
  platform: Partial<Platform> = {},
): Promise<Runtime> {
  const runtime = await startRuntime(
    { ...nodePlatform(), ...platform },
    { maximumBytes: 2 ** 26, ...options },
    (memory, kernels, about) => new Runtime(memory, kernels, about),
  );
  started.push(runtime);
  return runtime;
}

const alone: Partial<Platform> = { sharingRefused: () => "this page is not isolated" };

describe("startRuntime()", () => {
  test("takes as many threads as there are cores, at most 16", async () => {
    expect((await start({}, { cores: 3 })).info()).toMatchObject({
      threads: 3,
      build: "threads",
      threadsReason: "the machine has 3 cores",
    });
    expect((await start({}, { cores: 1 })).info()).toMatchObject({
      threads: 1,
      build: "simd",
      threadsReason: "the machine has one core",
    });
  });

  test("takes the threads it is told, more than the cores too", async () => {
    expect((await start({ threads: 5 }, { cores: 1 })).threads).toBe(5);
  });

  test("runs on one thread where memory cannot be shared, and says why", async () => {
    expect((await start({}, alone)).info()).toMatchObject({
      threads: 1,
      build: "simd",
      threadsReason: "this page is not isolated",
    });
  });

  test("refuses two threads where memory cannot be shared", async () => {
    const refused = start({ threads: 2 }, alone);
    await expect(refused).rejects.toThrow(StateError);
    await expect(refused).rejects.toThrow(
      "init: 2 threads need shared memory, but this page is not isolated",
    );
  });

  test.each([0, 17, 1.5, -1, Number.NaN])("refuses %d threads", async (threads) => {
    await expect(start({ threads })).rejects.toThrow(
      `init: threads must be an integer from 1 to 16, got ${threads}`,
    );
  });

  test("starts with 16 MiB, or what is asked for", async () => {
    expect((await start({ threads: 1 })).memory.capacityBytes).toBe(2 ** 24);
    expect((await start({ threads: 1, initialBytes: 65_536 })).memory.capacityBytes).toBe(65_536);
    expect((await start({ threads: 1, maximumBytes: 2 ** 20 })).memory.capacityBytes).toBe(2 ** 20);
  });

  test("never grows past maximumBytes", async () => {
    const { memory } = await start({ threads: 1, maximumBytes: 2 ** 20 });
    expect(() => memory.allocate(2 ** 21)).toThrow(StateError);
    expect(memory.capacityBytes).toBe(2 ** 20);
  });

  test.each([
    [{ initialBytes: 2 ** 22, maximumBytes: 2 ** 20 }, "initialBytes must not exceed maximumBytes"],
    [{ maximumBytes: 1000 }, "maximumBytes must lie in 65536 … 2³² bytes, got 1000"],
    [{ initialBytes: Number.NaN }, "initialBytes must lie in 65536 … 2³² bytes, got NaN"],
    [{ precision: "quick" as "fast" }, 'precision must be "exact" or "fast", got quick'],
  ])("refuses %j", async (options, message) => {
    await expect(start({ threads: 1, ...options })).rejects.toThrow(message);
  });

  test("refuses precision fast where the engine has no relaxed SIMD", async () => {
    const refused = start(
      { precision: "fast" },
      { relaxedRefused: () => "this engine does not know it" },
    );
    await expect(refused).rejects.toThrow(
      'init: precision "fast" needs relaxed SIMD, but this engine does not know it',
    );
  });
});
