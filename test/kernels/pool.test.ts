import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { StateError } from "../../src/errors.js";
import { Pool, type PoolOptions } from "../../src/kernels/pool.js";
import { nodePlatform } from "../../src/platform/node.js";
import type { Platform, PoolWorker } from "../../src/platform/platform.js";
import { kernelBytes } from "./pool-kernels.js";

const CONTROL = 16;
const DATA = 8192;
const THREADS = [1, 2, 3, 4, 8, 16];

let module: WebAssembly.Module;
let folder: string;
let workerUrl: string;
const pools: Pool[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "heed-pool-"));
  const bytes = await kernelBytes();
  writeFileSync(join(folder, "kernels.wasm"), bytes);
  module = await WebAssembly.compile(bytes);
  await build({
    entryPoints: {
      worker: new URL("../../src/worker.node.ts", import.meta.url).pathname,
      child: new URL("./pool-child.ts", import.meta.url).pathname,
    },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
  });
  workerUrl = pathToFileURL(join(folder, "worker.mjs")).href;
}, 60_000);

afterEach(() => {
  for (const pool of pools.splice(0)) pool.dispose();
});

afterAll(() => rmSync(folder, { recursive: true }));

/** A pool with its memory, kernels by name, and its workers within reach. */
async function startPool(threads: number, options: Partial<PoolOptions> = {}) {
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 64, shared: true });
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  const kernelNames = Object.keys(exports).sort();
  const workers: PoolWorker[] = [];
  const node = options.platform ?? nodePlatform({ workerUrl });
  const platform: Platform = {
    ...node,
    spawn() {
      const worker = node.spawn();
      workers.push(worker);
      return worker;
    },
  };
  const pool = await Pool.start({
    module,
    memory,
    control: CONTROL,
    kernelNames,
    kernels: exports,
    threads,
    ...options,
    platform,
  });
  pools.push(pool);
  const run = (name: string, args: number[], range: number, chunk: number) =>
    pool.run(kernelNames.indexOf(name), args, range, chunk);
  return { pool, memory, workers, run, i32: new Int32Array(memory.buffer) };
}

async function until(condition: () => boolean, milliseconds = 5000): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!condition() && performance.now() < end) await new Promise((done) => setTimeout(done, 2));
}

describe("Pool.run()", () => {
  it.each(THREADS)("fills the whole range with %i threads, however it is cut", async (threads) => {
    const { run, memory } = await startPool(threads);
    for (const [range, chunk] of [
      [1, 1],
      [2, 1],
      [7, 3],
      [64, 64],
      [1000, 1],
      [1000, 7],
      [1000, 999],
      [1000, 1001],
      [4096, 64],
    ] as const) {
      const y = new Float32Array(memory.buffer, DATA, range + 1).fill(-1);
      run("index", [DATA, 0.1], range, chunk);
      const expected = Float32Array.from({ length: range + 1 }, (_, i) => i * Math.fround(0.1));
      expected[range] = -1;
      expect(y).toEqual(expected);
    }
  });

  it.each(THREADS)(
    "runs every unit exactly once in 1,000 jobs with %i threads",
    async (threads) => {
      const { run, i32 } = await startPool(threads);
      const range = 100;
      for (let job = 0; job < 1000; job++) run("count", [DATA], range, 1 + (job % 9));
      expect([...i32.subarray(DATA / 4, DATA / 4 + range)]).toEqual(new Array(range).fill(1000));
    },
  );

  it("runs jobs with pauses between them, in which the workers fall asleep", async () => {
    const { run, i32 } = await startPool(3);
    for (let job = 0; job < 20; job++) {
      await new Promise((done) => setTimeout(done, 3));
      run("count", [DATA], 64, 4);
    }
    expect([...i32.subarray(DATA / 4, DATA / 4 + 64)]).toEqual(new Array(64).fill(20));
  });

  it.each([2, 3, 4])("has all of %i threads at work at once", async (threads) => {
    const { run, i32 } = await startPool(threads);
    run("meet", [DATA, threads], threads, 1);
    expect(i32[DATA / 4]).toBe(threads);
  });

  it("gives the job up to 24 arguments without loss, and refuses more", async () => {
    const { run, memory } = await startPool(2);
    const args = Array.from({ length: 23 }, (_, i) => 2 ** (i * 2 - 10));
    run("sum24", [DATA, ...args], 100, 1);
    const sum = args.reduce((a, b) => a + b);
    const expected = Float64Array.from({ length: 100 }, (_, i) => sum + i);
    expect(new Float64Array(memory.buffer, DATA, 100)).toEqual(expected);
    expect(() => run("index", new Array(25).fill(0), 4, 1)).toThrow(TypeError);
    expect(() => run("unknown", [], 4, 1)).toThrow(TypeError);
  });

  it("goes on after the memory grew", async () => {
    const { run, memory } = await startPool(2);
    memory.grow(8);
    const end = memory.buffer.byteLength - 4096;
    run("index", [end, 1], 1024, 1);
    expect(new Float32Array(memory.buffer, end, 1024)).toEqual(
      Float32Array.from({ length: 1024 }, (_, i) => i),
    );
  });
});

