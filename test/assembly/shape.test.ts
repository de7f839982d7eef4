import { describe, expect, it } from "vitest";
import { slice, transpose } from "../reference/shape.js";
import { overEveryCut } from "../support/every-cut.js";
import { loadKernels } from "../support/kernel.js";
import { seeded } from "../support/random.js";

// Around the tile of 4 and the band of 16.
const SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33];

const kernels = loadKernels("simd");
const random = seeded(61);

describe("rows", () => {
  it("copyRows() cuts columns [1, 3) out of [2, 4]", () => {
    kernels.reset();
    const x = kernels.f32([1, 2, 3, 4, 5, 6, 7, 8]);
    const y = kernels.guarded(4);
    kernels.call("copyRows", [y, x + 4, 8, 8, 16], 0, 2);
    expect([...kernels.read(y, 4)]).toEqual([2, 3, 6, 7]);
  });

  it("copyRows() copies runs of every number of bytes, from and to odd addresses", () => {
    for (const bytes of [...SIZES, 63, 64, 65]) {
      const [rows, xStride, yStride] = [5, bytes + 3, bytes + 1];
      const x = Uint8Array.from({ length: rows * xStride + 1 }, () => random.integer(256));
      const actual = overEveryCut(kernels, "copyRows", rows, () => {
        const y = kernels.u8(new Uint8Array(rows * yStride + 20).fill(77));
        return {
          args: [y + 1, kernels.u8(x) + 1, bytes, yStride, xStride],
          read: () => kernels.bytes(y, rows * yStride + 20),
        };
      });
      const expected = new Array<number>(rows * yStride + 20).fill(77);
      for (let r = 0; r < rows; r++)
        for (let i = 0; i < bytes; i++)
          expected[r * yStride + 1 + i] = x[r * xStride + 1 + i] as number;
      expect(actual).toEqual(expected);
    }
  });

  it("accumulateRowsF32() adds into a rectangle and nowhere else", () => {
    for (const n of SIZES) {
      const [rows, width, from] = [4, n + 5, 2];
      const before = random.array(rows * width);
      const x = random.array(rows * n);
      const actual = overEveryCut(kernels, "accumulateRowsF32", rows, () => {
        const y = kernels.guarded(rows * width);
        kernels.write(y, before);
        return {
          args: [y + 4 * from, kernels.f32(x), n, width, n],
          read: () => kernels.read(y, rows * width),
        };
      });
      const expected = Array.from(before, (value, i) => {
        const j = (i % width) - from;
        const inside = j >= 0 && j < n;
        return inside ? Math.fround(value + (x[Math.floor(i / width) * n + j] as number)) : value;
      });
      expect(actual).toEqual(expected);
    }
  });
});

describe("transpose", () => {
  it("transpose32() turns [2, 3] into [3, 2]", () => {
    kernels.reset();
    const y = kernels.guarded(6);
    kernels.call("transpose32", [y, kernels.f32([1, 2, 3, 4, 5, 6]), 2, 3], 0, 1);
    expect([...kernels.read(y, 6)]).toEqual([1, 4, 2, 5, 3, 6]);
  });

  it("transpose32() swaps the last two axes at every size", () => {
    for (const rows of SIZES)
      for (const columns of SIZES) {
        const [batch, size] = [2, 2 * rows * columns];
        const x = random.array(size);
        const range = batch * Math.ceil(columns / 16);
        const actual = overEveryCut(kernels, "transpose32", range, () => {
          const y = kernels.guarded(size);
          return { args: [y, kernels.f32(x), rows, columns], read: () => kernels.read(y, size) };
        });
        expect(actual).toEqual(Array.from(transpose(x, [batch, rows, columns], [0, 2, 1])));
      }
  });

  it("permute32() puts six axes into any order", () => {
    const shape = [2, 3, 2, 3, 2, 5];
    const strides = [180, 60, 30, 10, 5, 1];
    const x = random.array(360);
    for (const axes of [
      [0, 1, 2, 3, 4, 5],
      [5, 4, 3, 2, 1, 0],
      [4, 0, 3, 1, 2, 5],
      [1, 5, 0, 4, 2, 3],
    ]) {
      const sizes = axes.map((axis) => shape[axis] as number);
      const from = axes.map((axis) => strides[axis] as number);
      const n = sizes[5] as number;
      const actual = overEveryCut(kernels, "permute32", 360 / n, () => {
        const y = kernels.guarded(360);
        const [, d1, d2, d3, d4] = sizes as [number, number, number, number, number];
        const [s0, s1, s2, s3, s4, step] = from as [number, number, number, number, number, number];
        return {
          args: [y, kernels.f32(x), n, step, d1, d2, d3, d4, s0, s1, s2, s3, s4],
          read: () => kernels.read(y, 360),
        };
      });
      expect(actual).toEqual(Array.from(transpose(x, shape, axes)));
    }
  });

  it("permute32() reads rows of every length, and repeats at stride 0", () => {
    for (const n of SIZES.slice(1)) {
      const x = random.array(2 * n);
      const actual = overEveryCut(kernels, "permute32", 6, () => {
        const y = kernels.guarded(6 * n);
        const args = [y, kernels.f32(x), n, 1, 1, 1, 2, 3, 0, 0, 0, n, 0] as const;
        return { args: [...args], read: () => kernels.read(y, 6 * n) };
      });
      const [first, second] = [0, 1].map((i) => Array.from(slice(x, [2, n], 0, i, i + 1)));
      expect(actual).toEqual([first, first, first, second, second, second].flat());
    }
  });
});
