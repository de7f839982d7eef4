import { describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.js";
import { Memory, sizeClass } from "../../src/memory/memory.js";
import { seeded } from "../support/random.js";

const PAGE = 65_536;

function memory(initial = 1, maximum = 16): Memory {
  return new Memory(new WebAssembly.Memory({ initial, maximum }), maximum * PAGE);
}

describe("sizeClass()", () => {
  test.each([
    [0, 64],
    [1, 64],
    [64, 64],
    [65, 128],
    [512, 512],
    [513, 640],
    [1024, 1024],
    [1025, 1280],
    [2 ** 20 + 1, 2 ** 20 + 2 ** 18],
    [2 ** 32, 2 ** 32],
  ])("holds %i bytes in a block of %i", (bytes, block) => {
    expect(sizeClass(bytes)).toBe(block);
  });

  test("wastes at most a fifth above 512 bytes and is a multiple of 64", () => {
    for (let bytes = 513; bytes < 200_000; bytes += 97) {
      const block = sizeClass(bytes);
      expect(block).toBeGreaterThanOrEqual(bytes);
      expect(block - bytes).toBeLessThan(block / 5);
      expect(block % 64).toBe(0);
    }
  });

  test.each([-1, Number.NaN, 2 ** 32 + 1, Infinity])("refuses %d bytes", (bytes) => {
    expect(() => sizeClass(bytes)).toThrow(StateError);
    expect(() => sizeClass(bytes)).toThrow(`bytes must lie in 0 … 2³², got ${bytes}`);
  });
});

describe("Memory", () => {
  test("never hands out address 0, and aligns to 64 bytes", () => {
    const m = memory();
    for (const bytes of [0, 1, 63, 64, 65, 1000]) {
      const address = m.allocate(bytes);
      expect(address).toBeGreaterThan(0);
      expect(address % 64).toBe(0);
    }
  });

  test("counts the bytes of live blocks and the peak", () => {
    const m = memory();
    const a = m.allocate(100);
    const b = m.allocate(64);
    expect(m.usedBytes).toBe(128 + 64);
    m.free(a);
    expect(m.usedBytes).toBe(64);
    m.free(b);
    expect(m.usedBytes).toBe(0);
    expect(m.peakBytes).toBe(128 + 64);
  });

  test("keeps live blocks apart, whatever the order of calls", () => {
    const seed = 11;
    const random = seeded(seed);
    const m = memory(1, 64);
    const live = new Map<number, number>(); // address → bytes
    for (let step = 0; step < 2000; step++) {
      if (live.size > 20 || (live.size > 0 && random.uniform() < 0.45)) {
        const address = [...live.keys()][random.integer(live.size)] as number;
        m.free(address);
        live.delete(address);
      } else {
        const bytes = random.integer(5000);
        live.set(m.allocate(bytes), bytes);
      }
      const blocks = [...live].sort(([a], [b]) => a - b);
      blocks.forEach(([address, bytes], i) => {
        const next = blocks[i + 1]?.[0] ?? m.capacityBytes;
        expect(address + bytes, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(next);
      });
    }
  });

  test("serves a request from the free list of its class", () => {
    const m = memory();
    const a = m.allocate(1000);
    m.free(a);
    expect(m.allocate(900)).toBe(a);
  });

  test("takes a block of up to twice the size before fresh memory, not a larger one", () => {
    const m = memory();
    const wide = m.allocate(2048);
    const huge = m.allocate(4096);
    m.free(wide);
    m.free(huge);
    expect(m.allocate(1024)).toBe(wide);
    expect(m.allocate(1024)).not.toBe(huge);
  });

  test("takes any larger block rather than fail", () => {
    const m = memory(1, 1);
    const most = m.allocate(56_000);
    m.allocate(7000); // the rest, but for 960 bytes
    expect(() => m.allocate(1000)).toThrow(StateError);
    m.free(most);
    expect(m.allocate(1000)).toBe(most);
  });

  test("has room for all of its bytes once all blocks are free, whatever came before", () => {
    const random = seeded(12);
    const m = memory(1, 16);
    for (let round = 0; round < 20; round++) {
      const live: number[] = [];
      try {
        for (;;) live.push(m.allocate(random.integer(2 ** random.integer(18))));
      } catch (error) {
        expect(error).toBeInstanceOf(StateError);
      }
      for (const address of live) m.free(address);
      m.free(m.allocate(16 * PAGE - 64));
      expect(m.usedBytes).toBe(0);
    }
  });

  test("fails only when no gap between live blocks is wide enough", () => {
    const seed = 13;
    const random = seeded(seed);
    const m = memory(1, 16);
    const live = new Map<number, number>(); // address → bytes of its class
    let failures = 0;
    for (let step = 0; step < 1500; step++) {
      const bytes = sizeClass(random.integer(2 ** random.integer(18)));
      try {
        live.set(m.allocate(bytes), 2 * bytes); // a block may be up to twice as large
      } catch {
        failures++;
        const blocks = [...live].sort(([a], [b]) => a - b);
        const ends = [64, ...blocks.map(([address, size]) => address + size)];
        const starts = [...blocks.map(([address]) => address), 16 * PAGE];
        const widest = Math.max(...starts.map((start, i) => start - (ends[i] as number)));
        expect(widest, `seed ${seed}, step ${step}`).toBeLessThan(bytes);
      }
      while (live.size > 0 && random.uniform() < 0.45) {
        const address = [...live.keys()][random.integer(live.size)] as number;
        m.free(address);
        live.delete(address);
      }
    }
    expect(failures).toBeGreaterThan(0);
  });

  test("merges once for a steady loop, however many holes there are", () => {
    const m = memory(1, 16);
    const wide = m.allocate(8192);
    m.allocate(64);
    const narrow: number[] = [];
    try {
      for (;;) narrow.push(m.allocate(64));
    } catch (error) {
      expect(error).toBeInstanceOf(StateError);
    }
    for (let i = 0; i < narrow.length; i += 2) m.free(narrow[i] as number);
    m.free(wide);
    // 1100 bytes are not of the size of their class: 1280.
    const first = m.allocate(1100);
    const beside = m.allocate(1100);
    m.free(first);
    expect(m.allocate(1100)).toBe(first);
    m.free(beside);
    expect(m.allocate(1280)).toBe(beside);
  });

  test("does not grow in a steady loop", () => {
    const m = memory(1, 256);
    const step = (): void => {
      const blocks = [3000, 70_000, 128, 9000, 70_000].map((bytes) => m.allocate(bytes));
      for (const address of blocks) m.free(address);
    };
    step();
    const { capacityBytes, peakBytes } = m;
    for (let i = 0; i < 1000; i++) step();
    expect(m.capacityBytes).toBe(capacityBytes);
    expect(m.peakBytes).toBe(peakBytes);
    expect(m.usedBytes).toBe(0);
  });

  test("reaches its maximum and then says how full it is", () => {
    const m = memory(1, 4);
    const a = m.allocate(3 * PAGE);
    expect(m.capacityBytes).toBe(4 * PAGE);
    expect(() => m.allocate(2 * PAGE)).toThrow(StateError);
    expect(() => m.allocate(2 * PAGE)).toThrow(
      `a block of ${2 * PAGE} bytes must fit below the maximum of ${4 * PAGE} bytes, got ${m.usedBytes} bytes in use`,
    );
    m.free(a);
    expect(m.allocate(2 * PAGE)).toBe(a);
  });

  test("asks for less when a generous growth is denied", () => {
    const { m, asked } = denying((pages) => pages > 1);
    m.allocate(32 * PAGE); // 64 bytes too many; an eighth of 32 pages is 4
    expect(asked).toEqual([4, 1]);
    expect(m.capacityBytes).toBe(33 * PAGE);
  });

  test("is whole after a denied growth: nothing is counted, smaller blocks still come", () => {
    const { m } = denying(() => true);
    expect(() => m.allocate(64 * PAGE)).toThrow(StateError);
    expect(m.usedBytes).toBe(0);
    expect(m.allocate(PAGE)).toBe(64);
    expect(m.usedBytes).toBe(PAGE);
  });

  test("views the same bytes after a growth", () => {
    const m = memory(1, 64);
    const address = m.allocate(16);
    m.f32(address, 4).set([1, 2, 3, 4]);
    m.allocate(20 * PAGE);
    expect([...m.f32(address, 4)]).toEqual([1, 2, 3, 4]);
    expect([...m.i32(address, 1)]).toEqual([0x3f800000]);
    expect([...m.u8(address, 4)]).toEqual([0, 0, 0x80, 0x3f]);
    expect(m.f64(address, 2)).toHaveLength(2);
  });

  test("refuses to free what is not live", () => {
    const m = memory();
    const address = m.allocate(8);
    m.free(address);
    for (const wrong of [address, address + 64, 0, Number.NaN])
      expect(() => m.free(wrong)).toThrow(`free needs a live block, got address ${wrong}`);
  });
});

/** A memory of 32 pages whose host denies some growths. */
function denying(denies: (pages: number) => boolean): { m: Memory; asked: number[] } {
  const wasm = new WebAssembly.Memory({ initial: 32, maximum: 256 });
  const asked: number[] = [];
  const grow = wasm.grow.bind(wasm);
  wasm.grow = (pages) => {
    asked.push(pages);
    if (denies(pages)) throw new RangeError("denied");
    return grow(pages);
  };
  return { m: new Memory(wasm, 256 * PAGE), asked };
}