describe("a kernel that throws", () => {
  it("in the caller's share becomes the caller's error with its name, and the pool lives on", async () => {
    const { run, i32, pool } = await startPool(3);
    expect(() => run("trap", [0], 100, 1)).toThrow(/^kernel trap: unreachable.*calling thread/);
    expect(() => run("trap", [0], 1, 1)).toThrow(/^kernel trap: unreachable/);
    run("count", [DATA], 50, 1);
    expect(i32[DATA / 4 + 49]).toBe(1);
    expect(pool.lost).toBe(null);
  });

  it("in a worker becomes the caller's error with its name, and the pool lives on", async () => {
    const { run, i32, pool } = await startPool(3);
    for (let time = 0; time < 10; time++) {
      i32[DATA / 4] = 0;
      expect(() => run("trapAway", [DATA], 2, 1)).toThrow(
        /^kernel trapAway: unreachable.*in worker [12]/,
      );
    }
    i32[DATA / 4] = 0;
    run("count", [DATA], 50, 1);
    expect([...i32.subarray(DATA / 4, DATA / 4 + 50)]).toEqual(new Array(50).fill(1));
    expect(pool.lost).toBe(null);
  });

  it("carries the worker's stack in its cause", async () => {
    const { run } = await startPool(2);
    let error: unknown;
    try {
      run("trapAway", [DATA], 2, 1);
    } catch (thrown) {
      error = thrown;
    }
    expect(((error as Error).cause as Error).stack).toContain("wasm");
  });
});

describe("a worker that is lost", () => {
  it("while idle poisons the pool", async () => {
    const { pool, workers, run } = await startPool(3);
    workers[1]?.terminate();
    await until(() => pool.lost !== null);
    expect(() => run("count", [DATA], 10, 1)).toThrow(StateError);
    expect(() => run("count", [DATA], 10, 1)).toThrow(
      /worker 2 of 2 was lost: it exited with code 1/,
    );
  });

  it("while idle, before its exit event arrives, leaves the job right", async () => {
    const { workers, run, i32 } = await startPool(3);
    for (const worker of workers) worker.terminate();
    const end = performance.now() + 10_000;
    while (!workers.every((worker) => worker.ended()) && performance.now() < end);
    for (let job = 0; job < 100; job++) run("count", [DATA], 64, 1);
    expect([...i32.subarray(DATA / 4, DATA / 4 + 64)]).toEqual(new Array(64).fill(100));
  });

  it("inside a kernel is found by the call that waits for it, and poisons later ones", async () => {
    const memory = new WebAssembly.Memory({ initial: 4, maximum: 64, shared: true });
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    // The caller's own share of the kernel ends the worker once that is inside of it.
    const hang = (counter: number, begin: number, end: number) => {
      (exports.hang as (...numbers: number[]) => void)(counter, begin, end);
      workers[0]?.terminate();
    };
    const { pool, workers, run } = await startPool(2, { memory, kernels: { ...exports, hang } });
    const started = performance.now();
    expect(() => run("hang", [DATA], 2, 1)).toThrow(/worker 1 of 1 was lost: its thread has ended/);
    expect(performance.now() - started).toBeLessThan(1000);
    expect(() => run("count", [DATA], 10, 1)).toThrow(StateError);
    expect(pool.lost).toContain("its thread has ended");
  });

  it("because it hangs is given up when patience ends", async () => {
    const { run } = await startPool(3, { patience: 300 });
    const started = performance.now();
    expect(() => run("hang", [DATA], 2, 1)).toThrow(/it has stood in hang at 1 for \d+ ms/);
    expect(performance.now() - started).toBeGreaterThan(290);
    expect(performance.now() - started).toBeLessThan(5000);
    expect(() => run("count", [DATA], 10, 1)).toThrow(StateError);
  });

  it("is not one that is only slow: patience grows with the caller's own chunks", async () => {
    const { run, pool } = await startPool(2, { patience: 1 });
    // Four chunks of about 60 ms: the worker is far longer in one than the patience says.
    run("slow", [DATA, 60_000_000], 4, 1);
    expect(pool.lost).toBe(null);
  });

  it("is given up by spinning where the thread may not wait", async () => {
    const platform = { ...nodePlatform({ workerUrl }), mayWait: false };
    const { run, i32 } = await startPool(2, { patience: 200, platform });
    run("count", [DATA + 64], 100, 1);
    expect(i32[DATA / 4 + 16]).toBe(1);
    expect(() => run("hang", [DATA], 2, 1)).toThrow(StateError);
  });
});

