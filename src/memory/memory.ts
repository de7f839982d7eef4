import { StateError } from "../errors.js";

const PAGE = 65_536;
/** One cache line: addresses of different tensors never share one, so two threads never fight over it. */
const ALIGNMENT = 64;
/** A larger free block may serve a smaller request up to this factor; beyond it, fresh memory is taken. */
const SLACK = 2;

/**
 * The one allocator over a runtime's WebAssembly memory: size-class free lists in TypeScript.
 *
 * Four classes a power of two, so at most a fifth of a block is unused. Freed blocks keep their
 * class; a steady loop finds every block it needs in the lists and the memory stops growing. Only
 * when the memory cannot grow any more are free neighbours merged, and large blocks cut.
 */
export class Memory {
  #wasm: WebAssembly.Memory | null;
  readonly maximumBytes: number;
  #next = ALIGNMENT; // address 0 means "nothing"
  #used = 0;
  #peak = 0;
  readonly #capacity = new Map<number, number>(); // live block → its bytes
  readonly #free = new Map<number, number[]>(); // class → addresses
  #classes: number[] = []; // classes that have a list, ascending

  constructor(wasm: WebAssembly.Memory, maximumBytes: number) {
    this.#wasm = wasm;
    this.maximumBytes = maximumBytes;
  }

  /** @throws {StateError} the memory was released */
  get wasm(): WebAssembly.Memory {
    if (!this.#wasm)
      throw new StateError("memory: must not be used after its runtime was disposed. Init again");
    return this.#wasm;
  }

  /** Bytes in live blocks. */
  get usedBytes(): number {
    return this.#used;
  }

  /** The most bytes that were ever in live blocks at once. */
  get peakBytes(): number {
    return this.#peak;
  }

  /** Bytes the WebAssembly memory has now; it never shrinks. */
  get capacityBytes(): number {
    return this.#wasm?.buffer.byteLength ?? 0;
  }

  /**
   * A block of at least `bytes`, uninitialised, aligned to 64 bytes.
   *
   * @throws {StateError} the maximum is reached, the host refuses to grow, or it was released
   */
  allocate(bytes: number): number {
    void this.wasm;
    const wanted = sizeClass(bytes);
    const address = this.#take(wanted) ?? this.#extend(wanted) ?? this.#carve(bytes, wanted);
    if (address === null) throw this.#full(bytes);
    this.#used += this.#capacity.get(address) ?? 0;
    if (this.#used > this.#peak) this.#peak = this.#used;
    return address;
  }

  /** Gives a block back. */
  free(address: number): void {
    const capacity = this.#capacity.get(address);
    if (capacity === undefined)
      throw new StateError(`memory: free needs a live block, got address ${address}`);
    this.#capacity.delete(address);
    if (this.#wasm) this.#used -= capacity;
    this.#keep(address, capacity);
  }

  /** Lets go of all bytes: every block and view is gone. */
  release(): void {
    this.#wasm = null;
    this.#used = 0;
  }

  // Views are made when used: a growth ends the life of those made before.
  f32(address: number, length: number): Float32Array {
    return new Float32Array(this.wasm.buffer, address, length);
  }

  f64(address: number, length: number): Float64Array {
    return new Float64Array(this.wasm.buffer, address, length);
  }

  i32(address: number, length: number): Int32Array {
    return new Int32Array(this.wasm.buffer, address, length);
  }

  u8(address: number, length: number): Uint8Array {
    return new Uint8Array(this.wasm.buffer, address, length);
  }

  /** Puts a block into the list of its size. */
  #keep(address: number, bytes: number): void {
    let list = this.#free.get(bytes);
    if (!list) {
      list = [];
      this.#free.set(bytes, list);
      this.#classes = [...this.#free.keys()].sort((a, b) => a - b);
    }
    list.push(address);
  }

  /** A free block that is large enough and not much larger. */
  #take(bytes: number): number | null {
    for (const size of this.#classes) {
      if (size < bytes) continue;
      if (size > bytes * SLACK) return null;
      const address = this.#free.get(size)?.pop();
      if (address === undefined) continue;
      this.#capacity.set(address, size);
      return address;
    }
    return null;
  }

  /**
   * Merges all free neighbours and cuts a block from the smallest run that holds it: one of its
   * class, so that the next request of that class finds it when it is free; the bare bytes, where
   * there is no room for more.
   */
  #carve(wanted: number, classBytes: number): number | null {
    const blocks = [...this.#free]
      .flatMap(([size, addresses]) => addresses.map((address) => ({ address, size })))
      .sort((a, b) => a.address - b.address);
    const runs: { address: number; size: number }[] = [];
    for (const { address, size } of blocks) {
      const last = runs.at(-1);
      if (last && last.address + last.size === address) last.size += size;
      else runs.push({ address, size });
    }
    // What lies last is fresh memory again.
    const last = runs.at(-1);
    if (last && last.address + last.size === this.#next) {
      this.#next = last.address;
      runs.pop();
    }
    const least = Math.max(1, Math.ceil(wanted / ALIGNMENT)) * ALIGNMENT;
    const smallest = (bytes: number): { address: number; size: number } | undefined =>
      runs.filter(({ size }) => size >= bytes).sort((a, b) => a.size - b.size)[0];
    const fits = smallest(classBytes) ?? smallest(least);
    const bytes = fits && fits.size >= classBytes ? classBytes : least;
    this.#free.clear();
    this.#classes = [];
    for (const run of runs) if (run !== fits) this.#keep(run.address, run.size);
    if (!fits) return this.#extend(bytes);
    if (fits.size > bytes) this.#keep(fits.address + bytes, fits.size - bytes);
    this.#capacity.set(fits.address, bytes);
    return fits.address;
  }

  #extend(bytes: number): number | null {
    const address = this.#next;
    const end = address + bytes;
    if (end > this.maximumBytes) return null;
    const missing = end - this.capacityBytes;
    if (missing > 0 && !this.#grow(missing)) return null;
    this.#next = end;
    this.#capacity.set(address, bytes);
    return address;
  }

  #grow(missing: number): boolean {
    // An eighth more than asked, so that a slow climb does not grow page by page.
    const generous = Math.max(missing, this.capacityBytes >>> 3);
    for (const bytes of [generous, missing]) {
      const pages = Math.ceil(bytes / PAGE);
      if (this.capacityBytes + pages * PAGE > this.maximumBytes) continue;
      try {
        this.wasm.grow(pages);
        return true;
      } catch {
        // RangeError: the host refused; a smaller request may still be granted.
      }
    }
    return false;
  }

  #full(bytes: number): StateError {
    return new StateError(
      `memory: a block of ${bytes} bytes must fit below the maximum of ${this.maximumBytes} bytes, ` +
        `got ${this.#used} bytes in use. Dispose tensors, use scope(), or raise init({ maximumBytes })`,
    );
  }
}

/** The smallest class that holds `bytes`: multiples of 64 up to 512, then four steps a power of two. */
export function sizeClass(bytes: number): number {
  if (!(bytes >= 0 && bytes <= 2 ** 32))
    throw new StateError(`memory: bytes must lie in 0 … 2³², got ${bytes}`);
  let step = ALIGNMENT;
  while (step * 8 < bytes) step *= 2;
  return Math.max(ALIGNMENT, Math.ceil(bytes / step) * step);
}
