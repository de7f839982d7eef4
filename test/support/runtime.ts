import { setFlagsFromString } from "node:v8";
import { instantiate } from "../../src/kernels/instantiate.js";
import { type KernelName, Kernels } from "../../src/kernels/kernels.js";
import type { KernelSignatures } from "../../src/kernels/signatures.js";
import { Memory, sizeClass } from "../../src/memory/memory.js";
import { nodePlatform } from "../../src/platform/node.js";
import type { Build, Platform } from "../../src/platform/platform.js";
import { Runtime, type RuntimeInfo } from "../../src/runtime/runtime.js";
import { type RuntimeOptions, startRuntime } from "../../src/runtime/start.js";

export interface TestRuntimeOptions extends Pick<RuntimeOptions, "initialBytes" | "maximumBytes"> {
  /** Default 1. */
  readonly threads?: number;
  /** Default "simd" for one thread, else "threads". */
  readonly build?: Build;
  /** Cuts every range over the pool, however small the work. Default true. */
  readonly splitting?: boolean;
  /** Fills every block with bytes 255 (NaN, −1) when it is allocated. Default true. */
  readonly poison?: boolean;
}

/**
 * A runtime on the kernels of dist/, made to find mistakes: small work is split over the threads
 * too, and fresh memory holds NaN.
 */
export async function testRuntime(options: TestRuntimeOptions = {}): Promise<Runtime> {
  const { threads = 1, splitting = true, poison = true } = options;
  const build = options.build ?? (threads > 1 ? "threads" : "simd");
  const platform = platformFor(build);
  const create = (memory: Memory, kernels: Kernels, about: About): Runtime => {
    if (poison) poisonFreshBlocks(memory);
    const told = { ...about, build };
    return splitting
      ? new SplittingRuntime(memory, kernels, told)
      : new Runtime(memory, kernels, told);
  };
  const maximumBytes = options.maximumBytes ?? 2 ** 28;
  if (threads === 1 && wantsSharedMemory(build)) {
    // The host pairs one thread with unshared memory, so this pair is put together by hand.
    const wasm = new WebAssembly.Memory({
      initial: 256,
      maximum: maximumBytes / 65_536,
      shared: true,
    });
    const kernels = new Kernels(instantiate(await platform.compile(build), wasm));
    const about = { platform: "node", threadsReason: null, precision: "exact" } as const;
    return create(new Memory(wasm, maximumBytes), kernels, { ...about, build });
  }
  const { initialBytes } = options;
  const given = initialBytes === undefined ? {} : { initialBytes };
  return startRuntime(platform, { threads, maximumBytes, ...given }, create);
}

/** Runs fn on a test runtime and disposes it. */
export async function withRuntime<T>(
  options: TestRuntimeOptions,
  fn: (runtime: Runtime) => T | Promise<T>,
): Promise<T> {
  const runtime = await testRuntime(options);
  try {
    return await fn(runtime);
  } finally {
    runtime.dispose();
  }
}

type About = Pick<RuntimeInfo, "build" | "platform" | "threadsReason" | "precision">;

/** Node's platform, but every build asked for is the given one. */
function platformFor(build: Build): Platform {
  const platform = nodePlatform();
  // Node 20 knows relaxed SIMD behind a flag.
  if (build.startsWith("relaxed") && platform.relaxedRefused())
    setFlagsFromString("--experimental-wasm-relaxed-simd");
  return { ...platform, compile: () => platform.compile(build) };
}

function wantsSharedMemory(build: Build): boolean {
  return build.endsWith("threads") || build === "debug";
}

/** Every op of a unit counts as a million: nothing stays below the threshold of the pool. */
class SplittingRuntime extends Runtime {
  override run<K extends KernelName>(kernel: K, args: KernelSignatures[K], range: number): void {
    super.run(kernel, args, range, 1e6);
  }
}

function poisonFreshBlocks(memory: Memory): void {
  const allocate = memory.allocate.bind(memory);
  memory.allocate = (bytes) => {
    const address = allocate(bytes);
    memory.u8(address, sizeClass(bytes)).fill(255);
    return address;
  };
}