describe("Pool.start()", () => {
  it("names the URL of a worker that cannot be loaded", async () => {
    const platform = nodePlatform({ workerUrl: pathToFileURL(join(folder, "missing.mjs")) });
    const start = startPool(2, { platform });
    await expect(start).rejects.toThrow(StateError);
    await expect(start).rejects.toThrow(/worker 1 of 1 \(file:.*missing\.mjs\) must start/);
  });

  it("names the URL of a worker that gives no sign in time", async () => {
    const silent = join(folder, "silent.mjs");
    writeFileSync(silent, "setInterval(() => {}, 1000);");
    const platform = nodePlatform({ workerUrl: silent });
    const start = startPool(3, { platform, startTimeout: 200 });
    await expect(start).rejects.toThrow(
      /worker 1 of 2 \(file:.*silent\.mjs\) must be ready in time/,
    );
  });

  it("says what a worker says that cannot make an instance", async () => {
    const start = startPool(2, { module: "none" as unknown as WebAssembly.Module });
    await expect(start).rejects.toThrow(
      /worker 1 of 1 .* must start, but got WebAssembly.Instance/,
    );
  });

  it.each([0, -1, 1.5, Number.NaN, 17, 1e9])("refuses %d threads", async (threads) => {
    await expect(startPool(threads)).rejects.toThrow(RangeError);
  });
});

describe("Pool.dispose()", () => {
  it("may be called twice, and run() afterwards throws a StateError", async () => {
    const { pool, workers, run } = await startPool(4);
    pool.dispose();
    pool.dispose();
    expect(() => run("count", [DATA], 10, 1)).toThrow(StateError);
    await until(() => workers.every((worker) => worker.ended()));
    expect(workers.map((worker) => worker.ended())).toEqual([true, true, true]);
    expect(pool.lost).toBe(null);
  });

  it("ends workers by the shutdown word alone", async () => {
    const node = nodePlatform({ workerUrl });
    const platform: Platform = {
      ...node,
      spawn() {
        const worker = node.spawn();
        worker.terminate = () => {};
        return worker;
      },
    };
    const { pool, workers } = await startPool(3, { platform });
    pool.dispose();
    await until(() => workers.every((worker) => worker.ended()));
    expect(workers.map((worker) => worker.ended())).toEqual([true, true]);
  });
});

describe("a process with a pool", () => {
  it.each(["idle", "run", "dispose", "hang"])("ends by itself: %s", async (what) => {
    const { code, output, tail } = await child(what);
    expect(output).toBe(`${what}\n`);
    expect(code).toBe(0);
    expect(tail).toBeLessThan(3000);
  });

  it("ends with the program's own error", async () => {
    const { code, output } = await child("throw");
    expect(code).toBe(1);
    expect(output).toContain("an error of the program");
  });
});

/** Runs pool-child.ts; tail: milliseconds from its last line to its end. */
function child(what: string): Promise<{ code: number | null; output: string; tail: number }> {
  return new Promise((resolve, reject) => {
    const args = [join(folder, "child.mjs"), workerUrl, join(folder, "kernels.wasm"), what];
    const process_ = spawn(process.execPath, args, { timeout: 20_000 });
    let output = "";
    let last = 0;
    for (const stream of [process_.stdout, process_.stderr])
      stream.on("data", (data) => {
        output += data;
        last = performance.now();
      });
    process_.on("error", reject);
    process_.on("exit", (code) => resolve({ code, output, tail: performance.now() - last }));
  });
}
