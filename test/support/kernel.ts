import { readFileSync } from "node:fs";
import type { KernelSignatures } from "../../src/kernels/signatures.js";

const GUARD_WORDS = 16;
const GUARD = 0x5afe5afe;

export type TestBuild = "simd" | "threads" | "relaxed" | "relaxed-threads" | "debug";

/** Kernels of one build over a memory of their own, with guarded buffers: tests below the host. */
export interface KernelBench {
  /** Calls a kernel over [begin, end). */
  call<K extends keyof KernelSignatures>(
    kernel: K,
    args: KernelSignatures[K],
    begin: number,
    end: number,
  ): void;
  /** An output of `length` floats, filled with NaN, between guard words. */
  guarded(length: number): number;
  f32(values: ArrayLike<number>): number;
  i32(values: ArrayLike<number>): number;
  u8(values: ArrayLike<number>): number;
  /** Overwrites a buffer: the start of an output that is added to. */
  write(address: number, values: ArrayLike<number>): void;
  read(address: number, length: number): Float32Array;
  readI32(address: number, length: number): Int32Array;
  bytes(address: number, length: number): Uint8Array;
  /** Throws when a kernel wrote outside of a guarded buffer. */
  checkGuards(): void;
  /** Forgets all buffers. */
  reset(): void;
}

const modules = new Map<TestBuild, WebAssembly.Module>();

export function loadKernels(build: TestBuild = "simd"): KernelBench {
  let module = modules.get(build);
  if (!module) {
    const path = new URL(`../../dist/heed.${build}.wasm`, import.meta.url);
    module = new WebAssembly.Module(readFileSync(path));
    modules.set(build, module);
  }
  const shared = build.endsWith("threads") || build === "debug";
  const memory = new WebAssembly.Memory({ initial: 512, maximum: 16_384, shared });
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  let next = 64;
  let guards: number[] = [];

  const allocate = (bytes: number): number => {
    const address = next;
    next += Math.ceil(bytes / 16) * 16;
    const missing = next + 65_536 - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65_536));
    return address;
  };
  const guard = (): void => {
    const address = allocate(GUARD_WORDS * 4);
    new Int32Array(memory.buffer, address, GUARD_WORDS).fill(GUARD);
    guards.push(address);
  };
  const tailGuard = (from: number): void => {
    // The words between the last element and the next 16-byte boundary are guarded too.
    const words = new Int32Array(memory.buffer, from, (next - from) / 4);
    words.fill(GUARD);
    for (let i = 0; i < words.length; i++) tails.push(from + 4 * i);
  };
  let tails: number[] = [];

  return {
    call(kernel, args, begin, end) {
      const fn = exports[kernel] as (...args: number[]) => void;
      fn(...args, begin, end);
    },
    guarded(length) {
      guard();
      const address = allocate(length * 4);
      new Float32Array(memory.buffer, address, length).fill(Number.NaN);
      tailGuard(address + length * 4);
      guard();
      return address;
    },
    f32(values) {
      const address = allocate(values.length * 4);
      new Float32Array(memory.buffer, address, values.length).set(values);
      return address;
    },
    i32(values) {
      const address = allocate(values.length * 4);
      new Int32Array(memory.buffer, address, values.length).set(values);
      return address;
    },
    u8(values) {
      const address = allocate(values.length);
      new Uint8Array(memory.buffer, address, values.length).set(values);
      return address;
    },
    write: (address, values) => new Float32Array(memory.buffer, address, values.length).set(values),
    read: (address, length) => new Float32Array(memory.buffer, address, length).slice(),
    readI32: (address, length) => new Int32Array(memory.buffer, address, length).slice(),
    bytes: (address, length) => new Uint8Array(memory.buffer, address, length).slice(),
    checkGuards() {
      const broken = (address: number, words: number): boolean =>
        new Int32Array(memory.buffer, address, words).some((word) => word !== GUARD);
      const at = guards.find((address) => broken(address, GUARD_WORDS));
      const tail = tails.find((address) => broken(address, 1));
      if (at !== undefined || tail !== undefined)
        throw new Error(`a kernel wrote outside of its output, near address ${at ?? tail}`);
    },
    reset() {
      next = 64;
      guards = [];
      tails = [];
    },
  };
}
