import { StateError } from "../errors.js";
import { instantiate } from "../kernels/instantiate.js";
import { Kernels, kernelNames } from "../kernels/kernels.js";
import { CONTROL_BYTES, Pool } from "../kernels/pool.js";
import { Memory } from "../memory/memory.js";
import type { Build, Platform } from "../platform/platform.js";

import type { Runtime, RuntimeInfo } from "./runtime.js";

const PAGE = 65_536;
const MOST_THREADS = 16;

export interface RuntimeOptions {
  /** 1 … 16; default: the machine's cores, 1 where memory cannot be shared. */
  readonly threads?: number;
  /** Bytes the memory starts with; default 16 MiB. */
  readonly initialBytes?: number;
  /** Bytes the memory may reach; default 1 GiB in Node, 256 MiB in browsers. */
  readonly maximumBytes?: number;
  /** "exact" (default): the same bits in every engine. "fast": fused multiply-add where the engine has it. */
  readonly precision?: "exact" | "fast";
}

type About = Pick<RuntimeInfo, "build" | "platform" | "threadsReason" | "precision">;

/**
 * Starts kernels, memory and threads on a platform, and hands them to `create`.
 *
 * @throws {StateError} threads were asked for and memory cannot be shared, "fast" where the engine
 *   refuses relaxed SIMD, or the memory cannot be reserved
 */
export async function startRuntime<R extends Runtime>(
  platform: Platform,
  options: RuntimeOptions,
  create: (memory: Memory, kernels: Kernels, about: About) => R,
): Promise<R> {
  const precision = options.precision ?? "exact";
  if (precision !== "exact" && precision !== "fast")
    throw new TypeError(`init: precision must be "exact" or "fast", got ${String(precision)}`);
  if (precision === "fast") {
    const refused = platform.relaxedRefused();
    if (refused) throw new StateError(`init: precision "fast" needs relaxed SIMD, but ${refused}`);
  }
  const { threads, reason } = countThreads(platform, options.threads);
  const shared = threads > 1;
  const build: Build =
    precision === "fast" ? (shared ? "relaxed-threads" : "relaxed") : shared ? "threads" : "simd";

  const module = await platform.compile(build);
  const { wasm, maximumBytes } = reserve(platform, options, shared);
  const memory = new Memory(wasm, maximumBytes);
  const kernels = new Kernels(instantiate(module, wasm));
  if (shared) {
    const control = memory.allocate(CONTROL_BYTES);
    memory.u8(control, CONTROL_BYTES).fill(0);
    kernels.attach(
      await Pool.start({
        platform,
        module,
        memory: wasm,
        control,
        kernelNames: kernelNames(kernels.exports),
        kernels: kernels.exports,
        threads,
      }),
    );
  }
  return create(memory, kernels, {
    build,
    platform: platform.name,
    threadsReason: reason,
    precision,
  });
}

function countThreads(
  platform: Platform,
  asked: number | undefined,
): { threads: number; reason: string | null } {
  if (asked !== undefined && !(Number.isInteger(asked) && asked >= 1 && asked <= MOST_THREADS))
    throw new RangeError(
      `init: threads must be an integer from 1 to ${MOST_THREADS}, got ${asked}`,
    );
  if (asked === 1) return { threads: 1, reason: "threads: 1 was asked for" };
  const refused = platform.sharingRefused();
  if (refused && asked !== undefined)
    throw new StateError(
      `init: ${asked} threads need shared memory, but ${refused}, or pass { threads: 1 }`,
    );
  if (refused) return { threads: 1, reason: refused };
  const threads = asked ?? Math.min(platform.cores, MOST_THREADS);
  if (threads === 1) return { threads, reason: "the machine has one core" };
  return {
    threads,
    reason:
      asked === undefined
        ? `the machine has ${platform.cores} cores`
        : `threads: ${asked} was asked for`,
  };
}

function reserve(
  platform: Platform,
  options: RuntimeOptions,
  shared: boolean,
): { wasm: WebAssembly.Memory; maximumBytes: number } {
  const maximum = pages("maximumBytes", options.maximumBytes ?? platform.maximumBytes);
  const initial = pages(
    "initialBytes",
    options.initialBytes ?? Math.min(16 * 2 ** 20, maximum * PAGE),
  );
  if (initial > maximum)
    throw new RangeError(
      `init: initialBytes must not exceed maximumBytes, got ${initial * PAGE} and ${maximum * PAGE}`,
    );
  try {
    return {
      wasm: new WebAssembly.Memory({ initial, maximum, shared }),
      maximumBytes: maximum * PAGE,
    };
  } catch (error) {
    throw new StateError(
      `init: the host must reserve ${maximum * PAGE} bytes, but refused. Pass a smaller maximumBytes`,
      { cause: error },
    );
  }
}

function pages(name: string, bytes: number): number {
  if (!(Number.isFinite(bytes) && bytes >= PAGE && bytes <= 2 ** 32))
    throw new RangeError(`init: ${name} must lie in ${PAGE} … 2³² bytes, got ${bytes}`);
  return Math.ceil(bytes / PAGE);
}
