import { describe, expect, it } from "vitest";
import { dropout, keepMask, philox2x32 } from "../reference/dropout.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the block of 32 and the vector of 4.
const SIZES = [0, 1, 3, 4, 5, 8, 15, 16, 17, 28, 31, 32, 33, 47, 63, 64, 65, 97];
const SEEDS = [0, 1, 0x7fffffff, 0x80000000, 0xffffffff];

const kernels = loadKernels("simd");
const random = seeded(59);
const threshold = (p: number): number => Math.floor(p * 2 ** 32);

/** What dropoutMaskU8 keeps. */
function mask(n: number, seed: number, p: number): number[] {
  return overEveryCut(kernels, "dropoutMaskU8", Math.ceil(n / 32), () => {
    const y = kernels.guarded(Math.ceil(n / 4));
    return { args: [y, n, seed, threshold(p)], read: () => kernels.bytes(y, n) };
  });
}

describe("dropout", () => {
  it("the reference gives the known answers of Philox2x32-10", () => {
    // Random123 1.14, tests/kat_vectors
    expect(philox2x32([0, 0], 0)).toEqual([0xff1dae59, 0x6cd10df2]);
    expect(philox2x32([0xffffffff, 0xffffffff], 0xffffffff)).toEqual([0x2c3f628b, 0xab4fd7ad]);
    expect(philox2x32([0x243f6a88, 0x85a308d3], 0x13198a2e)).toEqual([0xdd7ce038, 0xf62a4c12]);
  });

  it("dropoutMaskU8() keeps what the generator's words say, at every size and seed", () => {
    for (const n of SIZES)
      for (const seed of SEEDS)
        for (const p of [0.1, 0.5, 0.9])
          expect(mask(n, seed, p)).toEqual(Array.from(keepMask(n, seed, p)));
  });

  it("dropoutMaskU8() agrees with the generator word by word, to the last bit", () => {
    // The threshold that is the first word of counter 0 keeps element 0, one more drops it.
    const [word] = philox2x32([0, 0], 7);
    for (const [limit, kept] of [
      [word, 1],
      [word + 1, 0],
    ] as const) {
      kernels.reset();
      const y = kernels.guarded(1);
      kernels.call("dropoutMaskU8", [y, 1, 7, limit], 0, 1);
      expect(kernels.bytes(y, 1)[0]).toBe(kept);
    }
  });

  it("dropoutMaskU8() does not write behind its last byte", () => {
    kernels.reset();
    const y = kernels.u8([9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
    kernels.call("dropoutMaskU8", [y, 9, 3, 0], 0, 1);
    expect([...kernels.bytes(y, 11)]).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 9]);
  });

  it("dropoutF32() scales what it keeps and zeros the rest, NaN included", () => {
    for (const n of SIZES)
      for (const seed of SEEDS) {
        const x = random.array(n);
        const actual = overEveryCut(kernels, "dropoutF32", Math.ceil(n / 32), () => {
          const y = kernels.guarded(n);
          return {
            args: [y, kernels.f32(x), n, seed, threshold(0.5), 2],
            read: () => kernels.read(y, n),
          };
        });
        expect(actual).toEqual(Array.from(dropout(x, keepMask(n, seed, 0.5), 0.5)));
      }
    kernels.reset();
    const y = kernels.guarded(64);
    const x = kernels.f32(new Float32Array(64).fill(Number.NaN));
    kernels.call("dropoutF32", [y, x, 64, 5, threshold(0.5), 2], 0, 2);
    const kept = keepMask(64, 5, 0.5);
    expect([...kernels.read(y, 64)]).toEqual(Array.from(kept, (keep) => (keep ? Number.NaN : 0)));
  });

  it("dropoutMaskedF32() applies a mask of any bytes", () => {
    for (const n of SIZES) {
      const x = random.array(n);
      const given = Uint8Array.from({ length: n }, () => [0, 1, 255][random.integer(3)] as number);
      const actual = overEveryCut(kernels, "dropoutMaskedF32", n, () => {
        const y = kernels.guarded(n);
        return {
          args: [y, kernels.f32(x), kernels.u8(given), 4],
          read: () => kernels.read(y, n),
        };
      });
      expect(actual).toEqual(Array.from(dropout(x, given, 0.75)));
    }
  });

  it("a share p is dropped, neighbours and seeds independently", () => {
    const n = 100_000;
    const p = 0.3;
    const [first, second] = [keep(n, 11, p), keep(n, 12, p)];
    const share = (hits: (i: number) => boolean): number => {
      let count = 0;
      for (let i = 0; i < n; i++) if (hits(i)) count++;
      return count / n;
    };
    const q = 1 - p;
    // Five deviations of a mean of 10⁵ yes-or-no draws: 5·√(0.21 / 10⁵) < 0.0075
    expect(Math.abs(share((i) => first[i] === 1) - q)).toBeLessThan(0.0075);
    for (const lag of [1, 2, 3, 4, 5, 7, 8, 16, 192, 256])
      expect(
        Math.abs(share((i) => first[i] === 1 && first[(i + lag) % n] === 1) - q * q),
      ).toBeLessThan(0.01);
    expect(Math.abs(share((i) => first[i] === 1 && second[i] === 1) - q * q)).toBeLessThan(0.01);
  });
});

function keep(n: number, seed: number, p: number): Uint8Array {
  kernels.reset();
  const y = kernels.guarded(n / 4);
  kernels.call("dropoutMaskU8", [y, n, seed, threshold(p)], 0, n / 32);
  return kernels.bytes(y, n);
}
